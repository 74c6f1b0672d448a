// Against transformers: tiny random models of every architecture, and the real models' oracle rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/model_runner.h"
#include "support/models.h"

namespace hunch {
namespace {

double LargestDifference(const float* ours, const std::vector<float>& theirs) {
  double largest = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(ours[i]) - theirs[i]));
  }
  return largest;
}

class TinyModel : public testing::TestWithParam<std::string> {};

// fp32 weights and an fp32 cache: what is left is the order of summation.
TEST_P(TinyModel, LogitsAndHiddenStatesAreTransformers) {
  const auto golden = nlohmann::json::parse(ReadFile(GoldenPath("tiny/" + GetParam() + ".json")));
  const auto ids = golden["prompt_ids"].get<std::vector<TokenId>>();
  ModelRunner runner(TinyModelPath(GetParam()), 2, KvType::kF32);
  const ModelConfig& config = runner.model().config();
  EXPECT_EQ(config.architecture, golden["architecture"].get<std::string>());

  std::vector<LogitsRow> rows;
  const int chunk = 40;
  std::vector<std::vector<float>> hidden(config.layers + 1,
                                         std::vector<float>(chunk * config.hidden));
  std::vector<HiddenTap> taps;
  for (int layer = 0; layer <= config.layers; ++layer)
    taps.push_back({layer, hidden[layer].data()});
  for (size_t at = 0; at < ids.size(); at += chunk) {
    const auto part = std::span(ids).subspan(at, std::min<size_t>(chunk, ids.size() - at));
    for (auto& row : runner.Read(static_cast<int>(at), part, {}, taps)) rows.push_back(row);
  }
  const auto positions = golden["positions"].get<std::vector<int>>();
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto expected = golden["logits"][i].get<std::vector<float>>();
    EXPECT_LT(LargestDifference(rows[positions[i]].data(), expected), 5e-4) << positions[i];
  }
  const int at = golden["hidden_position"].get<int>() % chunk;
  for (int layer = 0; layer <= config.layers; ++layer) {
    const std::string name =
        layer == config.layers ? "final_norm" : "layer_" + std::to_string(layer);
    const auto expected = golden["hidden"][name].get<std::vector<float>>();
    EXPECT_LT(LargestDifference(hidden[layer].data() + at * config.hidden, expected), 5e-4) << name;
  }
}

TEST_P(TinyModel, GreedyTokensAreTransformers) {
  const auto golden = nlohmann::json::parse(ReadFile(GoldenPath("tiny/" + GetParam() + ".json")));
  auto ids = golden["prompt_ids"].get<std::vector<TokenId>>();
  ModelRunner runner(TinyModelPath(GetParam()), 2, KvType::kF32);
  LogitsRow row = runner.ReadAll(ids, 64).back();
  for (TokenId expected : golden["greedy_ids"].get<std::vector<TokenId>>()) {
    const auto best = static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
    ASSERT_EQ(best, expected) << ids.size();
    row = runner.Read(static_cast<int>(ids.size()), {&best, 1}).back();
    ids.push_back(best);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModel,
                         testing::Values("llama", "llama_f16", "llama3_rope", "qwen2", "qwen3"),
                         [](const auto& info) { return info.param; });

// How far our rows are from an fp32 pass over the same (dequantised) weights, as oracle/README.md
// computes it.
struct OracleDistance {
  double kl_sum = 0;
  int positions = 0, agreed = 0, decided = 0;
  double kl() const { return kl_sum / positions; }
};

void Compare(const LogitsRow& row, const nlohmann::json& top32, OracleDistance& distance) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (float logit : row) sum += std::exp(logit - largest);
  double kl = 0, p_sum = 0, q_sum = 0;
  for (const auto& entry : top32) {
    const double log_p = entry[1].get<double>();
    const double log_q = row[entry[0].get<int>()] - largest - std::log(sum);
    kl += std::exp(log_p) * (log_p - log_q);
    p_sum += std::exp(log_p);
    q_sum += std::exp(log_q);
  }
  const double p_rest = 1 - p_sum, q_rest = 1 - q_sum;
  if (p_rest > 0 && q_rest > 0) kl += p_rest * std::log(p_rest / q_rest);
  distance.kl_sum += kl;
  ++distance.positions;
  if (top32[0][1].get<double>() - top32[1][1].get<double>() <= 0.1) return;
  ++distance.decided;
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  distance.agreed += best == top32[0][0].get<int>();
}

nlohmann::json OracleRows(const std::string& model) {
  return nlohmann::json::parse(ReadFile(GoldenPath("oracle/logits_" + model + ".json")));
}

OracleDistance DistanceFrom(const std::string& model, const nlohmann::json& golden,
                            const std::string& path, KvType kv) {
  ModelRunner runner(path, 2, kv);
  OracleDistance distance;
  for (const auto& prompt : golden["prompts"]) {
    auto ids = prompt["prompt_ids"].get<std::vector<TokenId>>();
    const auto continuation = prompt["continuation_ids"].get<std::vector<TokenId>>();
    ids.insert(ids.end(), continuation.begin(), continuation.end());
    const auto rows = runner.ReadAll(ids, 32);
    const auto& top32 = prompt["top32_logprobs_per_position"];
    for (size_t i = 0; i < top32.size(); ++i) Compare(rows[i], top32[i], distance);
  }
  std::cout << model << ": mean KL " << distance.kl() << " over " << distance.positions
            << " positions, top-1 " << distance.agreed << " of " << distance.decided << '\n';
  return distance;
}

class Oracle : public testing::TestWithParam<const char*> {};

TEST_P(Oracle, AtLeastAsCloseAsLlamaCpp) {
  HUNCH_REQUIRE_MODEL(path, GetParam());
  const auto golden = OracleRows(GetParam());
  const OracleDistance distance = DistanceFrom(GetParam(), golden, path, KvType::kF16);
  const double theirs = golden["llama_cpp_mean_kl_top32"].get<double>();
  const auto& agreement = golden["llama_cpp_top1_where_gap_over_0.1_nat"];
  std::cout << "llama.cpp: " << theirs << ", " << agreement << '\n';
  EXPECT_LE(distance.kl(), 1.1 * theirs);
  EXPECT_GE(distance.agreed * agreement[1].get<double>(),
            distance.decided * agreement[0].get<double>());
}

INSTANTIATE_TEST_SUITE_P(Models, Oracle,
                         testing::Values("smollm2", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"),
                         [](const auto& info) { return "Row" + std::to_string(info.index); });

// What a q8_0 cache costs: nearly nothing on SmolLM2; Qwen's keys are harder (decisions/004).
class Q8CacheOracle : public testing::TestWithParam<std::pair<const char*, double>> {};

TEST_P(Q8CacheOracle, StaysNear) {
  const auto& [model, bound] = GetParam();
  HUNCH_REQUIRE_MODEL(path, model);
  const OracleDistance distance = DistanceFrom(model, OracleRows(model), path, KvType::kQ8_0);
  EXPECT_LE(distance.kl(), bound);
  EXPECT_GE(distance.agreed, 0.95 * distance.decided);
}

INSTANTIATE_TEST_SUITE_P(Models, Q8CacheOracle,
                         testing::Values(std::pair("smollm2", 0.006),
                                         std::pair("qwen2.5-coder-0.5b", 0.025),
                                         std::pair("qwen2.5-coder-1.5b", 0.004)),
                         [](const auto& info) { return "Row" + std::to_string(info.index); });

}  // namespace
}  // namespace hunch
