// The rules `ratio` and `block` through the whole step, with every drafter: the text of an engine
// follows the target's exact law. A toy target of 8 tokens whose rows depend on the last two, so
// that the text is a Markov chain whose every transition is known; chi-square over all of them,
// with fixed seeds, at p > 1e-5. The same test catches a step that breaks the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "draft/draft_model.h"
#include "draft/lookahead.h"
#include "draft/ngram.h"
#include "draft/ngram_cache.h"
#include "draft/suffix.h"
#include "draft/token_recycling.h"
#include "engine/engine.h"
#include "support/chi_square.h"
#include "support/fake_constraint.h"
#include "support/fake_kv_target.h"

namespace hunch {
namespace {

using Drafters = std::vector<std::unique_ptr<Drafter>>;

constexpr int kVocab = 8;
constexpr int kBlocks = 64;
constexpr int kContext = 160;
constexpr int kRequests = 200, kAtATime = 4;
constexpr ForwardLimits kLimits = {.max_rows = 64, .max_logit_rows = 48};
constexpr double kSigmas = 4.265;  // p = 1e-5
constexpr double kHuge = 15;       // p < 1e-50

FakeTarget Toy(uint64_t seed) {
  FakeTarget toy(kVocab, seed);
  toy.LookBack(2);
  return toy;
}

// Breaks the rule at its root: that a guess is judged by the law that it came from. It says that
// everything was drawn from the uniform law.
class Liar : public Drafter {
 public:
  explicit Liar(std::unique_ptr<Drafter> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return inner_->name(); }
  Status Start(std::span<const TokenId> prompt, const SamplingParams& params) override {
    return inner_->Start(prompt, params);
  }
  Status Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                 DraftTree& tree) override {
    HUNCH_RETURN_IF_ERROR(inner_->Propose(committed, limits, tree));
    tree.law_width = kVocab;
    tree.law_rows.assign(kVocab, 1.0f / kVocab);
    tree.laws.assign(tree.tokens.size(), 0);
    return Ok{};
  }
  void Observe(const Observation& step) override { inner_->Observe(step); }
  void Forget() override { inner_->Forget(); }
  int top_wanted() const override { return inner_->top_wanted(); }

 private:
  std::unique_ptr<Drafter> inner_;
};

// The drafters by name, '+' between those of a list.
const char* const kDrafters[] = {
    "ngram",     "suffix",      "ngram_cache", "token_recycling",
    "lookahead", "draft_model", "draft_tree",  "suffix+token_recycling+draft_model"};

using Cell = std::tuple<const char*, AcceptanceRule>;

class RatioLaw : public testing::TestWithParam<Cell> {
 protected:
  struct Outcome {
    ChiSquare law;
    int64_t accepted, rejected;
  };

  std::unique_ptr<Drafter> Make(const std::string& name) {
    if (name == "ngram") return std::make_unique<NgramDrafter>(NgramOptions{4, 1});
    if (name == "suffix") return std::make_unique<SuffixDrafter>(kContext);
    if (name == "ngram_cache") return std::make_unique<NgramCacheDrafter>(kContext);
    if (name == "token_recycling") return std::make_unique<TokenRecyclingDrafter>();
    if (name == "lookahead") return std::make_unique<LookaheadDrafter>(LookaheadOptions{2, 3, 2});
    HUNCH_CHECK(name == "draft_model" || name == "draft_tree") << name;
    const int branches = name == "draft_tree" ? 3 : 1;
    return std::make_unique<DraftModel>(draft_, draft_pool_, kVocab, kContext,
                                        std::vector<TokenId>{},
                                        TreeDrafterOptions{branches, branches});
  }
  Drafters MakeAll(bool lie) {
    Drafters drafters;
    std::string names = std::get<0>(GetParam());
    while (!names.empty()) {
      const size_t end = std::min(names.find('+'), names.size());
      auto drafter = Make(names.substr(0, end));
      if (lie) drafter = std::make_unique<Liar>(std::move(drafter));
      drafters.push_back(std::move(drafter));
      names.erase(0, end + 1);
    }
    return drafters;
  }

