// The ops on NEON. Pure; thread safe.
// The order of the includes matters: each builds on the one before.
// clang-format off
#include "kernels/vec16_neon.h"
#include "kernels/math_inl.h"
#include "kernels/ops_inl.h"
#include "kernels/ops_attention_inl.h"
#include "kernels/row_ops_inl.h"
#include "kernels/ops_tables.h"
// clang-format on

namespace hunch {

extern const Ops kOpsNeon = HUNCH_OPS_TABLE;
extern const RowOps kRowOpsNeon = HUNCH_ROW_OPS_TABLE;

}  // namespace hunch
