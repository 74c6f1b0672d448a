// Under a constraint everything is as if the target had given the forbidden tokens minus infinity.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "sampling/sampler.h"
#include "support/fake_constraint.h"

namespace hunch {
namespace {

constexpr int kVocab = 200;
constexpr TokenId kEnd = 199;

ConstraintCursor Cursor(ConstraintRule rule, size_t prompt = 1) {
  return ConstraintCursor(std::make_unique<FakeConstraint>(kVocab, std::move(rule)), kVocab,
                          prompt);
}

struct Setting {
  const char* name;
  std::function<void(SamplingParams&)> set;
};

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = {
      {"greedy", [](SamplingParams&) {}},
      {"sampled", [](SamplingParams& p) { p.temperature = 0.9f; }},
      {"top_k",
       [](SamplingParams& p) {
         p.temperature = 1;
         p.top_k = 5;
       }},
      {"top_p",
       [](SamplingParams& p) {
         p.temperature = 1;
         p.top_p = 0.8f;
       }},
      {"min_p",
       [](SamplingParams& p) {
         p.temperature = 1;
         p.min_p = 0.1f;
       }},
      {"typical",
       [](SamplingParams& p) {
         p.temperature = 1;
         p.typical_p = 0.8f;
       }},
      {"processed",
       [](SamplingParams& p) {
         p.temperature = 0.7f;
         p.repetition_penalty = 1.3f;
         p.frequency_penalty = 0.3f;
         p.logit_bias = {{3, 4.0f}, {60, -4.0f}};
         p.banned_tokens = {7, 8, 9};
         p.min_tokens = 3;
       }},
  };
  return settings;
}

// The row and the prefix of one case.
struct Case {
  explicit Case(std::mt19937& random) : row(kVocab), masked(kVocab) {
    std::normal_distribution<float> logit(0, 3);
    for (float& x : row) x = logit(random);
    for (unsigned n = 1 + random() % 5; n > 0; --n) {
      prefix.push_back(static_cast<TokenId>(random() % kVocab));
    }
    // So that the prefix itself is allowed.
    const TokenId last = prefix.back();
    rule = [last, size = prefix.size()](const std::vector<TokenId>& output, TokenId token) {
      return output.size() + 1 < size || HashRule({last}, token);
    };
    for (TokenId token = 0; token < kVocab; ++token) {
      masked[token] = HashRule({last}, token) ? row[token] : -INFINITY;
    }
  }
  std::vector<float> row, masked;
  std::vector<TokenId> prefix;
  ConstraintRule rule;
};

void ExpectSame(const TokenChoice& a, const TokenChoice& b) {
  ASSERT_EQ(a.token, b.token);
  ASSERT_EQ(a.logprob, b.logprob);
  ASSERT_EQ(a.top.size(), b.top.size());
  for (size_t i = 0; i < a.top.size(); ++i) {
    ASSERT_EQ(a.top[i].token, b.top[i].token);
    ASSERT_EQ(a.top[i].logprob, b.top[i].logprob);
  }
}

TEST(ConstrainedSampler, ChoosesAsFromARowWithoutTheForbidden) {
  for (const Setting& setting : Settings()) {
    std::mt19937 random(5);
    for (int i = 0; i < 200; ++i) {
      SCOPED_TRACE(std::string(setting.name) + " " + std::to_string(i));
      const Case c(random);
      SamplingParams params;
      setting.set(params);
      params.logprobs = 4;
      params.seed = static_cast<uint64_t>(i);
      ConstraintCursor cursor = Cursor(c.rule);
      Sampler constrained(params, kVocab, 1, {kEnd}, &cursor);
      Sampler plain(params, kVocab, 1, {kEnd});
      ExpectSame(constrained.Choose(c.prefix, c.row), plain.Choose(c.prefix, c.masked));
      const TokenId token = plain.Choose(c.prefix, c.masked).token;
      ExpectSame(constrained.Describe(c.prefix, token, c.row),
                 plain.Describe(c.prefix, token, c.masked));
      std::vector<float> law, plain_law;
      constrained.Law(c.prefix, c.row, law);
      plain.Law(c.prefix, c.masked, plain_law);
      ASSERT_EQ(law, plain_law);
      std::vector<Candidate> best, plain_best;
      constrained.TopPerturbed(c.prefix, c.row, 3, best);
      plain.TopPerturbed(c.prefix, c.masked, 3, plain_best);
      ASSERT_EQ(best.size(), plain_best.size());
      for (size_t n = 0; n < best.size(); ++n) ASSERT_EQ(best[n].token, plain_best[n].token);
    }
  }
}

TEST(ConstrainedSampler, TheConstraintWinsOverWhatBansAllThatItAllows) {
  const std::vector<float> row(kVocab, 1.0f);
  SamplingParams params;
  params.min_tokens = 10;
  params.banned_tokens = {4};
  ConstraintCursor cursor =
      Cursor([](const auto&, TokenId token) { return token == kEnd || token == 4; });
  Sampler sampler(params, kVocab, 1, {kEnd}, &cursor);
  EXPECT_EQ(sampler.Choose(std::vector<TokenId>{1}, row).token, 4);
}

TEST(ConstrainedSampler, NoTokenIsChosenWhereNoneIsAllowed) {
  const std::vector<float> row(kVocab, 1.0f);
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    params.logprobs = 2;
    ConstraintCursor cursor = Cursor([](const auto&, TokenId) { return false; });
    Sampler sampler(params, kVocab, 1, {kEnd}, &cursor);
    const std::vector<TokenId> prefix = {1};
    EXPECT_EQ(sampler.Choose(prefix, row).token, -1);
    EXPECT_EQ(sampler.Describe(prefix, -1, row).token, -1);
    std::vector<float> law;
    sampler.Law(prefix, row, law);
    EXPECT_EQ(law, std::vector<float>(kVocab, 0.0f));
    std::vector<Candidate> best = {{1, 0, 0}};
    sampler.TopPerturbed(prefix, row, 2, best);
    EXPECT_TRUE(best.empty());
  }
}

// A model that gives all that is allowed NaN or minus infinity still stays inside the constraint.
TEST(ConstrainedSampler, ARowWithoutAnyLogitStaysInside) {
  std::vector<float> row(kVocab, 2.0f);
  row[50] = NAN;
  row[51] = -INFINITY;
  for (const float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    ConstraintCursor cursor =
        Cursor([](const auto&, TokenId token) { return token == 50 || token == 51; });
    Sampler sampler(params, kVocab, 1, {kEnd}, &cursor);
    EXPECT_EQ(sampler.Choose(std::vector<TokenId>{1}, row).token, 50);
  }
}

}  // namespace
}  // namespace hunch
