#include "train/tap_reader.h"

#include <algorithm>
#include <utility>

namespace hunch {

Result<std::unique_ptr<TapReader>> TapReader::Create(Model& model, std::vector<int> taps,
                                                     int most_tokens) {
  // Every row of a pass may begin a text, and one text may go on from the pass before.
  const int blocks = BlocksFor(most_tokens) + model.limits().max_rows;
  HUNCH_ASSIGN_OR_RETURN(ModelKv kv, ModelKv::Create(model.config(), KvType::kF16, blocks));
  return std::unique_ptr<TapReader>(new TapReader(model, std::move(taps), std::move(kv), blocks));
}

TapReader::TapReader(Model& model, std::vector<int> taps, ModelKv kv, int blocks)
    : model_(model),
      taps_(std::move(taps)),
      layout_{model.config().hidden, static_cast<int>(taps_.size()) + 1},
      kv_(std::move(kv)),
      pool_(blocks),
      packer_(layout_),
      hidden_(static_cast<size_t>(layout_.sources) * model.limits().max_rows * layout_.hidden),
      rows_(static_cast<size_t>(model.limits().max_rows) * layout_.row_bytes()) {}

Result<bool> TapReader::Read(std::span<const std::span<const TokenId>> texts,
                             const OnRows& on_rows) {
  parts_.clear();
  int rows = 0;  // that wait for a pass
  for (const auto text : texts) {
    parts_.push_back(std::make_unique<Part>(pool_, text));
    rows += static_cast<int>(text.size());
    while (rows >= model_.limits().max_rows) {
      HUNCH_ASSIGN_OR_RETURN(const bool wanted, Pass(on_rows));
      if (!wanted) return false;
      rows -= model_.limits().max_rows;
    }
  }
  if (rows == 0) return true;
  return Pass(on_rows);
}

// Reads as many rows as a pass can have, or all that wait.
Result<bool> TapReader::Pass(const OnRows& on_rows) {
  std::vector<Reservation> reservations;
  std::vector<SequenceRows> batch;
  int rows = 0;
  for (const auto& part : parts_) {
    const int free = model_.limits().max_rows - rows;
    const int count = std::min(free, static_cast<int>(part->left.size()));
    if (count == 0) continue;
    std::optional<Reservation> reservation = part->table.Reserve(count);
    HUNCH_CHECK(reservation.has_value());
    reservations.push_back(std::move(*reservation));
    batch.push_back({.blocks = part->table.blocks(),
                     .committed = part->table.committed(),
                     .tokens = part->left.first(count),
                     .parents = {},
                     .logits_from = count});
    part->left = part->left.subspan(count);
    rows += count;
  }
  const size_t source_floats = static_cast<size_t>(rows) * layout_.hidden;
  std::vector<HiddenTap> taps;
  for (int source = 0; source < layout_.sources; ++source) {
    const bool last = source == layout_.sources - 1;
    taps.push_back({last ? model_.config().layers : taps_[source],
                    hidden_.data() + static_cast<size_t>(source) * source_floats});
  }
  model_.Forward(batch, kv_, taps);
  for (Reservation& reservation : reservations) reservation.Commit(reservation.slots());
  reservations.clear();
  std::erase_if(parts_, [](const auto& part) { return part->left.empty(); });
  for (int row = 0; row < rows; ++row) {
    for (int source = 0; source < layout_.sources; ++source) {
      packer_.Pack(taps[source].out + static_cast<size_t>(row) * layout_.hidden, source,
                   rows_.data() + static_cast<size_t>(row) * layout_.row_bytes());
    }
  }
  return on_rows(std::span(rows_).first(static_cast<size_t>(rows) * layout_.row_bytes()));
}

}  // namespace hunch
