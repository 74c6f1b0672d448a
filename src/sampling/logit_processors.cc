#include "sampling/logit_processors.h"

#include <algorithm>
#include <limits>

#include "sampling/speed_only.h"

namespace hunch {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool Penalises(const SamplingParams& p) {
  return p.repetition_penalty != 1 || p.frequency_penalty != 0 || p.presence_penalty != 0;
}

}  // namespace

PrefixCounts::PrefixCounts(int vocab_size, size_t prompt_len)
    : prompt_len_(prompt_len), counts_(static_cast<size_t>(vocab_size)) {}

void PrefixCounts::Add(TokenId token) {
  const bool output = prefix_.size() >= prompt_len_;
  prefix_.push_back(token);
  if (!Counted(token)) return;
  Count& count = counts_[token];
  if (count.all++ == 0) distinct_.push_back(token);
  count.output += output;
}

void PrefixCounts::UndoLast() {
  const TokenId token = prefix_.back();
  prefix_.pop_back();
  if (!Counted(token)) return;
  Count& count = counts_[token];
  count.output -= prefix_.size() >= prompt_len_;
  // A first occurrence is undone after every token behind it, so it is the last of the list.
  if (--count.all == 0) distinct_.pop_back();
}

void PrefixCounts::MoveTo(std::span<const TokenId> prefix) {
  size_t shared = 0;
  // SPEED ONLY: start from what the last prefix and this one share.
  if (kTakeSpeedOnlyBranches) {
    const size_t shorter = std::min(prefix.size(), prefix_.size());
    shared = std::mismatch(prefix_.begin(), prefix_.begin() + shorter, prefix.begin()).first -
             prefix_.begin();
  }
  while (prefix_.size() > shared) UndoLast();
  for (const TokenId token : prefix.subspan(shared)) Add(token);
}

LogitProcessors::LogitProcessors(const SamplingParams& params, int vocab_size, size_t prompt_len,
                                 std::vector<TokenId> end_tokens)
    : vocab_size_(vocab_size),
      prompt_len_(prompt_len),
      min_tokens_(static_cast<size_t>(std::max(params.min_tokens, 0))),
      bias_(params.logit_bias),
      banned_(params.banned_tokens),
      ends_(std::move(end_tokens)),
      repetition_(params.repetition_penalty),
      frequency_(params.frequency_penalty),
      presence_(params.presence_penalty),
      penalises_(Penalises(params)),
      counts_(penalises_ ? vocab_size : 0, prompt_len) {
  ends_.insert(ends_.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
  const auto outside = [vocab_size](TokenId token) { return token < 0 || token >= vocab_size; };
  std::erase_if(bias_, [&](const auto& entry) { return outside(entry.first); });
  std::erase_if(banned_, outside);
  std::erase_if(ends_, outside);
}

const float* LogitProcessors::Apply(std::span<const TokenId> prefix, const float* row) {
  const bool forbids_end = ForbidsEnd(prefix.size());
  if (bias_.empty() && banned_.empty() && !forbids_end && !penalises_) return row;
  scratch_.assign(row, row + vocab_size_);
  for (const auto& [token, bias] : bias_) scratch_[token] += bias;
  for (const TokenId token : banned_) scratch_[token] = kNever;
  if (forbids_end) {
    for (const TokenId token : ends_) scratch_[token] = kNever;
  }
  if (penalises_) Penalise(prefix);
  return scratch_.data();
}

void LogitProcessors::Penalise(std::span<const TokenId> prefix) {
  counts_.MoveTo(prefix);
  for (const TokenId token : counts_.distinct()) {
    float& logit = scratch_[token];
    logit = logit > 0 ? logit / repetition_ : logit * repetition_;
    if (const int32_t count = counts_.in_output(token); count > 0) {
      logit -= frequency_ * static_cast<float>(count);
      logit -= presence_;
    }
  }
}

}  // namespace hunch
