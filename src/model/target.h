// Target: what the engine and the draft model need of a model and its KV memory. Real models are a
// ModelTarget; tests put a fake in its place that computes logits from a hash of the prefix.
#ifndef HUNCH_MODEL_TARGET_H_
#define HUNCH_MODEL_TARGET_H_

#include <span>
#include <utility>

#include "model/model.h"
#include "model/wide_rows.h"

namespace hunch {

class Target {
 public:
  virtual ~Target() = default;
  virtual int vocab() const = 0;  // length of a logits row
  virtual const ForwardLimits& limits() const = 0;
  // As Model::Forward, on this target's own KV memory.
  virtual Logits Forward(std::span<const SequenceRows> sequences) = 0;
  // The same bits, and copies of the hidden states; a target that has none leaves none.
  virtual Logits ForwardTapped(std::span<const SequenceRows> sequences,
                               std::span<const HiddenTap>) {
    return Forward(sequences);
  }
  // Copies one slot's keys and values: an accepted tree node moves to its place in the sequence.
  virtual void MoveSlot(std::span<const int32_t> blocks, int from, int to) = 0;
};

// The rows of a model that was cut to some tokens at load (LoadOptions::kept_tokens) are as wide as
// the vocabulary again: who reads them knows tokens by their ids.
class ModelTarget : public Target {
 public:
  // `model` must outlive the target.
  ModelTarget(Model& model, ModelKv kv)
      : model_(model),
        kv_(std::move(kv)),
        wide_(model.kept_tokens(), model.config().vocab, model.limits().max_logit_rows) {}
  int vocab() const override { return model_.config().vocab; }
  const ForwardLimits& limits() const override { return model_.limits(); }
  Logits Forward(std::span<const SequenceRows> sequences) override {
    return ForwardTapped(sequences, {});
  }
  Logits ForwardTapped(std::span<const SequenceRows> sequences,
                       std::span<const HiddenTap> taps) override {
    const Logits logits = model_.Forward(sequences, kv_, taps);
    return model_.kept_tokens().empty() ? logits : wide_.Widen(logits, LogitRows(sequences));
  }
  void MoveSlot(std::span<const int32_t> blocks, int from, int to) override {
    kv_.MoveSlot(blocks, from, to);
  }

 private:
  Model& model_;
  ModelKv kv_;
  WideRows wide_;
};

}  // namespace hunch

#endif  // HUNCH_MODEL_TARGET_H_
