#include "support/fake_target.h"

#include <algorithm>

#include "base/check.h"
#include "sampling/sampler.h"
#include "verify/accept.h"
#include "verify/trim_tree.h"

namespace hunch {
namespace {

uint64_t Mix(uint64_t x) {  // the finaliser of MurmurHash3
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

// In [0, 1), exact in fp32.
float Unit(uint64_t hash) { return static_cast<float>(Mix(hash) >> 40) * 0x1p-24f; }

// Decodes one sequence step by step.
class FakeLoop {
 public:
  FakeLoop(const FakeTarget& target, std::span<const TokenId> prompt, const SamplingParams& params,
           Drafter* drafter, const FakeLimits& limits)
      : target_(target),
        prompt_len_(prompt.size()),
        params_(params),
        drafter_(drafter),
        limits_(limits),
        sampler_(params, target.vocab(), prompt.size(), limits.end_tokens),
        committed_(prompt.begin(), prompt.end()) {}

  FakeRun Run() {
    if (drafter_ != nullptr) DropOnError(drafter_->Start(committed_, params_));
    if (Room() == 0) run_.finish = FinishReason::kLength;
    while (run_.finish == FinishReason::kNone) Step();
    if (drafter_ != nullptr) drafter_->Forget();
    return std::move(run_);
  }

 private:
  size_t Room() const {
    const size_t context = limits_.context - std::min(limits_.context, committed_.size());
    if (params_.max_tokens < 0) return context;
    return std::min(context, static_cast<size_t>(params_.max_tokens) - run_.tokens.size());
  }

  void DropOnError(const Status& status) {
    if (status.ok()) return;
    run_.drafter_error = status.error();
    drafter_->Forget();
    drafter_ = nullptr;
  }

  DraftTree Guess() {
    DraftTree tree;
    if (drafter_ == nullptr) return tree;
    const int depth = limits_.clamp_depth ? static_cast<int>(std::min<size_t>(Room() - 1, 1000))
                                          : limits_.max_nodes;
    DropOnError(drafter_->Propose(committed_, {limits_.max_nodes, depth, 0.0f}, tree));
    if (drafter_ == nullptr) tree.clear();
    TreeTrimmer().Trim(limits_.max_nodes, depth, target_.vocab(), tree);
    return tree;
  }

  // Row 0 follows the committed tokens, row i + 1 follows node i.
  std::vector<float> Forward(const DraftTree& tree) const {
    const size_t vocab = static_cast<size_t>(target_.vocab());
    std::vector<float> rows((static_cast<size_t>(tree.size()) + 1) * vocab);
    target_.Row(committed_, std::span(rows).first(vocab));
    for (int node = 0; node < tree.size(); ++node) {
      std::vector<TokenId> path;
      for (int32_t at = node; at >= 0; at = tree.parents[at]) path.push_back(tree.tokens[at]);
      std::vector<TokenId> prefix = committed_;
      prefix.insert(prefix.end(), path.rbegin(), path.rend());
      target_.Row(prefix, std::span(rows).subspan((static_cast<size_t>(node) + 1) * vocab, vocab));
    }
    return rows;
  }

  void Commit(const TokenChoice& choice) {
    committed_.push_back(choice.token);
    run_.tokens.push_back(choice.token);
    run_.choices.push_back(choice);
    const auto contains = [&](const std::vector<TokenId>& list) {
      return std::find(list.begin(), list.end(), choice.token) != list.end();
    };
    if ((!params_.ignore_eos && contains(limits_.end_tokens)) || contains(params_.stop_token_ids) ||
        (limits_.stop && limits_.stop(run_.tokens))) {
      run_.finish = FinishReason::kStop;
    } else if (Room() == 0) {
      run_.finish = FinishReason::kLength;
    }
  }

  void Step() {
    const DraftTree tree = Guess();
    const std::vector<float> rows = Forward(tree);
    Verdict verdict;
    AcceptCoupled(tree, {rows.data(), target_.vocab(), target_.vocab()}, committed_, sampler_,
                  verdict);
    HUNCH_CHECK_EQ(verdict.tokens.size(), verdict.path.size() + 1);
    FakeStep stats;
    stats.drafted = tree.size();
    for (const TokenChoice& choice : verdict.tokens) {
      if (run_.finish != FinishReason::kNone) break;
      Commit(choice);
      ++stats.committed;
    }
    run_.agreed += static_cast<int>(verdict.path.size());
    stats.accepted = std::min(stats.committed, static_cast<int>(verdict.path.size()));
    verdict.path.resize(static_cast<size_t>(stats.accepted));
    run_.drafted += stats.drafted;
    run_.accepted += stats.accepted;
    run_.steps.push_back(stats);
    if (drafter_ != nullptr) drafter_->Observe({tree, verdict.path, committed_});
  }

  const FakeTarget& target_;
  size_t prompt_len_;
  const SamplingParams& params_;
  Drafter* drafter_;
  const FakeLimits& limits_;
  Sampler sampler_;
  std::vector<TokenId> committed_;
  FakeRun run_;
};

}  // namespace

void FakeTarget::Row(std::span<const TokenId> prefix, std::span<float> row) const {
  HUNCH_CHECK_EQ(row.size(), static_cast<size_t>(vocab_));
  uint64_t whole = seed_;
  const size_t seen = std::min(look_back_.value_or(prefix.size()), prefix.size());
  for (const TokenId token : prefix.last(seen))
    whole = Mix(whole ^ static_cast<uint64_t>(token + 1));
  const uint64_t last = prefix.empty() ? 0 : static_cast<uint64_t>(prefix.back()) % 16;
  const uint64_t local = Mix(seed_ * 31 + last);
  for (int token = 0; token < vocab_; ++token) {
    const uint64_t id = static_cast<uint64_t>(token) << 32;
    row[token] = 2 * Unit(local ^ id) + Unit(whole ^ id);
  }
  // The tokens that stand out after `last`.
  const float bonus[] = {8.0f, 7.0f, 6.0f, 5.0f};
  for (uint64_t i = 0; i < 4; ++i) row[Mix(local + i) % static_cast<uint64_t>(vocab_)] += bonus[i];
  if (const auto forced = forced_.find(prefix.size()); forced != forced_.end()) {
    row[forced->second] += 1000.0f;
  }
}

std::vector<TokenId> FakeTarget::Prompt(size_t length) const {
  std::vector<TokenId> prompt = {1};
  std::vector<float> row(static_cast<size_t>(vocab_));
  while (prompt.size() < length) {
    Row(prompt, row);
    prompt.push_back(static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return prompt;
}

FakeRun RunFake(const FakeTarget& target, std::span<const TokenId> prompt,
                const SamplingParams& params, Drafter* drafter, const FakeLimits& limits) {
  return FakeLoop(target, prompt, params, drafter, limits).Run();
}

}  // namespace hunch
