// The kernels that run, and the proof that they may: at first use every kernel of the chosen
// instruction set is compared, on a few blocks, with the scalar reference on this very CPU. One
// that gives other bits (a broken CPU or emulator, a miscompiled build) is replaced by the
// reference: slower, and the same text. Takes a few milliseconds. Thread safe.
#ifndef HUNCH_KERNELS_SELF_CHECK_H_
#define HUNCH_KERNELS_SELF_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/isa.h"
#include "kernels/matmul_kernels.h"
#include "kernels/ops.h"
#include "kernels/row_ops.h"

namespace hunch {

struct KernelSet {
  MatMulKernels matmul;
  Ops ops;
  RowOps row_ops;
  uint32_t scalar_types = 0;  // bit t: weights of TensorType t go to the reference's mat_mul
};
// What this build has for `isa`, unchecked.
KernelSet KernelsOf(Isa isa);
// Replaces what differs from `truth` and appends its name to `distrusted`.
void Distrust(const KernelSet& truth, KernelSet& kernels, std::vector<std::string>& distrusted);

struct SelfCheck {
  KernelSet kernels;                    // of ActiveIsa(), checked
  std::vector<std::string> distrusted;  // what the reference replaces; each was warned of
  double seconds = 0;
};
// Checks at the first call.
const SelfCheck& CheckedKernels();

}  // namespace hunch

#endif  // HUNCH_KERNELS_SELF_CHECK_H_
