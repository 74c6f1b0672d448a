// Tests of the medusa heads, and of what a drafter makes of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "quant/quant.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using Row = std::vector<float>;
constexpr int kVocab = 288;
constexpr ForwardLimits kLimits = {.max_rows = 40, .max_logit_rows = 6};

class MedusaTest : public testing::Test {
 protected:
  std::unique_ptr<LoadedHead> Load(TensorType type, std::vector<TokenId> tokens = {}) {
    HeadConfig config = SmallHead(target_->config(), kVocab, HeadKind::kMedusa);
    config.tokens = std::move(tokens);
    return std::make_unique<LoadedHead>(HeadBytes(config, RandomValues(6), type), *target_, pool_,
                                        kLimits, 0);
  }
  Row Feature(uint32_t seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<float> noise;
    Row feature(static_cast<size_t>(target_->config().hidden));
    for (float& value : feature) value = noise(random);
    return feature;
  }
  // Scores of head `index`, in double.
  static std::vector<double> Plain(const LoadedHead& head, int index, const Row& g) {
    const auto values = [&](const std::string& name) {
      const GgufTensor& tensor = *head.gguf->FindTensor(name);
      Row all(tensor.elements());
      Dequantize(tensor.type, tensor.data, all);
      return all;
    };
    const auto times = [&](const Row& matrix, const std::vector<double>& x) {
      std::vector<double> y(matrix.size() / x.size());
      for (size_t i = 0; i < matrix.size(); ++i) {
        y[i / x.size()] += static_cast<double>(matrix[i]) * x[i % x.size()];
      }
      return y;
    };
    std::vector<double> x(g.begin(), g.end());
    const std::vector<double> inner = times(values(head_tensors::MedusaFc(index)), x);
    const Row bias = values(head_tensors::MedusaFcBias(index));
    for (size_t i = 0; i < x.size(); ++i) {
      const double z = inner[i] + static_cast<double>(bias[i]);
      x[i] += z / (1 + std::exp(-z));
    }
    return times(values(head_tensors::MedusaOutput(index)), x);
  }

  ThreadPool pool_{2};
  std::unique_ptr<Model> target_ =
      Model::Load(GgufFile::Open(TinyModelPath("llama")).value(), pool_, kLimits).value();
};

// The last token's row, and a tree's of two depths, of two sequences.
TEST_F(MedusaTest, EachDepthHasTheScoresOfItsHead) {
  for (const TensorType type : {TensorType::kF32, TensorType::kQ4_0}) {
    const auto head = Load(type);
    Row features[] = {Feature(1), Feature(2)};
    const std::vector<TokenId> tokens = {5, 6, 7, 8, 9};
    const std::vector<int32_t> parents = {-1, -1, 1, 0};
    const SequenceRows rows[] = {{.blocks = {},
                                  .tokens = std::span(tokens).first(4),
                                  .parents = parents,
                                  .logits_from = 1,
                                  .rows_before = 1,
                                  .features = features[0].data()},
                                 {.blocks = {},
                                  .tokens = std::span(tokens).last(1),
                                  .parents = {},
                                  .features = features[1].data()}};
    const Logits logits = head->medusa->Forward(rows);
    const std::pair<int, int> wanted[] = {{1, 0}, {2, 0}, {2, 0}, {0, 1}};  // head, sequence
    for (int row = 0; row < 4; ++row) {
      const auto [index, sequence] = wanted[row];
      const std::vector<double> plain = Plain(*head, index, features[sequence]);
      // 4-bit weights meet activations of 8 bits.
      const double tolerance = type == TensorType::kF32 ? 1e-4 : 0.1;
      for (int token = 0; token < kVocab; ++token) {
        ASSERT_NEAR(static_cast<double>(logits.rows[row * kVocab + token]), plain[token], tolerance)
            << row << " " << token;
      }
      for (int64_t block = 0; block < LogitBlocks(kVocab); ++block) {
        const float* const begin = logits.rows + row * kVocab + block * kLogitBlock;
        const auto count = std::min<int64_t>(kLogitBlock, kVocab - block * kLogitBlock);
        EXPECT_EQ(logits.maxima[row * LogitBlocks(kVocab) + block],
                  *std::max_element(begin, begin + count));
      }
    }
  }
}

TEST_F(MedusaTest, ADrafterGuessesAsFarAsThereAreHeads) {
  const auto head = Load(TensorType::kF16, {4, 9, 40, 41, 200});
  BlockPool pool(16);
  SamplingParams params;
  const auto drafter = head->Drafts(pool, 100, {.branches = 2, .expand = 2});
  const std::vector<TokenId> text = {1, 2, 3, 4};
  ASSERT_TRUE(drafter->Start(text, params).ok());
  DraftTree tree;
  ASSERT_TRUE(drafter->Propose(text, {40, 100, 0}, tree).ok());
  EXPECT_TRUE(tree.empty()) << "nothing was read";
  const Row feature = Feature(3);
  std::copy(feature.begin(), feature.end(), head->medusa->taps().front().out + 2 * feature.size());
  const std::vector<int32_t> rows = {0, 1, 2};
  ASSERT_TRUE(drafter->hidden_drafter()->TakeHidden({text, 0, rows}).ok());
  ASSERT_TRUE(drafter->Propose(text, {40, 100, 0}, tree).ok());
  // All of the best two of each of three heads.
  EXPECT_EQ(tree.size(), 2 + 4 + 8);
  const std::vector<TokenId> known = {4, 9, 40, 41, 200};
  for (int node = 0; node < tree.size(); ++node) {
    EXPECT_TRUE(std::binary_search(known.begin(), known.end(), tree.tokens[node]));
    int depth = 0;
    for (int32_t at = node; at >= 0; at = tree.parents[at]) ++depth;
    EXPECT_LE(depth, 3);
  }
  // The token after the next is known no better than before.
  std::vector<TokenId> longer = text;
  longer.push_back(9);
  ASSERT_TRUE(drafter->Propose(longer, {40, 100, 0}, tree).ok());
  EXPECT_TRUE(tree.empty());
  drafter->Forget();
  EXPECT_EQ(pool.free_blocks(), 16);
}

}  // namespace
}  // namespace hunch
