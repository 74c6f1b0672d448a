// TrainHead: the loop around a HeadTrainer: batches, learning rate, judging, checkpoints, and the
// student's file, which always holds the best one so far. A run that was killed goes on from its
// last checkpoint to the same bits. Not thread safe.
#ifndef HUNCH_TRAIN_TRAIN_HEAD_H_
#define HUNCH_TRAIN_TRAIN_HEAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "quant/types.h"
#include "train/checkpoint.h"
#include "train/features.h"
#include "train/head_trainer.h"
#include "train/student.h"
#include "train/train_set.h"

namespace hunch {

// As they suit a new head.
struct TrainOptions {
  int epochs = 10;  // at most: it ends where the student gets no better
  int batch_tokens = 512;
  int steps = 3;  // of training-time test; a head of kind medusa: its heads; a draft model: 1
  double learning_rate = 1e-3;
  uint64_t seed = 0;
  int judged_tokens = 16384;           // of held-out texts, about
  int patience = 3;                    // epochs without a better one before it ends
  std::optional<Precision> precision;  // none: the faster one, as timed
  TensorType type = TensorType::kQ8_0;
  double checkpoint_seconds = 60;
};

struct TrainReport {
  int64_t update = 0, updates = 0;     // done, and all that there will be
  double loss = 0;                     // of the last update
  double tokens_per_second = 0;        // of answers, since this run began
  double seconds_per_update = 0;       // likewise
  const CurvePoint* judged = nullptr;  // it was judged just now
};
// Called after every update and judgement; false: write a checkpoint and stop.
using OnTrain = std::function<bool(const TrainReport&)>;
// Told what was measured to choose between.
using OnPrecision = std::function<void(double f32_seconds, double bf16_seconds)>;

// What is trained on what. All that it names must outlive the training.
struct TrainTask {
  Student& student;
  const TrainSet& set;
  FeatureSource& features;
  std::string checkpoint, out;  // paths
};

struct TrainOutcome {
  bool finished = false;  // false: stopped by OnTrain
  TrainPosition position;
};

// kInternal: the loss is no number any more.
Result<TrainOutcome> TrainHead(const TrainOptions& options, const TrainTask& task,
                               HeadTrainer& trainer, const OnTrain& on_train,
                               const OnPrecision& on_precision);

}  // namespace hunch

#endif  // HUNCH_TRAIN_TRAIN_HEAD_H_
