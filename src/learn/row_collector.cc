#include "learn/row_collector.h"

namespace hunch {

RowCollector::RowCollector(const HeadConfig& config, int max_rows, int slots)
    : layout_(LayoutOf(config)),
      hidden_(static_cast<size_t>(layout_.sources) * max_rows * layout_.hidden),
      packer_(layout_),
      ring_(layout_.row_bytes(), slots) {
  for (int source = 0; source < layout_.sources; ++source) {
    const bool last = source == layout_.sources - 1;
    taps_.push_back({last ? config.target.layers : config.taps[source],
                     hidden_.data() + static_cast<size_t>(source) * max_rows * layout_.hidden});
  }
}

void RowCollector::Take(const SinkSequence& sequence, const HiddenRows& given) {
  for (size_t i = 0; i < given.rows.size(); ++i) {
    const int position = given.first + static_cast<int>(i);
    if (position + kLearnedContext < sequence.prompt) continue;
    const auto slot = ring_.Claim();
    if (!slot) continue;
    slot->label = {.sequence = sequence.id,
                   .position = position,
                   .token = given.committed[position],
                   .next = given.committed[position + 1],
                   .prompt = sequence.prompt,
                   .temperature = sequence.temperature,
                   .last = given.over && i + 1 == given.rows.size()};
    for (int source = 0; source < layout_.sources; ++source) {
      packer_.Pack(taps_[source].out + static_cast<size_t>(given.rows[i]) * layout_.hidden, source,
                   slot->row.data());
    }
    ring_.Publish();
  }
}

}  // namespace hunch
