// The tables of kernels that the ops_<isa>.cc files export, and how such a table is filled.
#ifndef HUNCH_KERNELS_OPS_TABLES_H_
#define HUNCH_KERNELS_OPS_TABLES_H_

#include "kernels/ops.h"
#include "kernels/row_ops.h"

namespace hunch {

extern const Ops kOpsRef;
extern const RowOps kRowOpsRef;
#if defined(__x86_64__)
extern const Ops kOpsAvx2;
extern const RowOps kRowOpsAvx2;
extern const Ops kOpsAvx512;
extern const RowOps kRowOpsAvx512;
#elif defined(__aarch64__)
extern const Ops kOpsNeon;
extern const RowOps kRowOpsNeon;
#endif

}  // namespace hunch

// A table of the file-local functions of ops_inl.h and ops_attention_inl.h.
#define HUNCH_OPS_TABLE                                                                      \
  {                                                                                          \
    RmsNormImpl, SiluMulImpl, AddInPlaceImpl, RopeImpl, KvStoreImpl, AttentionImpl,          \
        AttentionPartialsImpl, AttentionMergeImpl, ArgMaxImpl, SoftmaxStatsImpl, ExpRowImpl, \
        LogRowImpl, Log1pRowImpl, GumbelRowImpl                                              \
  }
#define HUNCH_ROW_OPS_TABLE \
  { BlockMaximaImpl, AboveImpl, MassSumImpl, MassEstimateImpl, GumbelBlockImpl }

#endif  // HUNCH_KERNELS_OPS_TABLES_H_
