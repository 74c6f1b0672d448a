#include "train/export_head.h"

#include <gtest/gtest.h>

#include "quant/quant.h"
#include "quant/quantize.h"
#include "support/fake_head_trainer.h"
#include "support/tiny_training.h"

namespace hunch {
namespace {

TEST(ExportHead, ReadsBackAsAHeadForItsTarget) {
  TinyTraining tiny(8);
  const HeadConfig config = tiny.Eagle3Config();
  HeadState state = FakeHeadTrainer(config).State();
  for (WeightState& weight : state.weights) {
    for (size_t i = 0; i < weight.value.size(); ++i) weight.value[i] = (i % 9 - 4.0f) / 8;
  }
  std::vector<float> inverse(config.tap_size(), 1.0f);
  inverse[1] = 0.5f;
  const std::string path = tiny.dir().Path("head");
  for (const TensorType type : kHeadTypes) {
    ASSERT_TRUE(ExportHead(path, config, state, inverse, type).ok());
    const auto file = GgufFile::Open(path).value();
    const auto read = ReadHeadConfig(*file);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(CheckHeadTarget(*read, path, config.target, "target").ok());
    EXPECT_EQ(read->tokens, config.tokens);
    EXPECT_EQ(read->taps, config.taps);
    const GgufTensor* const fc = file->FindTensor("fc.weight");
    EXPECT_EQ(fc->type, type);
    EXPECT_EQ(file->FindTensor("output_norm.weight")->type, TensorType::kF32);
    // 80 columns: no block of 32 fits.
    EXPECT_EQ(file->FindTensor("ffn_down.weight")->type,
              type == TensorType::kF32 ? TensorType::kF32 : TensorType::kF16);
    std::vector<float> values(fc->elements());
    Dequantize(fc->type, fc->data, values);
    const float step = type == TensorType::kQ4_0 ? 1.0f / 16 : 1.0f / 200;
    for (size_t i = 0; i < values.size(); ++i) {
      const float wanted = state.weights[0].value[i] * inverse[i % inverse.size()];
      EXPECT_NEAR(values[i], wanted, step) << i;
    }
  }
}

}  // namespace
}  // namespace hunch
