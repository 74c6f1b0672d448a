#include "draft/draft_model.h"

#include <algorithm>

namespace hunch {

DraftModel::DraftModel(Target& model, BlockPool& pool, int vocab_size, int context,
                       std::vector<TokenId> end_tokens)
    : model_(model),
      vocab_size_(std::min(vocab_size, model.vocab())),
      context_(context),
      end_tokens_(std::move(end_tokens)),
      table_(pool) {}

Status DraftModel::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  Forget();
  sampler_.emplace(params, vocab_size_, prompt.size(), end_tokens_);
  // A step allocates nothing: all that grows with the sequence has its size from the start.
  path_.reserve(context_);
  read_.reserve(context_);
  table_.Expect(context_);
  return Ok{};
}

void DraftModel::Forget() {
  table_.Clear();
  read_.clear();
  sampler_.reset();
}

Result<Logits> DraftModel::Read(std::span<const TokenId> prefix) {
  const size_t shared =
      std::mismatch(read_.begin(), read_.end(), prefix.begin(), prefix.end()).first - read_.begin();
  // The last token is always read again if need be: its logits are wanted.
  size_t kept = std::min(shared, prefix.size() - 1);
  table_.Truncate(static_cast<int>(kept));
  read_.resize(kept);
  Logits logits = {};
  while (kept < prefix.size()) {
    const size_t count = std::min<size_t>(prefix.size() - kept, model_.limits().max_rows);
    const bool last = kept + count == prefix.size();
    auto reservation = table_.Reserve(static_cast<int>(count));
    if (!reservation)
      return Error{ErrorCode::kResourceExhausted, "the draft model's KV cache is full"};
    const SequenceRows rows = {.blocks = table_.blocks(),
                               .committed = table_.committed(),
                               .tokens = prefix.subspan(kept, count),
                               .parents = {},
                               .logits_from = static_cast<int>(last ? count - 1 : count)};
    logits = model_.Forward({&rows, 1});
    ++passes_;
    reservation->Commit(static_cast<int>(count));
    read_.insert(read_.end(), prefix.begin() + kept, prefix.begin() + kept + count);
    kept += count;
  }
  return logits;
}

Status DraftModel::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                           DraftTree& tree) {
  tree.clear();
  const auto unknown = [&](TokenId token) { return token >= vocab_size_; };
  // A padding id of the target's that this model has no row for.
  if (std::any_of(committed.begin(), committed.end(), unknown)) return Ok{};
  path_.assign(committed.begin(), committed.end());
  const int room = context_ - static_cast<int>(committed.size());
  const int depth = std::min({limits.max_nodes, limits.max_depth, room});
  float path_probability = 1.0f;
  for (int i = 0; i < depth; ++i) {
    HUNCH_ASSIGN_OR_RETURN(const Logits logits, Read(path_));
    const std::span row(logits.rows, static_cast<size_t>(vocab_size_));
    sampler_->TopPerturbed(path_, {row, logits.maxima}, 1, best_);
    if (best_.empty()) return Ok{};
    const Candidate& guess = best_.front();
    path_probability *= guess.probability;
    if (path_probability < limits.min_path_probability) return Ok{};
    tree.Add(guess.token, i - 1, guess.probability);
    path_.push_back(guess.token);
    if (std::find(end_tokens_.begin(), end_tokens_.end(), guess.token) != end_tokens_.end()) break;
  }
  return Ok{};
}

}  // namespace hunch
