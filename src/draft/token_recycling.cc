#include "draft/token_recycling.h"

#include <algorithm>
#include <utility>

namespace hunch {
namespace {

constexpr int kSuccessors = SuccessorTable::kSuccessors;

// How often the token that came was the one at each rank of a list, by what else was known: counted
// on the 1.5B's greedy text over one prompt of each of eight kinds (760 positions, trees of 63
// nodes), small counts smoothed. A list's tokens count only where no earlier list has them.
struct Beliefs {
  float row_of_two[kSuccessors];   // the target's successors of the last two tokens
  float text_of_two[kSuccessors];  // what followed them in the prompt
  float row_of_one[kSuccessors];   // the same for the last token alone
  float text_of_one[kSuccessors];
};
constexpr Beliefs kRowAndTextOfTwo = {
    {0.64f, 0.085f, 0.04f, 0.035f, 0.025f, 0.01f, 0.008f, 0.007f},
    {0.33f, 0.14f, 0.08f, 0.05f, 0.03f, 0.02f, 0.015f, 0.01f},
    {0.02f, 0.018f, 0.01f, 0.01f, 0.006f, 0.004f, 0.003f, 0.003f},
    {0.008f, 0.007f, 0.006f, 0.005f, 0.004f, 0.003f, 0.002f, 0.002f}};
constexpr Beliefs kRowOfTwo = {{0.58f, 0.14f, 0.03f, 0.03f, 0.02f, 0.015f, 0.012f, 0.01f},
                               {},
                               {0.13f, 0.08f, 0.02f, 0.02f, 0.01f, 0.01f, 0.01f, 0.008f},
                               {0.015f, 0.013f, 0.012f, 0.01f, 0.008f, 0.006f, 0.005f, 0.004f}};
constexpr Beliefs kTextOfTwo = {{},
                                {0.83f, 0.5f, 0.35f, 0.2f, 0.1f, 0.06f, 0.04f, 0.03f},
                                {0.065f, 0.04f, 0.02f, 0.018f, 0.01f, 0.008f, 0.006f, 0.005f},
                                {0.01f, 0.009f, 0.008f, 0.007f, 0.006f, 0.005f, 0.004f, 0.003f}};
constexpr Beliefs kRowOfOne = {{},
                               {},
                               {0.4f, 0.067f, 0.05f, 0.025f, 0.015f, 0.013f, 0.012f, 0.01f},
                               {0.05f, 0.03f, 0.02f, 0.02f, 0.012f, 0.01f, 0.008f, 0.007f}};
constexpr Beliefs kTextOfOne = {{}, {}, {}, {0.3f, 0.2f, 0.12f, 0.08f, 0.06f, 0.04f, 0.03f, 0.02f}};

const Beliefs& BeliefsFor(bool row_of_two, bool text_of_two, bool row_of_one) {
  if (row_of_two) return text_of_two ? kRowAndTextOfTwo : kRowOfTwo;
  if (text_of_two) return kTextOfTwo;
  return row_of_one ? kRowOfOne : kTextOfOne;
}

constexpr float kMostBelief = 0.99f;  // in all that may follow a context

constexpr size_t kMostGuesses = 4 * kSuccessors;

// The token `back` places before the end of the path to `node` (0: the node's own; the path goes on
// in the committed tokens), or -1.
TokenId PathToken(const DraftTree& tree, int32_t node, size_t back,
                  std::span<const TokenId> committed) {
  for (; node >= 0 && back > 0; --back) node = tree.parents[node];
  if (node >= 0) return tree.tokens[node];
  return back < committed.size() ? committed[committed.size() - 1 - back] : -1;
}

}  // namespace

TokenRecyclingDrafter::TokenRecyclingDrafter(std::shared_ptr<SuccessorTable> shared)
    : rows_(std::move(shared)), shared_(rows_ != nullptr), text_(kTextContexts) {
  if (!shared_) rows_ = std::make_shared<SuccessorTable>(kRowContexts);
  guesses_.reserve(kMostGuesses);
  heap_.reserve((kMostNodes + 1) * kMostGuesses);
}

Status TokenRecyclingDrafter::Start(std::span<const TokenId> prompt, const SamplingParams&) {
  Forget();
  for (size_t i = 1; i < prompt.size(); ++i) {
    text_.PutFirst(SuccessorTable::Key(-1, prompt[i - 1]), prompt[i]);
    if (i > 1) text_.PutFirst(SuccessorTable::Key(prompt[i - 2], prompt[i - 1]), prompt[i]);
  }
  return Ok{};
}

void TokenRecyclingDrafter::Forget() {
  text_.Clear();
  if (!shared_) rows_->Clear();
}

void TokenRecyclingDrafter::GatherFrom(const SuccessorTable::Successors* successors,
                                       const float* beliefs) {
  if (successors == nullptr) return;
  for (int rank = 0; rank < kSuccessors && (*successors)[rank] >= 0; ++rank) {
    const TokenId token = (*successors)[rank];
    const auto same = [&](const Guess& guess) { return guess.token == token; };
    if (std::none_of(guesses_.begin(), guesses_.end(), same))
      guesses_.push_back({token, beliefs[rank]});
  }
}

void TokenRecyclingDrafter::Gather(Context context) {
  guesses_.clear();
  const uint64_t one = SuccessorTable::Key(-1, context.last);
  const uint64_t two = SuccessorTable::Key(context.before, context.last);
  const bool has_two = context.before >= 0;
  const auto* row_of_two = has_two ? rows_->Find(two) : nullptr;
  const auto* text_of_two = has_two ? text_.Find(two) : nullptr;
  const auto* row_of_one = rows_->Find(one);
  const Beliefs& beliefs =
      BeliefsFor(row_of_two != nullptr, text_of_two != nullptr, row_of_one != nullptr);
  GatherFrom(row_of_two, beliefs.row_of_two);
  GatherFrom(text_of_two, beliefs.text_of_two);
  GatherFrom(row_of_one, beliefs.row_of_one);
  GatherFrom(text_.Find(one), beliefs.text_of_one);
  float sum = 0;
  for (const Guess& guess : guesses_) sum += guess.belief;
  if (sum <= kMostBelief) return;
  for (Guess& guess : guesses_) guess.belief *= kMostBelief / sum;
}

bool TokenRecyclingDrafter::Worse(const Candidate& a, const Candidate& b) {
  return a.path != b.path ? a.path < b.path : a.order > b.order;
}

void TokenRecyclingDrafter::Expand(const DraftTree& tree, int32_t node, float path, int depth,
                                   std::span<const TokenId> committed,
                                   const ProposeLimits& limits) {
  if (depth >= limits.max_depth) return;
  Gather({PathToken(tree, node, 1, committed), PathToken(tree, node, 0, committed)});
  for (const Guess& guess : guesses_) {
    const float down = path * guess.belief;
    if (down < limits.min_path_probability) continue;
    heap_.push_back({down, offered_++, node, depth + 1, guess});
    std::push_heap(heap_.begin(), heap_.end(), Worse);
  }
}

Status TokenRecyclingDrafter::Propose(std::span<const TokenId> committed,
                                      const ProposeLimits& limits, DraftTree& tree) {
  tree.clear();
  heap_.clear();
  offered_ = 0;
  if (committed.empty()) return Ok{};
  const int most = std::min(limits.max_nodes, kMostNodes);
  Expand(tree, -1, 1.0f, 0, committed, limits);
  while (!heap_.empty() && tree.size() < most) {
    std::pop_heap(heap_.begin(), heap_.end(), Worse);
    const Candidate best = heap_.back();
    heap_.pop_back();
    const int node = tree.Add(best.guess.token, best.parent, best.guess.belief);
    Expand(tree, node, best.path, best.depth, committed, limits);
  }
  return Ok{};
}

// `before`: the committed tokens of before the step.
void TokenRecyclingDrafter::Learn(const Observation& step, int32_t node,
                                  std::span<const TokenId> before) {
  const size_t count = static_cast<size_t>(step.top_count);
  const auto row = step.top.subspan(static_cast<size_t>(node + 1) * count, count);
  if (row.front() < 0) return;
  SuccessorTable::Successors successors;
  successors.fill(-1);
  std::copy_n(row.begin(), std::min<size_t>(count, kSuccessors), successors.begin());
  const TokenId last = PathToken(step.tree, node, 0, before);
  const TokenId earlier = PathToken(step.tree, node, 1, before);
  rows_->Put(SuccessorTable::Key(-1, last), successors);
  if (earlier >= 0) rows_->Put(SuccessorTable::Key(earlier, last), successors);
}

void TokenRecyclingDrafter::Observe(const Observation& step) {
  const size_t added = step.path.size() + 1;
  if (step.top_count < 1 || step.committed.size() <= added) return;
  const size_t rows = step.top.size() / static_cast<size_t>(step.top_count);
  if (rows != static_cast<size_t>(step.tree.size()) + 1) return;
  const auto before = step.committed.first(step.committed.size() - added);
  // Of rows with one context the last counts: what became text comes after what did not.
  for (int32_t node = step.tree.size() - 1; node >= 0; --node) Learn(step, node, before);
  Learn(step, -1, before);
  for (const int32_t node : step.path) Learn(step, node, before);
}

}  // namespace hunch
