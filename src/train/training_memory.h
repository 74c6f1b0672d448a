// What training needs of memory, so that it is refused before hours of work and not after.
// Pure.
#ifndef HUNCH_TRAIN_TRAINING_MEMORY_H_
#define HUNCH_TRAIN_TRAINING_MEMORY_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "draft/head_file.h"
#include "train/draft_student.h"
#include "train/train_head.h"

namespace hunch {

struct TrainingMemory {
  uint64_t weights = 0;      // with gradients and what the optimiser keeps
  uint64_t activations = 0;  // of one batch
  uint64_t scores = 0;       // of one batch: rows over all tokens that can be guessed
  std::string_view smaller = "--head-tokens";  // flag that makes it less, beside --batch-tokens
  uint64_t total() const { return weights + activations + scores; }
};

// longest: tokens of the longest text.
TrainingMemory MemoryToTrain(const HeadConfig& config, const TrainOptions& options, int longest);
TrainingMemory MemoryToTrain(const DraftStudent& draft, int target_hidden,
                             const TrainOptions& options, int longest);

// kResourceExhausted, with what to lower, where that is more than `available` bytes.
Status CheckTrainingFits(const TrainingMemory& memory, uint64_t available);

}  // namespace hunch

#endif  // HUNCH_TRAIN_TRAINING_MEMORY_H_
