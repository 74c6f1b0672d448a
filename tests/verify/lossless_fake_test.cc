// Promise 1 on the fake target: the text with any drafter is the text without, token for token and
// logprob for logprob, at every temperature and under every control; and each cell has seen at
// least one accepted and one rejected guess, so that the equality is not of two plain runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "draft/ngram.h"
#include "kernels/ops.h"
#include "support/fake_drafters.h"
#include "support/fake_target.h"

namespace hunch {
namespace {

constexpr int kVocab = 96;
constexpr int kTokens = 64;
constexpr TokenId kEnd = 95, kOtherEnd = 94;
const std::vector<TokenId> kEnds = {kEnd, kOtherEnd};

struct Control {
  const char* name;
  std::function<void(SamplingParams&)> set;
};

const std::vector<Control>& Controls() {
  static const std::vector<Control> controls = {
      {"none", [](SamplingParams&) {}},
      {"repetition", [](SamplingParams& p) { p.repetition_penalty = 1.2f; }},
      {"presence", [](SamplingParams& p) { p.presence_penalty = 0.4f; }},
      {"frequency", [](SamplingParams& p) { p.frequency_penalty = 0.6f; }},
      {"penalties",
       [](SamplingParams& p) {
         p.repetition_penalty = 1.2f;
         p.presence_penalty = 0.4f;
         p.frequency_penalty = 0.1f;
       }},
      {"top_p", [](SamplingParams& p) { p.top_p = 0.9f; }},
      {"top_k", [](SamplingParams& p) { p.top_k = 5; }},
      {"min_p", [](SamplingParams& p) { p.min_p = 0.05f; }},
      {"typical", [](SamplingParams& p) { p.typical_p = 0.9f; }},
      {"logit_bias",
       [](SamplingParams& p) {
         p.logit_bias = {{5, 6.0f}, {6, -100.0f}, {kEnd, 3.0f}};
       }},
      {"banned", [](SamplingParams& p) { p.banned_tokens = {3, 7, 11, 40, 41, 42, 43, 44, 45}; }},
      {"min_tokens", [](SamplingParams& p) { p.min_tokens = 30; }},
      {"all",
       [](SamplingParams& p) {
         p.repetition_penalty = 1.1f;
         p.frequency_penalty = 0.2f;
         p.top_k = 40;
         p.top_p = 0.95f;
         p.min_p = 0.01f;
         p.typical_p = 0.95f;
         p.logit_bias = {{5, 2.0f}};
         p.banned_tokens = {9};
         p.min_tokens = 10;
       }},
  };
  return controls;
}

// What a drafter may know: the target (to be its own draft) and the truth (to be right, or wrong,
// on purpose).
struct Setting {
  const FakeTarget& target;
  std::vector<TokenId> whole;  // prompt and plain output
  uint32_t seed;
};

struct DrafterKind {
  const char* name;
  bool always_right;
  std::function<std::unique_ptr<Drafter>(const Setting&)> make;
};

std::unique_ptr<Drafter> Ngram() { return std::make_unique<NgramDrafter>(NgramOptions{4, 1}); }

const std::vector<DrafterKind>& DrafterKinds() {
  static const std::vector<DrafterKind> kinds = {
      {"ngram", false, [](const Setting&) { return Ngram(); }},
      {"scripted", false,
       [](const Setting& s) {
         return std::make_unique<ScriptedDrafter>(
             TrueContinuation(s.whole, kVocab, [](size_t at) { return at % 5 == 2; }));
       }},
      {"random", false,
       [](const Setting& s) { return std::make_unique<RandomDrafter>(kVocab, s.seed); }},
      {"adversarial", false,
       [](const Setting& s) {
         return std::make_unique<ScriptedDrafter>(Adversary(s.whole, kVocab, kEnds));
       }},
      {"self", true,
       [](const Setting& s) { return std::make_unique<SelfDrafter>(s.target, kEnds); }},
      {"self_tree", false,
       [](const Setting& s) { return std::make_unique<SelfDrafter>(s.target, kEnds, 3); }},
      {"failing", false,
       [](const Setting& s) {
         auto drafter = std::make_unique<ScriptedDrafter>(
             TrueContinuation(s.whole, kVocab, [](size_t at) { return at % 5 == 2; }));
         drafter->FailFrom(4);
         return drafter;
       }},
  };
  return kinds;
}

void ExpectSame(const FakeRun& run, const FakeRun& plain) {
  ASSERT_EQ(run.tokens, plain.tokens);
  ASSERT_EQ(run.finish, plain.finish);
  for (size_t i = 0; i < plain.choices.size(); ++i) {
    ASSERT_EQ(run.choices[i].logprob, plain.choices[i].logprob);
    ASSERT_EQ(run.choices[i].top.size(), plain.choices[i].top.size());
    for (size_t j = 0; j < plain.choices[i].top.size(); ++j) {
      ASSERT_EQ(run.choices[i].top[j].token, plain.choices[i].top[j].token);
      ASSERT_EQ(run.choices[i].top[j].logprob, plain.choices[i].top[j].logprob);
    }
  }
}

// (temperature, drafter kind)
class LosslessFakeTest : public testing::TestWithParam<std::tuple<float, size_t>> {};

TEST_P(LosslessFakeTest, TextIsThatOfPlainDecoding) {
  const auto [temperature, kind_index] = GetParam();
  const DrafterKind& kind = DrafterKinds()[kind_index];
  for (const Control& control : Controls()) {
    SCOPED_TRACE(control.name);
    int accepted = 0, rejected = 0;
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      const FakeTarget target(kVocab, seed);
      const std::vector<TokenId> prompt = target.Prompt(12);
      SamplingParams params;
      params.temperature = temperature;
      params.seed = 1000 + seed;
      params.max_tokens = kTokens;
      params.logprobs = 2;
      control.set(params);
      FakeLimits limits;
      limits.end_tokens = kEnds;
      limits.max_nodes = static_cast<int>(seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : 15);
      const FakeRun plain = RunFake(target, prompt, params, nullptr, limits);
      std::vector<TokenId> whole = prompt;
      whole.insert(whole.end(), plain.tokens.begin(), plain.tokens.end());
      const std::unique_ptr<Drafter> drafter = kind.make({target, whole, seed});
      const FakeRun run = RunFake(target, prompt, params, drafter.get(), limits);
      ExpectSame(run, plain);
      if (kind.always_right) {
        EXPECT_EQ(run.accepted, run.drafted);
      }
      accepted += run.accepted;
      rejected += run.drafted - run.agreed;
    }
    EXPECT_GT(accepted, 0);
    if (kind.always_right) {
      EXPECT_EQ(rejected, 0);
    } else {
      EXPECT_GT(rejected, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, LosslessFakeTest,
                         testing::Combine(testing::Values(0.0f, 0.7f, 1.3f),
                                          testing::Range(size_t{0}, DrafterKinds().size())),
                         [](const testing::TestParamInfo<LosslessFakeTest::ParamType>& info) {
                           return std::string(DrafterKinds()[std::get<1>(info.param)].name) + "_T" +
                                  std::to_string(
                                      static_cast<int>(std::get<0>(info.param) * 10 + 0.5f));
                         });

// Equality under a control says something only if the control changes the text.
TEST(LosslessFakeControlsTest, EachControlChangesTheText) {
  for (const Control& control : Controls()) {
    if (control.name == std::string("none")) continue;
    int changed = 0;
    for (uint32_t seed = 1; seed <= 6; ++seed) {
      const FakeTarget target(kVocab, seed);
      const std::vector<TokenId> prompt = target.Prompt(12);
      SamplingParams params;
      params.temperature = 1.3f;
      params.seed = 1000 + seed;
      params.max_tokens = kTokens;
      FakeLimits limits;
      limits.end_tokens = kEnds;
      const FakeRun none = RunFake(target, prompt, params, nullptr, limits);
      control.set(params);
      changed += RunFake(target, prompt, params, nullptr, limits).tokens != none.tokens;
    }
    EXPECT_GT(changed, 0) << control.name;
  }
}

// Reported logprobs are those of scoring the output from scratch.
TEST(LosslessFakeLogprobsTest, RescoringTheOutputGivesTheReportedLogprobs) {
  const FakeTarget target(kVocab, 3);
  const std::vector<TokenId> prompt = target.Prompt(12);
  SamplingParams params;
  params.temperature = 0.8f;
  params.top_p = 0.9f;
  params.min_p = 0.05f;
  params.max_tokens = kTokens;
  params.logprobs = 0;
  NgramDrafter drafter({4, 1});
  const FakeRun run = RunFake(target, prompt, params, &drafter, {});
  EXPECT_GT(run.accepted, 0);
  std::vector<TokenId> prefix = prompt;
  std::vector<float> row(kVocab);
  for (const TokenChoice& choice : run.choices) {
    target.Row(prefix, row);
    const MaxSum stats = SoftmaxStats(row.data(), kVocab);
    EXPECT_EQ(choice.logprob, (row[choice.token] - stats.max) - Log(stats.sum));
    EXPECT_TRUE(choice.top.empty());
    prefix.push_back(choice.token);
  }
}

// A stop inside an accepted path: whatever ends the text first ends it, wherever it falls in the
// path.
class StopInsidePathTest : public testing::Test {
 protected:
  // The true continuation, eight at a time, not told where the room ends.
  void Compare(SamplingParams params, FakeLimits limits, size_t wanted_tokens,
               FinishReason wanted) {
    limits.max_nodes = 8;
    limits.clamp_depth = false;
    const FakeRun plain = RunFake(target_, prompt_, params, nullptr, limits);
    ASSERT_EQ(plain.tokens.size(), wanted_tokens);
    ASSERT_EQ(plain.finish, wanted);
    ScriptedDrafter drafter(TrueContinuation(whole_, kVocab));
    const FakeRun run = RunFake(target_, prompt_, params, &drafter, limits);
    ExpectSame(run, plain);
    EXPECT_LE(run.accepted, run.drafted);
    if (wanted_tokens > 1) {
      EXPECT_GT(run.accepted, 0);
    }
  }
  void SetUp() override {
    params_.max_tokens = 40;
    whole_ = prompt_;
    const FakeRun run = RunFake(target_, prompt_, params_, nullptr, {});
    whole_.insert(whole_.end(), run.tokens.begin(), run.tokens.end());
  }

  FakeTarget target_{kVocab, 9};
  std::vector<TokenId> prompt_ = target_.Prompt(12);
  std::vector<TokenId> whole_;
  SamplingParams params_;
};

TEST_F(StopInsidePathTest, EndTokenAtEveryPlaceOfTheBlock) {
  for (size_t at = 0; at < 20; ++at) {
    FakeTarget target(kVocab, 9);
    target.Force(prompt_.size() + at, kEnd);
    target_ = target;
    SamplingParams ignoring = params_;
    ignoring.ignore_eos = true;
    // The truth goes on behind the end token, and so does the drafter.
    whole_ = prompt_;
    const FakeRun run = RunFake(target_, prompt_, ignoring, nullptr, {});
    whole_.insert(whole_.end(), run.tokens.begin(), run.tokens.end());
    FakeLimits limits;
    limits.end_tokens = kEnds;
    Compare(params_, limits, at + 1, FinishReason::kStop);
    Compare(ignoring, limits, 40, FinishReason::kLength);
    SamplingParams by_id = params_;
    by_id.stop_token_ids = {kEnd};
    Compare(by_id, {}, at + 1, FinishReason::kStop);
  }
}

TEST_F(StopInsidePathTest, MaxTokensAndContextEnd) {
  for (const int max_tokens : {1, 2, 5, 8, 9, 10, 17}) {
    params_.max_tokens = max_tokens;
    Compare(params_, {}, static_cast<size_t>(max_tokens), FinishReason::kLength);
    params_.max_tokens = -1;
    FakeLimits limits;
    limits.context = prompt_.size() + static_cast<size_t>(max_tokens);
    Compare(params_, limits, static_cast<size_t>(max_tokens), FinishReason::kLength);
  }
}

TEST_F(StopInsidePathTest, TheEarliestOfStopAndCapWins) {
  FakeLimits limits;
  limits.stop = [](std::span<const TokenId> output) { return output.size() == 3; };
  params_.max_tokens = 5;
  Compare(params_, limits, 3, FinishReason::kStop);
  limits.stop = [](std::span<const TokenId> output) { return output.size() == 7; };
  Compare(params_, limits, 5, FinishReason::kLength);
  limits.stop = [](std::span<const TokenId> output) { return output.size() == 5; };
  Compare(params_, limits, 5, FinishReason::kStop);
}

// A drafted end token is a guess like any other.
TEST_F(StopInsidePathTest, ADraftedEndTokenDoesNotEndTheText) {
  FakeLimits limits;
  limits.end_tokens = kEnds;
  params_.max_tokens = 12;
  const FakeRun plain = RunFake(target_, prompt_, params_, nullptr, limits);
  ASSERT_EQ(plain.finish, FinishReason::kLength);
  ScriptedDrafter behind([&](std::span<const TokenId> committed, const ProposeLimits&) {
    return ChainOf(std::vector<TokenId>{whole_[committed.size()], kEnd});
  });
  const FakeRun run = RunFake(target_, prompt_, params_, &behind, limits);
  ExpectSame(run, plain);
  EXPECT_EQ(run.steps.size(), 6u);
  ScriptedDrafter alone([](auto, const auto&) { return ChainOf(std::vector<TokenId>{kEnd}); });
  ExpectSame(RunFake(target_, prompt_, params_, &alone, limits), plain);
}

// "tick tock tick tock": penalties see each accepted token once, however many a step commits.
TEST(PenaltiesUnderSpeculationTest, HistoryGrowsByEachAcceptedTokenOnce) {
  const FakeTarget target(kVocab, 4);
  std::vector<TokenId> prompt;
  for (int i = 0; i < 20; ++i) prompt.push_back(i % 2 == 0 ? 10 : 20);
  for (int which = 1; which < 8; ++which) {
    SamplingParams params;
    params.max_tokens = 64;
    if (which & 1) params.frequency_penalty = 0.6f;
    if (which & 2) params.presence_penalty = 0.4f;
    if (which & 4) params.repetition_penalty = 1.2f;
    const FakeRun plain = RunFake(target, prompt, params, nullptr, {});
    SamplingParams none;
    none.max_tokens = 64;
    EXPECT_NE(plain.tokens, RunFake(target, prompt, none, nullptr, {}).tokens);
    std::vector<TokenId> whole = prompt;
    whole.insert(whole.end(), plain.tokens.begin(), plain.tokens.end());
    for (const int nodes : {1, 4, 8}) {
      FakeLimits limits;
      limits.max_nodes = nodes;
      ScriptedDrafter right(TrueContinuation(whole, kVocab));
      ScriptedDrafter half(TrueContinuation(whole, kVocab, [](size_t at) { return at % 7 == 3; }));
      ExpectSame(RunFake(target, prompt, params, &right, limits), plain);
      ExpectSame(RunFake(target, prompt, params, &half, limits), plain);
    }
  }
}

}  // namespace
}  // namespace hunch
