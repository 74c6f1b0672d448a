#include "draft/ngram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "draft/reserve.h"

namespace hunch {
namespace {

constexpr int kLongestCounted = 16;   // a longer match says no more about what follows
constexpr int kOccurrencesRead = 32;  // of one n; more are not worth the time

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

// Belief in what followed a match of so many tokens, guesses that came true included.
float Belief(int match_length) {
  static const std::array<float, kLongestCounted + 1> kByLength = [] {
    std::array<float, kLongestCounted + 1> belief{};
    for (size_t i = 1; i < belief.size(); ++i) {
      belief[i] = 1 / (1 + 1.5f / std::pow(static_cast<float>(i), 1.1f));
    }
    return belief;
  }();
  return kByLength[static_cast<size_t>(std::min(match_length, kLongestCounted))];
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

NgramDrafter::NgramDrafter(const NgramOptions& options, int max_tokens)
    : max_tokens_(static_cast<size_t>(std::max(0, max_tokens))) {
  HUNCH_CHECK(Validate(options).ok());
  matches_.reserve(kMatches);
  path_.reserve(256);
  for (int n = options.prompt_lookup_max; n >= options.prompt_lookup_min; --n)
    indices_.emplace_back(n);
}

Status NgramDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  Forget();
  const size_t tokens = TokensToReserve(max_tokens_, prompt.size(), params);
  for (NgramIndex& index : indices_) index.Reserve(tokens);
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

// The occurrences of the longest n, most recent first, then those of shorter ones.
void NgramDrafter::FindMatches(std::span<const TokenId> committed) {
  matches_.clear();
  int known = kLargestN + 1;  // matches of this length and longer ones are known
  for (const NgramIndex& index : indices_) {
    int64_t end = index.Find(committed);
    for (int read = 0; end >= 0 && read < kOccurrencesRead; ++read) {
      if (matches_.size() == kMatches) return;
      const size_t next = static_cast<size_t>(end);
      const int length = MatchLength(committed, next, index.length());
      if (length >= index.length() && length < known) matches_.push_back({next, length});
      end = index.Previous(end);
    }
    known = index.length();
  }
}

// Beyond the end of the sequence stand the guesses of the path.
TokenId NgramDrafter::TokenAt(size_t position, std::span<const TokenId> committed) const {
  return position < committed.size() ? committed[position] : path_[position - committed.size()];
}

void NgramDrafter::PushBranches(std::span<const TokenId> committed,
                                const BestFirst<Agreeing>::Node* parent, int32_t index,
                                Agreeing agreeing) {
  std::array<Branch, kMatches> branches;
  int count = 0;
  for (Agreeing left = agreeing; left != 0; left &= left - 1) {
    const int match = std::countr_zero(left);
    const TokenId token = TokenAt(matches_[match].next + path_.size(), committed);
    int at = 0;
    while (at < count && branches[at].token != token) ++at;
    if (at == count) branches[count++] = {token, 0};
    branches[at].agreeing |= Agreeing{1} << match;
  }
  // Occurrences count alike, but for the best: it counts twice, and no other branch is believed
  // more than its.
  const float all = 1 + static_cast<float>(std::popcount(agreeing));
  float most = 1;
  for (int i = 0; i < count; ++i) {
    const int best = std::countr_zero(branches[i].agreeing);
    const float said = static_cast<float>(std::popcount(branches[i].agreeing) + (i == 0));
    const int length = matches_[best].length + static_cast<int>(path_.size());
    const float belief = std::min(most, Belief(length) * said / all);
    if (i == 0) most = belief;
    growing_.Push(parent, index, branches[i].token, belief, branches[i].agreeing);
  }
}

Status NgramDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                             DraftTree& tree) {
  tree.clear();
  Index(committed);
  FindMatches(committed);
  if (matches_.empty()) return Ok{};
  growing_.Begin(limits);
  path_.clear();
  PushBranches(committed, nullptr, -1, (Agreeing{1} << matches_.size()) - 1);
  BestFirst<Agreeing>::Node node;
  while (growing_.Pop(tree, node)) {
    path_.resize(static_cast<size_t>(node.depth));
    for (int32_t at = tree.size() - 1, depth = node.depth; at >= 0; at = tree.parents[at]) {
      path_[static_cast<size_t>(--depth)] = tree.tokens[at];
    }
    PushBranches(committed, &node, tree.size() - 1, node.what);
  }
  return Ok{};
}

void NgramDrafter::Observe(const Observation& step) { Index(step.committed); }

void NgramDrafter::Forget() {
  for (NgramIndex& index : indices_) index.Clear();
  indexed_ = 0;
}

}  // namespace hunch
