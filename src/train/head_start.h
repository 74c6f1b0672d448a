// What a head begins its training with: rows of its target and, where it goes on from a head, that
// one's weights. Pure but for the files.
#ifndef HUNCH_TRAIN_HEAD_START_H_
#define HUNCH_TRAIN_HEAD_START_H_

#include <string>

#include "base/result.h"
#include "draft/head_file.h"
#include "quant/types.h"
#include "train/head_trainer.h"
#include "train/target_rows.h"

namespace hunch {

struct TrainedBefore {
  HeadConfig config;  // that names its tokens
  HeadState state;
  TensorType type;  // of its largest matrix
};
// Of a head's file. Errors: it is not for the target, or has what training knows nothing of.
Result<TrainedBefore> OpenTrainedHead(const std::string& path, const TargetRows& target,
                                      const VocabularyId& vocabulary);

// config names its tokens.
HeadStart StartOf(const HeadConfig& config, const TargetRows& target, uint64_t seed, int threads);

}  // namespace hunch

#endif  // HUNCH_TRAIN_HEAD_START_H_
