// Training of a head of kind medusa (arXiv 2401.10774): one residual block and one output matrix
// for each place ahead, against the target's own probabilities. The target itself stays as it is
// (Medusa-1).
#ifndef HUNCH_TRAIN_MEDUSA_TORCH_H_
#define HUNCH_TRAIN_MEDUSA_TORCH_H_

#include <memory>

#include "train/head_trainer.h"

namespace hunch {

std::unique_ptr<HeadTrainer> MakeMedusaTrainer(const HeadStart& start);

}  // namespace hunch

#endif  // HUNCH_TRAIN_MEDUSA_TORCH_H_
