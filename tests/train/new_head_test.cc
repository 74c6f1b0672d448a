#include "train/new_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/model_runner.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NewHeadTest : public testing::Test {
 protected:
  Result<HeadConfig> Config(const NewHead& head) { return ConfigOf(head, target_, {7, 288}); }

  const TargetRows target_ =
      TargetRows::Open(GgufFile::Open(TinyModelPath("llama")).value()).value();
};

TEST_F(NewHeadTest, HasALayerLikeTheTargets) {
  const auto config = Config({.tokens = {1, 2}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_THAT(config->taps, ElementsAre(1));  // of two layers
  EXPECT_EQ(config->heads, 4);
  EXPECT_EQ(config->kv_heads, 2);
  EXPECT_EQ(config->ffn, 80);
  EXPECT_EQ(config->target.vocabulary.fingerprint, 7u);
  EXPECT_GE(config->rope_theta, 10000);
}

TEST_F(NewHeadTest, OtherKindsReadTheFinalNorm) {
  EXPECT_THAT(Config({.kind = HeadKind::kEagle, .tokens = {1}})->taps, ElementsAre(2));
  const auto medusa = Config({.kind = HeadKind::kMedusa, .tokens = {1}, .steps = 4});
  EXPECT_THAT(medusa->taps, ElementsAre(2));
  EXPECT_EQ(medusa->medusa_heads, 4);
}

TEST_F(NewHeadTest, TapsAreLayersOfTheTarget) {
  EXPECT_THAT(Config({.taps = {0, 2}, .tokens = {1}})->taps, ElementsAre(0, 2));
  EXPECT_THAT(Config({.taps = {0, 3}, .tokens = {1}}).error().message,
              HasSubstr("taps 0, 3 are asked for: the model has layers 0 to 1"));
}

}  // namespace
}  // namespace hunch
