// Training of heads of the kinds eagle3 (arXiv 2503.01840) and eagle (2401.15077): training-time
// test over several steps against the target's own probabilities. An eagle head's feature has to be
// like the target's too, since it is what the target's output matrix reads.
#ifndef HUNCH_TRAIN_EAGLE_TORCH_H_
#define HUNCH_TRAIN_EAGLE_TORCH_H_

#include <memory>
#include <string_view>
#include <vector>

#include "train/head_trainer.h"

namespace hunch {

std::unique_ptr<HeadTrainer> MakeEagleTrainer(const HeadStart& start);

// For tests.
LossAndGradient EagleGradient(const HeadStart& start, const HeadState& state,
                              const HeadBatch& batch, std::string_view weight);

}  // namespace hunch

#endif  // HUNCH_TRAIN_EAGLE_TORCH_H_
