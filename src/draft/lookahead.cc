#include "draft/lookahead.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hunch {
namespace {

constexpr int32_t kRoot = -1;
constexpr int32_t kNoNode = DraftTree::kNoNode;

// The child of `parent` that carries `token`, found or added; kNoNode when there is no room, or
// there was no parent.
int32_t Lay(int32_t parent, int depth, TokenId token, float probability,
            const ProposeLimits& limits, DraftTree& tree) {
  if (parent == kNoNode) return kNoNode;
  const int32_t found = tree.FindChild(parent, token);
  if (found != kNoNode) {
    tree.probabilities[found] = std::max(tree.probabilities[found], probability);
    return found;
  }
  if (tree.size() >= limits.max_nodes || depth > limits.max_depth) return kNoNode;
  return tree.Add(token, parent, probability);
}

// Belief in the first token of a guess by its rank among the guesses, in its later tokens, and in
// the window's.
constexpr float kBeliefByRank[] = {0.35f, 0.15f, 0.1f, 0.07f, 0.05f};
constexpr float kBeliefInRest = 0.5f;
constexpr float kBeliefInWindow = 0.05f;

}  // namespace

Status LookaheadDrafter::Validate(const LookaheadOptions& options) {
  const auto [w, n, g] = options;
  const bool each =
      w >= 1 && w <= kMostNodes && n >= 3 && n <= kMostNodes && g >= 1 && g <= kMostNodes;
  if (each && w - 1 + w * (n - 2) + g * (n - 1) <= kMostNodes) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("lookahead with window {}, ngram {} and guesses {}: window and guesses "
                           "must be at least 1, ngram at least 3, and window * (ngram - 1) - 1 + "
                           "guesses * (ngram - 1) at most {}",
                           w, n, g, kMostNodes)};
}

LookaheadDrafter::LookaheadDrafter(const LookaheadOptions& options)
    : options_(options), pool_(options.ngram - 1, options.guesses, kPoolTokens) {
  HUNCH_CHECK(Validate(options).ok());
  const size_t widest = static_cast<size_t>(options.window + options.ngram);
  levels_.resize(static_cast<size_t>(options.ngram) - 1);
  for (std::vector<TokenId>& level : levels_) level.reserve(widest);
  said_.reserve(widest);
  ngram_.reserve(static_cast<size_t>(options.ngram) - 1);
}

Status LookaheadDrafter::Start(std::span<const TokenId> prompt, const SamplingParams&) {
  Forget();
  const size_t rest = static_cast<size_t>(options_.ngram) - 1;
  for (size_t at = 0; at + rest < prompt.size(); ++at)
    pool_.Put(prompt[at], prompt.subspan(at + 1, rest));
  for (int i = 0; i < options_.window + options_.ngram - 3; ++i)
    levels_[0].push_back(AnyToken(prompt));
  filled_ = 1;
  return Ok{};
}

void LookaheadDrafter::Forget() {
  pool_.Clear();
  for (std::vector<TokenId>& level : levels_) level.clear();
  filled_ = 0;
  drawn_ = 0;
}

TokenId LookaheadDrafter::AnyToken(std::span<const TokenId> committed) {
  if (committed.empty()) return 0;
  uint64_t x = ++drawn_ * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  return committed[(x >> 32) % committed.size()];
}

Status LookaheadDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                                 DraftTree& tree) {
  tree.clear();
  if (filled_ == 0 || committed.empty()) return Ok{};
  const TokenId last = committed.back();
  const int guesses = pool_.Count(last);
  // The latest guess, the window, the other guesses: a limit that is too small for all cuts the
  // least.
  if (guesses > 0) LayGuess(last, 0, limits, tree);
  LayWindow(limits, tree);
  for (int i = 1; i < guesses; ++i) LayGuess(last, i, limits, tree);
  return Ok{};
}

void LookaheadDrafter::LayGuess(TokenId last, int i, const ProposeLimits& limits,
                                DraftTree& tree) const {
  constexpr int kRanks = static_cast<int>(std::size(kBeliefByRank));
  int32_t node = kRoot;
  int depth = 0;
  float path = 1;
  for (const TokenId token : pool_.Get(last, i)) {
    const float belief = depth > 0 ? kBeliefInRest : kBeliefByRank[std::min(i, kRanks - 1)];
    path *= belief;
    if (path < limits.min_path_probability) return;
    node = Lay(node, ++depth, token, belief, limits, tree);
  }
}

// Column by column, so that a limit leaves whole ones.
void LookaheadDrafter::LayWindow(const ProposeLimits& limits, DraftTree& tree) const {
  int32_t chain = kRoot;
  for (int column = 0; column <= static_cast<int>(levels_[0].size()); ++column) {
    if (column > 0)
      chain = Lay(chain, column, levels_[0][column - 1], kBeliefInWindow, limits, tree);
    int32_t node = chain;
    for (int level = 1; level < filled_; ++level) {
      node = Lay(node, column + level, levels_[level][column], kBeliefInWindow, limits, tree);
    }
  }
}

void LookaheadDrafter::Observe(const Observation& step) {
  const size_t added = step.path.size() + 1;
  if (filled_ == 0 || step.top_count < 1 || step.committed.size() <= added) return;
  ReadWindow(step);
  // A step without the window: it waits.
  if (std::all_of(said_.begin(), said_.end(), [](TokenId token) { return token < 0; })) return;
  if (filled_ == options_.ngram - 1) KeepNgrams(step.committed[step.committed.size() - 1 - added]);
  Advance(step.committed);
}

void LookaheadDrafter::ReadWindow(const Observation& step) {
  said_.clear();
  const int first = filled_ == options_.ngram - 1 ? 0 : 1;
  for (int column = first; column <= static_cast<int>(levels_[0].size()); ++column) {
    said_.push_back(After(step, column));
  }
}

TokenId LookaheadDrafter::After(const Observation& step, int column) const {
  int32_t node = kRoot;
  const auto descend = [&](TokenId token) {
    if (node != kNoNode) node = step.tree.FindChild(node, token);
  };
  for (int i = 0; i < column; ++i) descend(levels_[0][i]);
  for (int level = 1; level < filled_; ++level) descend(levels_[level][column]);
  if (node == kNoNode) return -1;
  const size_t at = static_cast<size_t>(node + 1) * static_cast<size_t>(step.top_count);
  return at < step.top.size() ? step.top[at] : -1;
}

// One n-gram of each column that was read. `last`: the token that was column 0's in this step.
void LookaheadDrafter::KeepNgrams(TokenId last) {
  for (size_t column = 0; column < said_.size(); ++column) {
    if (said_[column] < 0) continue;
    ngram_.clear();
    for (int level = 1; level < filled_; ++level) ngram_.push_back(levels_[level][column]);
    ngram_.push_back(said_[column]);
    pool_.Put(column == 0 ? last : levels_[0][column - 1], ngram_);
  }
}

void LookaheadDrafter::Advance(std::span<const TokenId> committed) {
  for (TokenId& token : said_) {
    if (token < 0) token = AnyToken(committed);
  }
  // The column that was guessed first is text by now.
  if (filled_ < options_.ngram - 1) {
    for (int level = 0; level < filled_; ++level) levels_[level].erase(levels_[level].begin());
    levels_[filled_++] = said_;
    return;
  }
  levels_[0].assign(levels_[1].begin() + 1, levels_[1].end());
  for (int level = 1; level + 1 < filled_; ++level) levels_[level].swap(levels_[level + 1]);
  levels_[filled_ - 1] = said_;
}

}  // namespace hunch
