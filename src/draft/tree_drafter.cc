#include "draft/tree_drafter.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hunch {
namespace {

// Of the noisy scores, under `coupled`: how many stand for the whole row, and how sure a lead is.
constexpr int kRivals = 8;
constexpr float kLeadScale = 1.0f;

}  // namespace

TreeDrafter::TreeDrafter(Target& model, BlockPool& pool, int vocab_size, int context,
                         std::vector<TokenId> end_tokens, const TreeDrafterOptions& options)
    : model_(model),
      vocab_size_(std::min(vocab_size, model.vocab())),
      context_(context),
      options_(options),
      table_(pool),
      end_tokens_(std::move(end_tokens)) {
  HUNCH_CHECK_GE(options.branches, 1);
  HUNCH_CHECK_GE(options.expand, 1);
}

Status TreeDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  Forget();
  params_ = params;
  by_ratio_ = params.acceptance != AcceptanceRule::kCoupled;
  if (constraint_) cursor_.emplace(std::move(constraint_), vocab_size_, prompt.size());
  sampler_.emplace(params, vocab_size_, prompt.size(), end_tokens_, cursor_ ? &*cursor_ : nullptr);
  noise_.emplace(params.seed, params.choice, options_.noise_stream);
  // A step allocates nothing: all that grows has its size from the start.
  path_.reserve(context_);
  table_.Expect(context_ + kMostRows);
  const int nodes = (kMostRows + 1) * options_.branches;
  grown_.Reserve(nodes);
  node_rows_.reserve(nodes);
  row_nodes_.reserve(kMostRows);
  row_tokens_.reserve(kMostRows);
  row_parents_.reserve(kMostRows);
  leaves_.reserve(options_.expand);
  best_.reserve(std::max(kRivals, options_.branches) + 1);
  beliefs_.reserve(std::max(kRivals, options_.branches) + 1);
  return Ok{};
}

void TreeDrafter::Forget() {
  GiveUp();
  table_.Clear();
  row_nodes_.clear();
  sampler_.reset();
  cursor_.reset();
  noise_.reset();
}

void TreeDrafter::GiveUp() {
  reservation_.reset();
  if (phase_ == Phase::kGrows) row_nodes_.clear();
  phase_ = Phase::kDone;
}

Status TreeDrafter::Begin(std::span<const TokenId> committed, const ProposeLimits& limits,
                          DraftTree& tree) {
  GiveUp();
  tree.clear();
  const auto unknown = [&](TokenId token) { return token >= vocab_size_; };
  // A padding id of the target's that this model has no row for.
  if (std::any_of(committed.begin(), committed.end(), unknown)) return Ok{};
  limits_ = limits;
  const int room = context_ - static_cast<int>(committed.size());
  limits_.max_depth = std::min({limits.max_nodes, limits.max_depth, room});
  if (limits_.max_depth <= 0) return Ok{};
  committed_ = committed;
  tree_ = &tree;
  if (Prepare()) phase_ = Phase::kReads;
  return Ok{};
}

int TreeDrafter::wanted_rows() const {
  switch (phase_) {
    case Phase::kReads:
      return to_read();
    case Phase::kGrows:
      return static_cast<int>(leaves_.size());
    case Phase::kDone:
      break;
  }
  return 0;
}

Result<int> TreeDrafter::LayRows(int max_rows, int max_logit_rows, SequenceRows& rows) {
  HUNCH_CHECK(phase_ != Phase::kDone);
  if (phase_ == Phase::kGrows) return LayLeaves(max_rows, max_logit_rows, rows);
  return LayCommitted(max_rows, max_logit_rows, rows);
}

// leaves_, whose KV goes behind that of the rows before.
int TreeDrafter::LayLeaves(int max_rows, int max_logit_rows, SequenceRows& rows) {
  const int wanted = wanted_rows();
  if (wanted > std::min(max_rows, max_logit_rows)) return 0;
  const int before = static_cast<int>(row_nodes_.size());
  node_rows_.resize(grown_.size(), -1);
  for (const int32_t leaf : leaves_) {
    const GrowingTree::Node& node = grown_.node(leaf);
    node_rows_[leaf] = static_cast<int32_t>(row_nodes_.size());
    row_nodes_.push_back(leaf);
    row_tokens_.push_back(node.token);
    row_parents_.push_back(node.parent < 0 ? -1 : node_rows_[node.parent]);
  }
  rows = {.blocks = table_.blocks(),
          .committed = table_.committed(),
          .tokens = row_tokens_,
          .parents = row_parents_,
          .logits_from = before,
          .rows_before = before,
          .features = tree_features()};
  return wanted;
}

