// Checkpoint: everything that a training goes on from after a kill: weights, what the optimiser
// keeps, where in the texts it was, and the curve so far. A GGUF file of its own architecture,
// written beside its place and renamed. A file is hostile input.
#ifndef HUNCH_TRAIN_CHECKPOINT_H_
#define HUNCH_TRAIN_CHECKPOINT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "draft/head_file.h"
#include "train/head_trainer.h"

namespace hunch {

// What is known after some updates.
struct CurvePoint {
  int64_t tokens = 0;  // of answers, learned from so far
  double seconds = 0;  // spent on learning so far
  double loss = 0;     // mean since the point before; 0: before the first update
  double tokens_per_pass = 0;
  std::vector<double> right;  // [steps judged]: share of guesses whose chain was right before them
};

struct TrainPosition {
  int64_t update = 0;  // the next one; says epoch and batch
  int64_t tokens = 0;
  double seconds = 0;
  double loss_sum = 0;  // since the last point of the curve
  int64_t loss_count = 0;
  double best = 0;  // tokens per pass, the best so far
  int stale = 0;    // points since then
  Precision precision = Precision::kF32;
  std::vector<CurvePoint> curve;
};

struct Checkpoint {
  std::string settings;  // of the training; one with others does not go on from it
  TrainPosition position;
  HeadState state;
};

Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);
// Of these tensors, trained with these settings; else an error that says what to do.
Result<Checkpoint> ReadCheckpoint(const std::string& path, std::span<const HeadTensor> tensors,
                                  const std::string& settings);

}  // namespace hunch

#endif  // HUNCH_TRAIN_CHECKPOINT_H_
