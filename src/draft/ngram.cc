#include "draft/ngram.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hunch {
namespace {

constexpr int kLongestCounted = 16;  // a longer match says no more about what follows

// How many tokens before `next` equal those at the end of the sequence, at most kLongestCounted
// beyond `known`.
int MatchLength(std::span<const TokenId> tokens, size_t next, int known) {
  const int longest = static_cast<int>(std::min<size_t>(next, std::max(known, kLongestCounted)));
  int length = 0;
  while (length < longest && tokens[next - 1 - length] == tokens[tokens.size() - 1 - length]) {
    ++length;
  }
  return length;
}

// Belief in each token of the guess, by the length of the match: rough figures.
float Belief(int match_length) {
  if (match_length >= kLongestCounted) return 0.9f;
  if (match_length >= 8) return 0.8f;
  if (match_length >= 4) return 0.7f;
  return match_length >= 3 ? 0.6f : 0.45f;
}

}  // namespace

Status NgramDrafter::Validate(const NgramOptions& options) {
  if (options.prompt_lookup_min >= 1 && options.prompt_lookup_min <= options.prompt_lookup_max &&
      options.prompt_lookup_max <= kLargestN) {
    return Ok{};
  }
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("prompt_lookup_min is {} and prompt_lookup_max is {}: they must satisfy 1 <= "
                  "prompt_lookup_min <= prompt_lookup_max <= {}",
                  options.prompt_lookup_min, options.prompt_lookup_max, kLargestN)};
}

NgramDrafter::NgramDrafter(const NgramOptions& options) {
  HUNCH_CHECK(Validate(options).ok());
  for (int n = options.prompt_lookup_max; n >= options.prompt_lookup_min; --n)
    indices_.emplace_back(n);
}

Status NgramDrafter::Start(std::span<const TokenId> prompt, const SamplingParams&) {
  Forget();
  for (NgramIndex& index : indices_) index.Reserve(prompt.size());
  Index(prompt);
  return Ok{};
}

// An n-gram is indexed once a token follows it: so the one at the very end never finds itself.
void NgramDrafter::Index(std::span<const TokenId> committed) {
  if (committed.size() < indexed_) Forget();
  for (; indexed_ < committed.size(); ++indexed_) {
    for (NgramIndex& index : indices_) {
      if (indexed_ >= static_cast<size_t>(index.length())) index.Put(committed, indexed_);
    }
  }
}

NgramDrafter::Match NgramDrafter::FindMatch(std::span<const TokenId> committed) const {
  for (const NgramIndex& index : indices_) {
    const int64_t end = index.Find(committed);
    if (end < 0) continue;
    const size_t next = static_cast<size_t>(end);
    const int length = MatchLength(committed, next, index.length());
    if (length >= index.length()) return {next, length};
  }
  return {};
}

Status NgramDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                             DraftTree& tree) {
  tree.clear();
  Index(committed);
  const Match match = FindMatch(committed);
  if (match.length == 0) return Ok{};
  const float belief = Belief(match.length);
  float path_probability = 1;
  const int longest = std::min(limits.max_nodes, limits.max_depth);
  for (int i = 0; i < longest; ++i) {
    path_probability *= belief;
    if (path_probability < limits.min_path_probability) break;
    const size_t from = match.next + static_cast<size_t>(i);
    const TokenId token =
        from < committed.size() ? committed[from] : tree.tokens[from - committed.size()];
    tree.Add(token, i - 1, belief);
  }
  return Ok{};
}

void NgramDrafter::Observe(const Observation& step) { Index(step.committed); }

void NgramDrafter::Forget() {
  for (NgramIndex& index : indices_) index.Clear();
  indexed_ = 0;
}

}  // namespace hunch
