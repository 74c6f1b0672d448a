// MeasureRows against a target that writes down what is asked of it: the passes themselves, their
// order, and that no pass reads a slot that was never written.
#include "engine/measure_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace hunch {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Gt;
using Pass = std::tuple<int, int, int>;  // committed, rows, rows with logits

class RecordingTarget : public Target {
 public:
  RecordingTarget(int blocks, ForwardLimits limits)
      : limits_(limits), written_(blocks * kSlotsPerBlock), logits_(limits.max_logit_rows * 8) {}

  int vocab() const override { return 8; }
  const ForwardLimits& limits() const override { return limits_; }
  Logits Forward(std::span<const SequenceRows> sequences) override {
    EXPECT_EQ(sequences.size(), 1u);
    const SequenceRows& rows = sequences[0];
    const int count = static_cast<int>(rows.tokens.size());
    EXPECT_LE(count, limits_.max_rows);
    EXPECT_LE(count - rows.logits_from, limits_.max_logit_rows);
    EXPECT_TRUE(rows.parents.empty());
    for (int slot = 0; slot < rows.committed; ++slot) EXPECT_TRUE(Written(rows.blocks, slot));
    for (int row = 0; row < count; ++row) {
      EXPECT_LT(static_cast<uint32_t>(rows.tokens[row]), 8u);
      Written(rows.blocks, rows.committed + row) = true;
    }
    passes.emplace_back(rows.committed, count, count - rows.logits_from);
    return {logits_.data(), logits_.data()};
  }
  void MoveSlot(std::span<const int32_t> blocks, int from, int to) override {
    EXPECT_TRUE(Written(blocks, from));
    Written(blocks, to) = true;
    ++moves;
  }

  std::vector<Pass> passes;
  int moves = 0;

 private:
  std::vector<bool>::reference Written(std::span<const int32_t> blocks, int slot) {
    return written_[blocks[slot / kSlotsPerBlock] * kSlotsPerBlock + slot % kSlotsPerBlock];
  }

  ForwardLimits limits_;
  std::vector<bool> written_;
  std::vector<float> logits_;
};

constexpr ForwardLimits kLimits = {.max_rows = 32, .max_logit_rows = 8};
const OnMeasure kGoOn = [](int64_t, int64_t) { return true; };

TEST(MeasureRows, TakesEverythingInTurnAfterAWarmUp) {
  RecordingTarget target(8, kLimits);
  BlockPool pool(8);
  const MeasurePlan plan = {
      .contexts = {0, 20}, .rows = {1, 4}, .prompts = {40}, .decode_steps = 2, .repeats = 2};
  std::vector<int64_t> progress;
  const auto times = MeasureRows(target, pool, plan, [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 4 + 2 * 7);
    progress.push_back(done);
    return true;
  });
  ASSERT_TRUE(times);
  const std::vector<Pass> expected = {
      {0, 20, 0},                                                              // the fill
      {0, 1, 1},  {0, 4, 4},  {20, 1, 1}, {20, 4, 4},                          // the warm-up
      {0, 4, 4},  {0, 1, 1},  {0, 1, 1},  {1, 1, 1},                           // decoding last
      {20, 4, 4}, {20, 1, 1}, {20, 1, 1}, {21, 1, 1}, {0, 32, 0}, {32, 8, 1},  // then the prompt
      {0, 1, 1},  {0, 4, 4},  {0, 1, 1},  {1, 1, 1},                           // rotated
      {20, 1, 1}, {20, 4, 4}, {20, 1, 1}, {21, 1, 1}, {0, 32, 0}, {32, 8, 1}};
  EXPECT_EQ(target.passes, expected);
  ASSERT_EQ(progress.size(), 18u);
  EXPECT_EQ(progress.back(), 17);
  ASSERT_EQ(times->contexts.size(), 2u);
  EXPECT_EQ(times->contexts[1].context, 20);
  for (const ContextTimes& context : times->contexts) {
    EXPECT_THAT(context.rows, ElementsAre(Field(&PassTime::rows, 1), Field(&PassTime::rows, 4)));
    EXPECT_THAT(context.rows, Each(Field(&PassTime::seconds, Gt(0))));
    EXPECT_GT(context.decode_seconds, 0);
  }
  ASSERT_EQ(times->prompts.size(), 1u);
  EXPECT_EQ(times->prompts[0].tokens, 40);
  EXPECT_GT(times->prompts[0].seconds, 0);
  EXPECT_EQ(pool.free_blocks(), 8);  // everything is given back
}

TEST(MeasureRows, ALongContextIsWrittenWithoutBeingRead) {
  RecordingTarget target(64, kLimits);
  BlockPool pool(64);
  const MeasurePlan plan = {.contexts = {1000}, .rows = {3}, .repeats = 1};
  ASSERT_TRUE(MeasureRows(target, pool, plan, kGoOn));
  EXPECT_EQ(target.passes, (std::vector<Pass>{{0, 32, 0}, {1000, 3, 3}, {1000, 3, 3}}));
  EXPECT_EQ(target.moves, 1000 - 32);
}

TEST(MeasureRows, StopsWhenTold) {
  RecordingTarget target(8, kLimits);
  BlockPool pool(8);
  const MeasurePlan plan = {.contexts = {16}, .rows = {1, 2}, .repeats = 5};
  EXPECT_FALSE(MeasureRows(target, pool, plan, [](int64_t done, int64_t) { return done < 3; }));
  EXPECT_EQ(target.passes.size(), 4u);  // the fill and three passes
  EXPECT_EQ(pool.free_blocks(), 8);
}

TEST(MeasureRows, ItsTimesMakeACostCurve) {
  RecordingTarget target(8, kLimits);
  BlockPool pool(8);
  const MeasurePlan plan = {.contexts = {16}, .rows = {1, 2, 8}, .repeats = 5};
  const auto times = MeasureRows(target, pool, plan, kGoOn);
  ASSERT_TRUE(times);
  const CostCurve curve(times->contexts[0].rows);
  EXPECT_GT(curve.Seconds(1), 0);
  EXPECT_GE(curve.Seconds(5), curve.Seconds(1));
}

TEST(MeasurePlan, CountsTheSlotsThatItWrites) {
  EXPECT_EQ((MeasurePlan{.contexts = {100, 10}, .rows = {1, 4}, .decode_steps = 7}).Slots(), 107);
  EXPECT_EQ((MeasurePlan{.contexts = {10}, .rows = {4}, .prompts = {128}}).Slots(), 128);
}

}  // namespace
}  // namespace hunch
