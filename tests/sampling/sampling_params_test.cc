// Tests of ValidateSamplingParams: each range's edges, NaN, and that the message names the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "sampling/sampler.h"

namespace hunch {
namespace {

constexpr int kVocab = 100;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Change = std::function<void(SamplingParams&)>;

Status Validate(const Change& change) {
  SamplingParams params;
  change(params);
  return ValidateSamplingParams(params, kVocab);
}

void ExpectRefused(const std::string& field, const Change& change) {
  const Status status = Validate(change);
  ASSERT_FALSE(status.ok()) << field;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, testing::StartsWith(field));
}

TEST(SamplingParamsTest, DefaultsAreValid) {
  EXPECT_TRUE(Validate([](SamplingParams&) {}).ok());
}

TEST(SamplingParamsTest, RefusesFloatsOutOfRange) {
  const struct {
    const char* field;
    float SamplingParams::*member;
    std::vector<float> bad;
    std::vector<float> good;
  } cases[] = {
      {"temperature", &SamplingParams::temperature, {-0.1f, kInfinity, kNan}, {0, 1e-6f, 1e30f}},
      {"top_p", &SamplingParams::top_p, {0, -1, 1.01f, kNan, kInfinity}, {1e-9f, 0.5f, 1}},
      {"min_p", &SamplingParams::min_p, {-0.01f, 1.01f, kNan}, {0, 0.5f, 1}},
      {"typical_p", &SamplingParams::typical_p, {0, -1, 1.01f, kNan}, {0.1f, 1}},
      {"repetition_penalty",
       &SamplingParams::repetition_penalty,
       {0, -1, kInfinity, kNan},
       {0.01f, 1, 5}},
      {"presence_penalty", &SamplingParams::presence_penalty, {-2.1f, 2.1f, kNan}, {-2, 0, 2}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {-2.1f, 2.1f, kNan}, {-2, 0, 2}},
  };
  for (const auto& c : cases) {
    for (const float bad : c.bad) {
      ExpectRefused(c.field, [&](SamplingParams& p) { p.*c.member = bad; });
    }
    for (const float good : c.good) {
      EXPECT_TRUE(Validate([&](SamplingParams& p) { p.*c.member = good; }).ok())
          << c.field << " " << good;
    }
  }
}

TEST(SamplingParamsTest, RefusesCountsOutOfRange) {
  ExpectRefused("top_k", [](SamplingParams& p) { p.top_k = -2; });
  ExpectRefused("min_tokens", [](SamplingParams& p) { p.min_tokens = -1; });
  ExpectRefused("max_tokens", [](SamplingParams& p) { p.max_tokens = 0; });
  ExpectRefused("max_tokens", [](SamplingParams& p) { p.max_tokens = -2; });
  ExpectRefused("min_tokens", [](SamplingParams& p) {
    p.min_tokens = 6;
    p.max_tokens = 5;
  });
  ExpectRefused("logprobs", [](SamplingParams& p) { p.logprobs = -2; });
  ExpectRefused("logprobs", [](SamplingParams& p) { p.logprobs = kVocab + 1; });
  ExpectRefused("prompt_logprobs", [](SamplingParams& p) { p.prompt_logprobs = -2; });
  ExpectRefused("prompt_logprobs", [](SamplingParams& p) { p.prompt_logprobs = kVocab + 1; });
  for (const int top_k : {-1, 0, 1, std::numeric_limits<int>::max()}) {
    EXPECT_TRUE(Validate([&](SamplingParams& p) { p.top_k = top_k; }).ok());
  }
  EXPECT_TRUE(Validate([](SamplingParams& p) { p.min_tokens = p.max_tokens = 5; }).ok());
  EXPECT_TRUE(Validate([](SamplingParams& p) { p.min_tokens = 5; }).ok());
}

TEST(SamplingParamsTest, RefusesTokensOutsideTheVocabulary) {
  for (const int32_t token : {-1, kVocab, std::numeric_limits<int32_t>::max()}) {
    ExpectRefused("logit_bias", [&](SamplingParams& p) {
      p.logit_bias = {{3, 1.0f}, {token, 1.0f}};
    });
    ExpectRefused("banned_tokens", [&](SamplingParams& p) { p.banned_tokens = {0, token}; });
    ExpectRefused("stop_token_ids", [&](SamplingParams& p) { p.stop_token_ids = {token}; });
  }
  EXPECT_TRUE(Validate([](SamplingParams& p) {
                p.logit_bias = {{0, -100.0f}, {kVocab - 1, 100.0f}};
                p.banned_tokens = p.stop_token_ids = {0, kVocab - 1};
              }).ok());
}

TEST(SamplingParamsTest, RefusesBiasOutOfRangeAndEmptyStops) {
  for (const float bias : {100.5f, -101.0f, kNan, kInfinity}) {
    ExpectRefused("logit_bias", [&](SamplingParams& p) { p.logit_bias = {{5, bias}}; });
  }
  ExpectRefused("stop", [](SamplingParams& p) { p.stop = {"a", ""}; });
}

}  // namespace
}  // namespace hunch
