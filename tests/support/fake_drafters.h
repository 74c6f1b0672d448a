// Drafters for tests: what the test dictates, chance, malice, and the target itself. Not thread
// safe.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_DRAFTERS_H_
#define HUNCH_TESTS_SUPPORT_FAKE_DRAFTERS_H_

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "draft/drafter.h"
#include "support/fake_target.h"

namespace hunch {

// A chain of `tokens`, each believed with 1/2.
DraftTree ChainOf(std::span<const TokenId> tokens);

// Proposes what a function says, and counts what it is told.
class ScriptedDrafter : public Drafter {
 public:
  using Script = std::function<DraftTree(std::span<const TokenId> committed, const ProposeLimits&)>;
  explicit ScriptedDrafter(Script script) : script_(std::move(script)) {}

  // From call number `call` (0: the first) on, Propose fails.
  void FailFrom(int call) { fail_from_ = call; }
  void FailStart() { fail_start_ = true; }

  std::string_view name() const override { return "scripted"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation& step) override;
  void Forget() override { ++forgets; }

  int starts = 0;
  int proposals = 0;
  int observations = 0;
  int forgets = 0;

 private:
  Script script_;
  std::optional<int> fail_from_;
  bool fail_start_ = false;
};

// Proposes the true continuation: `whole` is the prompt and the output of plain decoding. Where
// `wrong` says so (by output position) the token is replaced by the next one of the vocabulary.
ScriptedDrafter::Script TrueContinuation(std::vector<TokenId> whole, int vocab,
                                         std::function<bool(size_t position)> wrong = nullptr);

// Trees of random shape and random tokens.
class RandomDrafter : public Drafter {
 public:
  RandomDrafter(int vocab, uint32_t seed) : vocab_(vocab), random_(seed) {}
  std::string_view name() const override { return "random"; }
  Status Start(std::span<const TokenId>, const SamplingParams&) override { return Ok{}; }
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation&) override {}
  void Forget() override {}

 private:
  int vocab_;
  std::mt19937 random_;
};

// Knows the truth and uses it badly, another way each step: right and wrong tokens in turn, end
// tokens everywhere, siblings at every depth, trees that break every limit and invariant, nothing
// at all.
ScriptedDrafter::Script Adversary(std::vector<TokenId> whole, int vocab,
                                  std::vector<TokenId> end_tokens);

// The target as its own drafter, choosing with the target's noise: a chain, or with `siblings` > 1
// a tree whose best child at each depth is expanded. Stops at end tokens.
class SelfDrafter : public Drafter {
 public:
  SelfDrafter(const FakeTarget& target, std::vector<TokenId> end_tokens, int siblings = 1)
      : target_(target), end_tokens_(std::move(end_tokens)), siblings_(siblings) {}
  std::string_view name() const override { return "self"; }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override;
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override;
  void Observe(const Observation&) override {}
  void Forget() override { sampler_.reset(); }

 private:
  const FakeTarget& target_;
  std::vector<TokenId> end_tokens_;
  int siblings_;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_DRAFTERS_H_
