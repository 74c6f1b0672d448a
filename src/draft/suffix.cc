#include "draft/suffix.h"

#include <algorithm>
#include <utility>

#include "draft/reserve.h"

namespace hunch {
namespace {

constexpr int kContexts = 4;  // matches of different length that have a say in what follows

}  // namespace

SuffixDrafter::SuffixDrafter(int max_tokens, std::shared_ptr<SuffixStore> store)
    : max_tokens_(static_cast<size_t>(std::max(0, max_tokens))), store_(std::move(store)) {}

Status SuffixDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  Forget();
  const size_t tokens = TokensToReserve(max_tokens_, prompt.size(), params);
  own_.Reserve(tokens);
  if (store_ != nullptr) output_.reserve(tokens - prompt.size());
  prompt_ = prompt.size();
  Follow(prompt);
  return Ok{};
}

void SuffixDrafter::FindShared(std::span<const TokenId> committed) {
  const size_t depth = std::min<size_t>(committed.size(), SuffixIndex::kDepth);
  shared_ = {};
  for (const TokenId token : committed.last(depth)) {
    shared_ = store_->index().Advance(shared_, token);
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
    if (shared_is_new) shared_ = store_->index().Advance(shared_, committed[i]);
  }
  followed_ = committed.size();
  if (store_ != nullptr && !shared_is_new) FindShared(committed);
}

// Fills blend_: what may follow, from the longest few matches in both indices.
void SuffixDrafter::Ask(const Matches& at) {
  blend_.Begin();
  struct Walk {
    const SuffixIndex* index;
    SuffixIndex::Match match;
    int followed = 0;  // of the longer match before
  };
  Walk own{&own_, at.own}, shared{store_ == nullptr ? nullptr : &store_->index(), at.shared};
  for (int contexts = 0; contexts < kContexts;) {
    Walk& walk = shared.match.length > own.match.length ? shared : own;
    const auto [state, length] = walk.match;
    if (length == 0) break;
    const SuffixIndex& index = *walk.index;
    walk.match = index.Shorten(walk.match);
    const int followed = index.followed(state);
    // Never followed, or where another text ends too: no more than the longer match said.
    if (followed == walk.followed) continue;
    walk.followed = followed;
    ++contexts;
    blend_.Say(length, followed, index.branches(state));
  }
}

void SuffixDrafter::PushGuesses(const BestFirst<Matches>::Node* parent, int32_t index,
                                const Matches& at) {
  Ask(at);
  for (const Blend::Guess& guess : blend_.guesses()) {
    growing_.Push(parent, index, guess.token, guess.probability, at);
  }
}

Status SuffixDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                              DraftTree& tree) {
  tree.clear();
  Follow(committed);
  if (store_ != nullptr && shared_version_ != store_->version()) FindShared(committed);
  growing_.Begin(limits);
  PushGuesses(nullptr, -1, {own_.match(), shared_});
  BestFirst<Matches>::Node node;
  while (growing_.Pop(tree, node)) {
    Matches at = node.what;
    at.own = own_.Advance(at.own, node.token);
    if (store_ != nullptr) at.shared = store_->index().Advance(at.shared, node.token);
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
