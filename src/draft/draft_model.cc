#include "draft/draft_model.h"

#include <algorithm>

namespace hunch {

Status DraftModel::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  HUNCH_RETURN_IF_ERROR(TreeDrafter::Start(prompt, params));
  read_.reserve(context_);
  return Ok{};
}

void DraftModel::Forget() {
  TreeDrafter::Forget();
  read_.clear();
}

bool DraftModel::Prepare() {
  KeepAccepted();
  // What other requests, or an earlier turn, have read of this text. What was kept stays: it is
  // shorter than what is committed, and that only grows.
  if (read_.empty()) {
    const int found = table_.Adopt(committed_, options_.cache_salt);
    read_.assign(committed_.begin(), committed_.begin() + found);
  }
  table_.Share(read_, options_.cache_salt);
  return true;
}

// Guesses that were committed keep their KV: their slots move to their places in the sequence.
void DraftModel::KeepAccepted() {
  const size_t base = read_.size();
  size_t kept =
      std::mismatch(read_.begin(), read_.end(), committed_.begin(), committed_.end()).first -
      read_.begin();
  if (kept == base) {
    int32_t node = -1;
    for (size_t row = 0; row < row_nodes_.size() && kept < committed_.size(); ++row) {
      // Rows come after their parents' rows, so one way through them follows the path.
      const GrowingTree::Node& read = grown_.node(row_nodes_[row]);
      if (read.parent != node || read.token != committed_[kept]) continue;
      model_.MoveSlot(table_.blocks(), static_cast<int>(base + row), static_cast<int>(kept));
      read_.push_back(read.token);
      ++kept;
      node = row_nodes_[row];
    }
  }
  // The last token is always read again if need be: its logits are wanted.
  kept = std::min(kept, committed_.size() - 1);
  table_.Truncate(static_cast<int>(kept));
  read_.resize(kept);
  row_nodes_.clear();
}

int DraftModel::unread(std::span<const TokenId> committed) const {
  const auto read =
      read_.empty() ? table_.Known(committed, options_.cache_salt) : static_cast<int>(read_.size());
  return static_cast<int>(committed.size()) - read;
}

int DraftModel::to_read() const { return static_cast<int>(committed_.size() - read_.size()); }

Result<int> DraftModel::LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) {
  const int wanted = to_read();
  const int count = std::min(wanted, max_rows);
  const bool last = count == wanted;
  if (count == 0 || (last && max_logit_rows == 0)) return 0;
  auto reserved = table_.Reserve(count);
  if (!reserved) {
    GiveUp();
    return Error{ErrorCode::kResourceExhausted, "the draft model's KV cache is full"};
  }
  reservation_.emplace(std::move(*reserved));
  rows = {.blocks = table_.blocks(),
          .committed = table_.committed(),
          .tokens = committed_.subspan(read_.size(), count),
          .parents = {},
          .logits_from = last ? count - 1 : count};
  return count;
}

void DraftModel::TookCommitted() {
  const int count = reservation_->slots();
  reservation_->Commit(count);
  reservation_.reset();
  const auto unread = committed_.begin() + read_.size();
  read_.insert(read_.end(), unread, unread + count);
}

}  // namespace hunch