void TreeDrafter::Take(const Logits& logits) {
  ++passes_;
  if (phase_ == Phase::kGrows) {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      AddChildren(leaves_[i], logits, static_cast<int>(i));
    }
    NextLeaves();
    return;
  }
  TookCommitted();
  if (to_read() == 0) StartTree(logits);
}

int TreeDrafter::expand() const {
  return std::min({options_.expand, model_.limits().max_logit_rows, model_.limits().max_rows});
}

// `logits`: after the last committed token.
void TreeDrafter::StartTree(const Logits& logits) {
  path_.assign(committed_.begin(), committed_.end());
  grown_.Reset(limits_.max_nodes);
  row_nodes_.clear();
  node_rows_.clear();
  row_tokens_.clear();
  row_parents_.clear();
  AddChildren(-1, logits, 0);
  // Room for all passes at once, so that how far a tree grows does not depend on what it guesses.
  passes_left_ = std::min(limits_.max_nodes - 1, kMostRows / expand());
  while (passes_left_ > 0 && !reservation_) {
    if (auto reserved = table_.Reserve(passes_left_ * expand())) {
      reservation_.emplace(std::move(*reserved));
    } else {
      passes_left_ /= 2;
    }
  }
  NextLeaves();
}

// What the next pass reads; if nothing is worth one, the tree is complete.
void TreeDrafter::NextLeaves() {
  leaves_.clear();
  if (passes_left_-- > 0) grown_.TakeLeaves(expand(), limits_.min_path_probability, leaves_);
  phase_ = Phase::kGrows;
  if (!leaves_.empty()) return;
  if (reservation_) reservation_->Commit(static_cast<int>(row_nodes_.size()));
  reservation_.reset();
  grown_.Give(*tree_);
  phase_ = Phase::kDone;
}

// best_ and beliefs_: what may follow path_, at most options_.branches.
void TreeDrafter::ChooseChildren(const Sampler::Row& row) {
  beliefs_.clear();
  if (Draws()) {
    // The belief of a draw must not depend on what was drawn: the probability that two draws from
    // the law are the same token stands for it, and for each further one that those before failed.
    sampler_->Law(path_, row, law_);
    const int branches = params_.acceptance == AcceptanceRule::kBlock ? 1 : options_.branches;
    sampler_->Draw(path_, row, branches, *noise_, best_);
    double sure = 0;
    for (const float p : law_) sure += static_cast<double>(p) * static_cast<double>(p);
    double belief = std::min(sure, 1.0);
    for (size_t i = 0; i < best_.size(); ++i) {
      beliefs_.push_back(static_cast<float>(belief));
      belief *= 1 - std::min(sure, 1.0);
    }
    law_index_ = static_cast<int32_t>(tree_->law_rows.size() / vocab_size_);
    tree_->law_width = vocab_size_;
    tree_->law_rows.insert(tree_->law_rows.end(), law_.begin(), law_.end());
    return;
  }
  law_index_ = DraftTree::kCertain;
  if (params_.temperature == 0) {
    sampler_->TopPerturbed(path_, row, options_.branches, best_);
    for (const Candidate& guess : best_) beliefs_.push_back(guess.probability);
    return;
  }
  // The target's scores are these, disturbed: a lead over the rivals is worth what it is in a
  // softmax.
  sampler_->TopPerturbed(path_, row, std::max(kRivals, options_.branches), best_);
  float sum = 0;
  for (const Candidate& guess : best_) {
    beliefs_.push_back(std::exp((guess.score - best_.front().score) * kLeadScale));
    sum += beliefs_.back();
  }
  for (float& belief : beliefs_) belief /= sum;
  if (best_.size() > static_cast<size_t>(options_.branches)) best_.resize(options_.branches);
}

void TreeDrafter::AddChildren(int32_t parent, const Logits& logits, int row) {
  path_.resize(committed_.size());
  for (int32_t at = parent; at >= 0; at = grown_.node(at).parent) {
    path_.push_back(grown_.node(at).token);
  }
  std::reverse(path_.begin() + committed_.size(), path_.end());
  const int64_t vocab = model_.vocab();
  const float* maxima =
      logits.maxima == nullptr ? nullptr : logits.maxima + row * LogitBlocks(vocab);
  ChooseChildren({std::span(logits.rows + row * vocab, static_cast<size_t>(vocab_size_)), maxima});
  for (size_t i = 0; i < best_.size(); ++i) {
    const TokenId token = best_[i].token;
    if (grown_.path(parent) * beliefs_[i] < limits_.min_path_probability) return;
    const bool ends = std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end();
    const bool open = !ends && grown_.depth(parent) + 1 < limits_.max_depth;
    grown_.Add(token, parent, beliefs_[i], law_index_, open);
  }
}

}  // namespace hunch
