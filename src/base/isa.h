// The instruction sets that Hunch has kernels for, and which of them this process uses.
// HUNCH_ISA=ref|avx2|avx512|neon forces one. Thread safe after the first call.
#ifndef HUNCH_BASE_ISA_H_
#define HUNCH_BASE_ISA_H_

#include <string_view>
#include <vector>

#include "base/result.h"

namespace hunch {

enum class Isa { kRef, kAvx2, kAvx512, kNeon };

std::string_view IsaName(Isa isa);
// What this CPU and operating system can run, best last. kRef is always first.
const std::vector<Isa>& SupportedIsas();
// The best of them whose equality tests have run on a real CPU. Those of kNeon ran under emulation
// only, so kNeon is used when it is asked for.
Isa DefaultIsa();
// The forced one, else the default. An unknown or unsupported HUNCH_ISA is an error that names
// both.
Result<Isa> ChooseIsa();
// ChooseIsa(), for code that runs after apps/ has reported its error. CHECKs.
Isa ActiveIsa();
// Whether the CPU is of Intel's making.
bool IsIntelCpu();
// The CPU's own name, for result files.
std::string CpuName();

}  // namespace hunch

#endif  // HUNCH_BASE_ISA_H_
