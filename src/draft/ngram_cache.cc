#include "draft/ngram_cache.h"

#include <algorithm>
#include <utility>

#include "draft/reserve.h"

namespace hunch {
namespace {

// What followed in other texts is so much less likely to follow here.
constexpr float kCorpusDoubt = 6;

}  // namespace

NgramCacheDrafter::NgramCacheDrafter(int max_tokens, std::shared_ptr<const NgramTable> table)
    : max_tokens_(static_cast<size_t>(std::max(0, max_tokens))),
      table_(std::move(table)),
      own_(NgramTable::kLongest + 1) {}

Status NgramCacheDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  Forget();
  const size_t tokens = TokensToReserve(max_tokens_, prompt.size(), params);
  own_.Reserve(tokens);
  Follow(prompt);
  return Ok{};
}

void NgramCacheDrafter::Follow(std::span<const TokenId> committed) {
  if (committed.size() < followed_) Forget();  // not the sequence that we knew
  for (; followed_ < committed.size(); ++followed_) own_.Append(committed[followed_]);
}

// Fills blend_: what may follow, longest contexts first.
void NgramCacheDrafter::Ask(const End& end) {
  blend_.Begin();
  SuffixIndex::Match match = end.match;
  int own_before = 0, corpus_before = 0;  // how often the longer contexts were followed
  for (int n = std::min(end.size, NgramTable::kLongest); n > 0; --n) {
    while (match.length > n) match = own_.Shorten(match);
    // As often as a longer one: in the same places, so it says no more.
    if (match.length == n && own_.followed(match.state) > own_before) {
      own_before = own_.followed(match.state);
      // Where the end is reached, the guesses before it were right: as good as a longer match.
      const int matched = n == NgramTable::kLongest ? n + end.guesses : n;
      blend_.Say(matched, own_before, own_.branches(match.state));
    }
    if (table_ == nullptr || n < NgramTable::kShortest) continue;
    const NgramTable::Entry entry = table_->Find(std::span(end.last).last(static_cast<size_t>(n)));
    if (entry.followed > corpus_before) {
      corpus_before = entry.followed;
      blend_.Say(n, entry.followed, std::span(entry.branches).first(entry.size), kCorpusDoubt);
    }
  }
}

void NgramCacheDrafter::PushGuesses(const BestFirst<End>::Node* parent, int32_t index,
                                    const End& end) {
  Ask(end);
  for (const Blend::Guess& guess : blend_.guesses()) {
    growing_.Push(parent, index, guess.token, guess.probability, end);
  }
}

Status NgramCacheDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                                  DraftTree& tree) {
  tree.clear();
  Follow(committed);
  growing_.Begin(limits);
  End end = {};
  end.size = static_cast<int>(std::min<size_t>(committed.size(), NgramTable::kLongest));
  std::copy(committed.end() - end.size, committed.end(), end.last.end() - end.size);
  end.match = own_.match();
  PushGuesses(nullptr, -1, end);
  BestFirst<End>::Node node;
  while (growing_.Pop(tree, node)) {
    End& longer = node.what;
    std::rotate(longer.last.begin(), longer.last.begin() + 1, longer.last.end());
    longer.last.back() = node.token;
    longer.size = std::min(longer.size + 1, NgramTable::kLongest);
    longer.match = own_.Advance(longer.match, node.token);
    longer.guesses = node.depth;
    PushGuesses(&node, tree.size() - 1, longer);
  }
  return Ok{};
}

void NgramCacheDrafter::Observe(const Observation& step) { Follow(step.committed); }

void NgramCacheDrafter::Forget() {
  own_.Clear();
  followed_ = 0;
}

}  // namespace hunch
