#include "draft/head_drafter.h"

#include <memory>
#include <string>

namespace hunch {
namespace {

Error NoRoom() { return {ErrorCode::kResourceExhausted, "the head's KV cache is full"}; }

}  // namespace

Status HeadDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  HUNCH_RETURN_IF_ERROR(TreeDrafter::Start(prompt, params));
  features_.resize(size_t{2 + kMostRows} * head_.hidden());
  const std::string salt = options_.cache_salt == nullptr ? "" : *options_.cache_salt;
  salt_ = std::make_shared<const std::string>(salt + '\0' + std::to_string(prompt.front()));
  return Ok{};
}

void HeadDrafter::Forget() {
  TreeDrafter::Forget();
  missing_ = stored_ = 0;
  has_feature_ = false;
}

Status HeadDrafter::TakeHidden(const HiddenRows& given) {
  GiveUp();
  table_.Truncate(stored_);  // guesses, and the last token as its row was read for them
  if (given.first > taken()) SkipTo(given);
  const int seen = taken() - given.first;
  if (seen >= static_cast<int>(given.rows.size())) return Ok{};
  const auto rows = given.rows.subspan(seen);
  // The last row waits for its proposal, which reads it as a whole.
  const int stored = static_cast<int>(rows.size()) + has_feature_ - !given.over;
  auto reserved = table_.Reserve(stored);
  if (!reserved) return NoRoom();
  head_.Lay({.blocks = table_.blocks(),
             .slot = stored_,
             .tokens = given.committed.subspan(missing_ + stored_ + 1, stored),
             .pass_rows = rows,
             .feature = features_.data(),
             .feature_known = has_feature_});
  reserved->Commit(stored);
  stored_ += stored;
  has_feature_ = !given.over;
  // Whoever adopts it looks at it in a later pass than that which will have read it.
  if (missing_ == 0) table_.Share(given.committed.subspan(1), salt_);
  return Ok{};
}

int HeadDrafter::known(std::span<const TokenId> tokens) const {
  if (taken() > 0) return static_cast<int>(tokens.size());
  return table_.Known(tokens.subspan(1), salt_);
}

// Positions before given.first will not come: if it has read nothing yet, others may have.
void HeadDrafter::SkipTo(const HiddenRows& given) {
  if (taken() == 0) {
    stored_ = table_.Adopt(given.committed.subspan(1, given.first + 1), salt_);
  }
  has_feature_ = false;
  missing_ = given.first - stored_;
}

bool HeadDrafter::Prepare() {
  table_.Truncate(stored_);
  last_read_ = false;
  return has_feature_ && taken() + 1 == static_cast<int>(committed_.size());
}

Result<int> HeadDrafter::LayCommitted(int max_rows, int max_logit_rows, SequenceRows& rows) {
  if (max_rows == 0 || max_logit_rows == 0) return 0;
  auto reserved = table_.Reserve(1);
  if (!reserved) {
    GiveUp();
    return NoRoom();
  }
  reservation_.emplace(std::move(*reserved));
  rows = {.blocks = table_.blocks(),
          .committed = stored_,
          .tokens = committed_.last(1),
          .parents = {},
          .features = features_.data()};
  return 1;
}

void HeadDrafter::TookCommitted() {
  reservation_->Commit(1);
  reservation_.reset();
  last_read_ = true;
}

}  // namespace hunch
