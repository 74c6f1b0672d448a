// Training of a draft model against the target's own probabilities (arXiv 1503.02531): all tokens'
// of them, since what they are made of is kept anyway and making them costs less than a tenth of an
// update.
#ifndef HUNCH_TRAIN_DRAFT_TORCH_H_
#define HUNCH_TRAIN_DRAFT_TORCH_H_

#include <memory>
#include <string_view>

#include "train/head_trainer.h"

namespace hunch {

std::unique_ptr<HeadTrainer> MakeDraftModelTrainer(const DraftStart& start);

// For tests.
LossAndGradient DraftGradient(const DraftStart& start, const HeadState& state,
                              const HeadBatch& batch, std::string_view weight);

}  // namespace hunch

#endif  // HUNCH_TRAIN_DRAFT_TORCH_H_
