// RowCollector: takes from the engine what a head is trained on, the target's hidden states where
// tokens were committed, and puts it into a ring as training keeps it (feature_rows.h). Far behind
// an answer's beginning a prompt's rows teach nothing and are left out.
//
// Belongs to the engine's thread, but for the ring's other end. Take allocates nothing. Memory: its
// taps for the target's largest pass, and the ring.
#ifndef HUNCH_LEARN_ROW_COLLECTOR_H_
#define HUNCH_LEARN_ROW_COLLECTOR_H_

#include <span>
#include <vector>

#include "draft/head_file.h"
#include "draft/hidden_drafter.h"
#include "learn/feature_rows.h"
#include "learn/row_ring.h"

namespace hunch {

// Of a prompt, before the answer: what a head looks back to.
inline constexpr int kLearnedContext = 512;

class RowCollector : public HiddenSink {
 public:
  // Of a head; its target's hidden size is a multiple of 32. max_rows: of the target's passes.
  RowCollector(const HeadConfig& config, int max_rows, int slots);

  const FeatureLayout& layout() const { return layout_; }
  RowRing& ring() { return ring_; }

  std::span<const HiddenTap> taps() const override { return taps_; }
  void Take(const SinkSequence& sequence, const HiddenRows& given) override;

 private:
  const FeatureLayout layout_;
  std::vector<float> hidden_;  // [sources][max_rows][hidden], where the target's passes leave them
  std::vector<HiddenTap> taps_;  // [sources]
  FeaturePacker packer_;
  RowRing ring_;
};

}  // namespace hunch

#endif  // HUNCH_LEARN_ROW_COLLECTOR_H_