  Outcome Run(bool lie) {
    Engine engine(target_, {.vocab_size = kVocab, .max_model_len = kContext, .kv_blocks = kBlocks});
    std::vector<double> counts(kVocab * kVocab * kVocab);
    Outcome outcome = {};
    for (int first = 0; first < kRequests; first += kAtATime) {
      std::vector<Engine::RequestId> ids;
      for (int i = first; i < first + kAtATime; ++i) {
        EngineRequest request;
        request.prompt = {1, 2, 3, 1, 2, 3, 4, 1};
        request.params = params_;
        request.params.seed = static_cast<uint64_t>(i);
        request.params.acceptance = std::get<1>(GetParam());
        request.drafters = MakeAll(lie);
        request.budget = {.policy = Policy::kFixed, .fixed_nodes = 6, .acceptance_warning = 0};
        if (constrained_) {
          request.constraint = std::make_unique<FakeConstraint>(
              kVocab,
              [last = request.prompt.back()](const std::vector<TokenId>& output, TokenId token) {
                return MayFollow(output.empty() ? last : output.back(), token);
              });
        }
        ids.push_back(engine.Submit(std::move(request)).value());
      }
      while (engine.Step()) {
      }
      for (const Engine::RequestId id : ids) {
        const auto result = engine.Take(id);
        EXPECT_EQ(result->stats.drafter_errors, 0);
        outcome.accepted += result->stats.accepted_tokens;
        outcome.rejected += result->stats.draft_tokens - result->stats.accepted_tokens;
        const std::vector<TokenId>& text = result->tokens;
        for (size_t at = result->prompt_tokens; at < text.size(); ++at) {
          ++counts[StateOf(text[at - 2], text[at - 1]) * kVocab + static_cast<size_t>(text[at])];
        }
      }
    }
    outcome.law = ChiSquareOfText(counts);
    return outcome;
  }

  static size_t StateOf(TokenId before, TokenId last) {
    return static_cast<size_t>(before * kVocab + last);
  }
  static bool MayFollow(TokenId last, TokenId token) { return (token + 3 * last) % 4 != 0; }
  ChiSquare ChiSquareOfText(const std::vector<double>& counts) const {
    Sampler sampler(params_, kVocab, 0, {});
    ChiSquare all = {0, 0};
    for (TokenId before = 0; before < kVocab; ++before) {
      for (TokenId last = 0; last < kVocab; ++last) {
        std::vector<float> row(kVocab), law;
        const TokenId prefix[] = {before, last};
        toy_.Row(prefix, row);
        for (TokenId token = 0; token < kVocab; ++token) {
          if (constrained_ && !MayFollow(last, token)) row[token] = -INFINITY;
        }
        sampler.Law(prefix, row, law);
        const auto own = counts.begin() + static_cast<ptrdiff_t>(StateOf(before, last) * kVocab);
        const ChiSquare one = ChiSquareOf({own, own + kVocab}, {law.begin(), law.end()});
        if (one.degrees < 1) continue;
        all.statistic += one.statistic;
        all.degrees += one.degrees;
      }
    }
    return all;
  }

  FakeTarget toy_ = Toy(5);
  FakeKvTarget target_{toy_, kBlocks, kLimits};
  FakeKvTarget draft_{Toy(6), kBlocks, kLimits};  // of another opinion
  BlockPool draft_pool_{kBlocks};
  bool constrained_ = false;
  SamplingParams params_ = {.temperature = 6, .max_tokens = 120, .ignore_eos = true};
};

TEST_P(RatioLaw, TheTextFollowsTheTargetsLaw) {
  const Outcome outcome = Run(false);
  EXPECT_LT(outcome.law.Sigmas(), kSigmas);
  EXPECT_GT(outcome.law.degrees, 250) << "too few tokens to say anything";
  EXPECT_GT(outcome.accepted, kRequests);
  EXPECT_GT(outcome.rejected, kRequests);
}

// The drafters know nothing of the constraint: what they drew is judged all the same.
TEST_P(RatioLaw, UnderAConstraintTheTextFollowsTheLawOfWhatIsAllowed) {
  constrained_ = true;
  const Outcome outcome = Run(false);
  EXPECT_LT(outcome.law.Sigmas(), kSigmas);
  EXPECT_GT(outcome.law.degrees, 150) << "too few tokens to say anything";
  EXPECT_GT(outcome.accepted, kRequests);
  EXPECT_GT(outcome.rejected, kRequests);
}

TEST_P(RatioLaw, AGuessThatLiesAboutItsLawIsCaught) {
  const Outcome outcome = Run(true);
  EXPECT_GT(outcome.law.Sigmas(), kHuge);
}

std::string CellName(const testing::TestParamInfo<Cell>& info) {
  std::string name = std::get<0>(info.param);
  for (char& c : name) c = c == '+' ? '_' : c;
  return name + (std::get<1>(info.param) == AcceptanceRule::kRatio ? "_ratio" : "_block");
}

INSTANTIATE_TEST_SUITE_P(Cells, RatioLaw,
                         testing::Combine(testing::ValuesIn(kDrafters),
                                          testing::Values(AcceptanceRule::kRatio,
                                                          AcceptanceRule::kBlock)),
                         CellName);

}  // namespace
}  // namespace hunch
