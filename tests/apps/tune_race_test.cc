#include "apps/tune_race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TuneEntry Entry(const DraftMethod& method, const std::vector<double>& seconds) {
  TuneEntry entry;
  entry.config.method = method;
  for (size_t i = 0; i < seconds.size(); ++i) {
    TuneSample sample = {.prompt = i, .plain_seconds = 1};
    sample.own.wall_seconds = seconds[i];
    entry.samples.push_back(sample);
  }
  return entry;
}

std::vector<size_t> Dropped(const std::vector<TuneEntry>& entries) {
  std::vector<size_t> dropped;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].dropped) dropped.push_back(i);
  }
  return dropped;
}

TEST(TuneRace, SpeedupIsOfTheSamePrompts) {
  EXPECT_EQ(Entry(DrafterKind::kNgram, {0.5, 0.25, 0.25}).Speedup(), 3.0);
  EXPECT_EQ(TuneEntry{}.Speedup(), 0);
  EXPECT_TRUE(Entry(DrafterKind::kNgram, {0.5}).Has(0));
  EXPECT_FALSE(Entry(DrafterKind::kNgram, {0.5}).Has(1));
}

TEST(TuneRace, DropsWhatIsClearlyBehindAtEachRung) {
  std::vector<TuneEntry> entries = {
      Entry({}, {1}),                      // stays: plain decoding
      Entry(DraftMethod::Auto(), {2}),     // stays: auto
      Entry(DrafterKind::kSuffix, {0.5}),  // the best, 2 x
      Entry(DrafterKind::kNgram, {0.76}),  // 1.32 x: 0.66 of the best
      Entry(DrafterKind::kNgram, {0.78}),  // 1.28 x: 0.64
  };
  DropBehind(entries, 1, 1);
  EXPECT_THAT(Dropped(entries), ElementsAre(4));
  DropBehind(entries, 1, 3);  // no rung
  EXPECT_THAT(Dropped(entries), ElementsAre(4));
  DropBehind(entries, 1, 2);
  EXPECT_THAT(Dropped(entries), ElementsAre(3, 4));
  DropBehind(entries, 1, 16);
  EXPECT_THAT(Dropped(entries), ElementsAre(3, 4));
}

TEST(TuneRace, LeavesEarlierRacesAlone) {
  std::vector<TuneEntry> entries = {Entry({}, {1}), Entry(DrafterKind::kNgram, {5}),
                                    Entry(DrafterKind::kSuffix, {0.5}),
                                    Entry(DrafterKind::kDraftModel, {0.9})};
  DropBehind(entries, 3, 1);
  EXPECT_THAT(Dropped(entries), ElementsAre(3));
}

TEST(TuneRace, RacesCompareOnTheSamePrompts) {
  // The best of the first race was fast on the second prompt only.
  std::vector<TuneEntry> entries = {Entry({}, {1, 1}), Entry(DrafterKind::kNgram, {0.9, 0.1}),
                                    Entry(DrafterKind::kDraftModel, {0.8})};
  DropBehind(entries, 2, 1);
  EXPECT_THAT(Dropped(entries), IsEmpty());
}

TEST(TuneRace, KeepsAFewOfManyUnlessTheyAreAsGoodAsTheBest) {
  std::vector<TuneEntry> entries = {Entry({}, {1})};
  for (int i = 0; i < 8; ++i) entries.push_back(Entry(DrafterKind::kNgram, {0.50 + 0.01 * i}));
  DropBehind(entries, 1, 8);  // the four best, and nothing that is 0.9 of the best or less
  EXPECT_THAT(Dropped(entries), ElementsAre(5, 6, 7, 8));
  entries = {Entry({}, {1})};
  for (int i = 0; i < 8; ++i) entries.push_back(Entry(DrafterKind::kNgram, {0.50 + 0.001 * i}));
  DropBehind(entries, 1, 8);
  EXPECT_THAT(Dropped(entries), IsEmpty());
}

TEST(TuneRace, WhatWasDroppedAndTurnsOutBestMustRunTheRest) {
  std::vector<TuneEntry> entries = {Entry({}, {1, 1}), Entry(DrafterKind::kSuffix, {0.4, 0.9}),
                                    Entry(DrafterKind::kNgram, {0.5}),
                                    Entry(DrafterKind::kNgram, {0.7})};
  entries[2].dropped = entries[3].dropped = true;
  EXPECT_THAT(DroppedTooEarly(entries), ElementsAre(2));  // 2 x against 1.54 x; 1.43 x stays out
}

TEST(TuneRace, SettingsHoldEveryKindOnce) {
  const auto free = ModelFreeSettings(std::nullopt);
  EXPECT_TRUE(free[0].method.none());
  EXPECT_TRUE(free[1].method.automatic());
  EXPECT_EQ(free.size(), 2u + 3 * 5);
  EXPECT_EQ(ModelFreeSettings(DrafterKind::kMedusa).size(), 2u + 4 * 5);
  EXPECT_EQ(ModelFreeSettings(DrafterKind::kMedusa).back().method, DrafterKind::kMedusa);
  for (const auto& settings : {free, DraftModelSettings(DrafterKind::kEagle3, "d")}) {
    for (const SpeculativeConfig& config : settings) {
      EXPECT_TRUE(ValidateSpeculativeConfig(config).ok());
      EXPECT_EQ(config.UsesModel(), !config.model.empty());
    }
  }
  EXPECT_EQ(DraftModelSettings(DrafterKind::kEagle3, "d").size(), 6u);
}

TEST(TuneRace, EveryBeginningOfThePromptsIsAFairSample) {
  const auto prompts = InterleaveCategories(
      {{"a1", "a", ""}, {"a2", "a", ""}, {"a3", "a", ""}, {"b1", "b", ""}, {"b2", "b", ""}});
  std::vector<std::string> ids;
  for (const BenchPrompt& prompt : prompts) ids.push_back(prompt.id);
  EXPECT_THAT(ids, ElementsAre("a1", "b1", "a2", "b2", "a3"));
}

}  // namespace
}  // namespace hunch
