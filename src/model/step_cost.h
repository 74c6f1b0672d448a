// What a pass must touch and multiply, whatever the kernels: the ground for comparing its time with
// the machine's limits. Pure.
#ifndef HUNCH_MODEL_STEP_COST_H_
#define HUNCH_MODEL_STEP_COST_H_

#include "model/model.h"

namespace hunch {

struct StepCost {
  // Each read once: the linear layers as packed, the output matrix if any row gets logits, norms
  // and biases, and the KV of the context and of the rows themselves. An embedding that is not the
  // output matrix too is not counted: a row reads one row of it.
  double bytes = 0;
  // rows x weights of the linear layers, logit rows x output matrix, and attention's q.k and p.v.
  double macs = 0;
};

// Of a pass of `rows` rows of one sequence, a chain after `context` committed slots, of which the
// last `logit_rows` get logits.
StepCost CostOfPass(const ModelConfig& config, const ModelWeights& weights, KvType kv_type,
                    int context, int rows, int logit_rows);

}  // namespace hunch

#endif  // HUNCH_MODEL_STEP_COST_H_
