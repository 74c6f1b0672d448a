#include "draft/suffix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace hunch {
namespace {

constexpr int kContexts = 4;  // matches of different length that have a say in what follows

// How much is left to shorter matches: a match of `length` tokens that was followed f times speaks
// for f / (f + doubt). Fitted to outputs of models of 135M and 1.5B parameters on eight kinds of
// prompts; the optimum is flat.
float Doubt(int length) {
  static const std::array<float, SuffixIndex::kDepth + 1> kByLength = [] {
    std::array<float, SuffixIndex::kDepth + 1> doubt{};
    for (size_t i = 1; i < doubt.size(); ++i) {
      doubt[i] = 3.0f / std::pow(static_cast<float>(i), 1.1f);
    }
    return doubt;
  }();
  return kByLength[static_cast<size_t>(std::min(length, SuffixIndex::kDepth))];
}

}  // namespace

SuffixDrafter::SuffixDrafter(int max_tokens, std::shared_ptr<SuffixStore> store)
    : max_tokens_(static_cast<size_t>(std::max(0, max_tokens))), store_(std::move(store)) {
  guesses_.reserve(kContexts * SuffixIndex::kBranches);
}

Status SuffixDrafter::Start(std::span<const TokenId> prompt, const SamplingParams&) {
  Forget();
  own_.Reserve(std::max(max_tokens_, prompt.size()));
  if (store_ != nullptr) output_.reserve(max_tokens_);
  prompt_ = prompt.size();
  Follow(prompt);
  return Ok{};
}

SuffixDrafter::Match SuffixDrafter::Advance(const SuffixIndex& index, Match match, TokenId token) {
  SuffixIndex::State next = index.Next(match.state, token);
  while (next == SuffixIndex::kNone && match.state != SuffixIndex::kRoot) {
    match.state = index.link(match.state);
    match.length = index.length(match.state);
    next = index.Next(match.state, token);
  }
  if (next == SuffixIndex::kNone) return {};
  return {next, std::min(match.length + 1, index.length(next))};
}

void SuffixDrafter::FindShared(std::span<const TokenId> committed) {
  const size_t depth = std::min<size_t>(committed.size(), SuffixIndex::kDepth);
  shared_ = {};
  for (const TokenId token : committed.last(depth)) {
    shared_ = Advance(store_->index(), shared_, token);
  }
  shared_version_ = store_->version();
}

void SuffixDrafter::Follow(std::span<const TokenId> committed) {
  if (committed.size() < followed_) {  // not the sequence that we knew
    own_.Clear();
    output_.clear();
    followed_ = 0;
  }
  const bool shared_is_new =
      store_ != nullptr && followed_ > 0 && shared_version_ == store_->version();
  for (size_t i = followed_; i < committed.size(); ++i) {
    own_.Append(committed[i]);
    if (store_ != nullptr && i >= prompt_) output_.push_back(committed[i]);
    if (shared_is_new) shared_ = Advance(store_->index(), shared_, committed[i]);
  }
  followed_ = committed.size();
  if (store_ != nullptr && !shared_is_new) FindShared(committed);
}

// Fills guesses_: what may follow, from the longest few matches in both indices.
void SuffixDrafter::Blend(const Matches& at) {
  guesses_.clear();
  struct Walk {
    const SuffixIndex* index;
    Match match;
    int followed = 0;  // of the longer match before
  };
  Walk own{&own_, at.own}, shared{store_ == nullptr ? nullptr : &store_->index(), at.shared};
  float left = 1;
  for (int contexts = 0; contexts < kContexts;) {
    Walk& walk = shared.match.length > own.match.length ? shared : own;
    const auto [state, length] = walk.match;
    if (length == 0) break;
    const SuffixIndex& index = *walk.index;
    walk.match = {index.link(state), index.length(index.link(state))};
    const int followed = index.followed(state);
    // Never followed, or where another text ends too: no more than the longer match said.
    if (followed == walk.followed) continue;
    walk.followed = followed;
    ++contexts;
    const float times = static_cast<float>(followed);
    const float said = left * times / (times + Doubt(length));
    left -= said;
    for (const SuffixIndex::Branch& branch : index.branches(state)) {
      const float probability = said * static_cast<float>(branch.count) / times;
      const auto known = std::find_if(guesses_.begin(), guesses_.end(),
                                      [&](const Guess& g) { return g.token == branch.token; });
      if (known != guesses_.end()) {
        known->probability += probability;
      } else {
        guesses_.push_back({branch.token, probability});
      }
    }
  }
}

void SuffixDrafter::PushGuesses(const BestFirst<Matches>::Node* parent, int32_t index,
                                const Matches& at) {
  Blend(at);
  for (const Guess& guess : guesses_) {
    growing_.Push(parent, index, guess.token, std::min(guess.probability, 1.0f), at);
  }
}

Status SuffixDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                              DraftTree& tree) {
  tree.clear();
  Follow(committed);
  if (store_ != nullptr && shared_version_ != store_->version()) FindShared(committed);
  growing_.Begin(limits);
  const SuffixIndex::State context = own_.context();
  PushGuesses(nullptr, -1, {{context, own_.length(context)}, shared_});
  BestFirst<Matches>::Node node;
  while (growing_.Pop(tree, node)) {
    Matches at = node.what;
    at.own = Advance(own_, at.own, node.token);
    if (store_ != nullptr) at.shared = Advance(store_->index(), at.shared, node.token);
    PushGuesses(&node, tree.size() - 1, at);
  }
  return Ok{};
}

void SuffixDrafter::Observe(const Observation& step) { Follow(step.committed); }

void SuffixDrafter::Forget() {
  if (store_ != nullptr && !output_.empty()) store_->Add(output_);
  output_.clear();
  own_.Clear();
  followed_ = 0;
  prompt_ = 0;
  shared_ = {};
}

}  // namespace hunch
