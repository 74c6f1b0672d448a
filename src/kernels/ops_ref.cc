// The ops in plain C++: what every other instruction set is compared with. Pure; thread safe.
// The order of the includes matters: each builds on the one before.
// clang-format off
#include "kernels/vec16_ref.h"
#include "kernels/math_inl.h"
#include "kernels/ops_inl.h"
#include "kernels/ops_attention_inl.h"
#include "kernels/row_ops_inl.h"
#include "kernels/ops_tables.h"
// clang-format on

namespace hunch {

extern const Ops kOpsRef = HUNCH_OPS_TABLE;
extern const RowOps kRowOpsRef = HUNCH_ROW_OPS_TABLE;

}  // namespace hunch
