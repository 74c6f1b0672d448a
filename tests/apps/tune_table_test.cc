#include "apps/tune_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hunch {
namespace {

using ::testing::HasSubstr;

CostCurve Curve(std::vector<PassTime> times) { return CostCurve(times); }
// A pass of any number of rows takes 0.1 s.
CostCurve Flat() { return Curve({{1, 0.1}, {64, 0.1}}); }

TEST(TuneTable, TokensOfAPassAreAGeometricSum) {
  EXPECT_EQ(TokensPerPass(0.5, 0), 1);
  EXPECT_EQ(TokensPerPass(0.5, 3), 1.875);
  EXPECT_EQ(TokensPerPass(1, 4), 5);
  EXPECT_EQ(TokensPerPass(0, 4), 1);
}

TEST(TuneTable, ChainSpeedupDividesTokensByCost) {
  // 1.875 tokens for a pass of 1 and three of 0.25.
  EXPECT_DOUBLE_EQ(ChainSpeedup(0.5, 3, 0.25, Flat()), 1.875 / 1.75);
  EXPECT_DOUBLE_EQ(ChainSpeedup(0.5, 0, 0.25, Flat()), 1);
  // Four rows take twice as long as one.
  EXPECT_DOUBLE_EQ(ChainSpeedup(0.5, 3, 0, Curve({{1, 0.1}, {4, 0.2}})), 1.875 / 2);
}

TEST(TuneTable, TheBestKGrowsWithSpeedRatioAndAcceptance) {
  EXPECT_EQ(BestGuesses(0.2, 0.5, Flat()), 0);  // nothing pays
  // By hand at 0.8 and 0.25: K = 2 gives 2.44 / 1.5 = 1.627, 3: 2.952 / 1.75 = 1.687, 4: 3.3616 / 2
  // = 1.681.
  EXPECT_EQ(BestGuesses(0.8, 0.25, Flat()), 3);
  EXPECT_LT(BestGuesses(0.6, 0.25, Flat()), BestGuesses(0.8, 0.25, Flat()));
  EXPECT_LT(BestGuesses(0.8, 0.25, Flat()), BestGuesses(0.8, 0.05, Flat()));
  EXPECT_EQ(CostRatioLine("s.gguf", 0.25, Flat()),
            "s.gguf: one of its passes takes 0.25 of a pass of the target. The best K grows with "
            "speed ratio x acceptance: K = 2 at 60 % accepted (1.31 x), K = 3 at 80 % accepted "
            "(1.69 x), K = 6 at 90 % accepted (2.09 x)");
  EXPECT_THAT(CostRatioLine("s", 0.7, Flat()), HasSubstr(": none pays at 60 % accepted, "));
}

TEST(TuneTable, ExpectedSecondsAreThoseOfThePassesAndTheDrafters) {
  SpeculationStats stats;
  stats.target_passes = 10;
  stats.drafts = 4;
  stats.draft_tokens = 10;  // 2.5 a draft: 3.5 rows
  stats.draft_seconds = 0.3;
  const CostCurve curve = Curve({{1, 0.1}, {3, 0.2}, {4, 0.4}});
  EXPECT_DOUBLE_EQ(ExpectedDecodeSeconds(stats, curve), 6 * 0.1 + 4 * 0.3 + 0.3);
  EXPECT_DOUBLE_EQ(ExpectedDecodeSeconds({}, curve), 0);
}

TuneEntry Entry(const DraftMethod& method, double wall, double plain, int64_t tokens) {
  TuneEntry entry;
  entry.config.method = method;
  TuneSample sample = {.prompt = 0, .plain_seconds = plain};
  sample.own.wall_seconds = wall;
  sample.own.tokens = tokens;
  sample.own.prefill_seconds = 0.5;
  sample.own.speculation.decode_tokens = tokens - 1;
  sample.own.speculation.target_passes = tokens - 1;
  entry.samples = {sample};
  return entry;
}

TEST(TuneTable, RowsAreSortedAndDroppedOnesLast) {
  std::vector<TuneEntry> entries = {Entry({}, 2, 2, 11), Entry(DrafterKind::kNgram, 1, 2, 11),
                                    Entry(DrafterKind::kSuffix, 0.5, 2, 11), TuneEntry{}};
  SpeculationStats& stats = entries[1].samples[0].own.speculation;
  stats.target_passes = 5;
  stats.drafts = 5;
  stats.draft_tokens = 10;
  stats.accepted_tokens = 5;
  entries[2].dropped = true;
  entries[0].samples.push_back(entries[0].samples[0]);  // in a second race
  const auto rows = TuneRows(entries, Flat());
  ASSERT_EQ(rows.size(), 3u);  // without the one that never ran
  EXPECT_EQ(rows[0].config.method, DrafterKind::kNgram);
  EXPECT_EQ(rows[1].config.method, DraftMethod());
  EXPECT_EQ(rows[2].config.method, DrafterKind::kSuffix);
  EXPECT_DOUBLE_EQ(rows[0].tokens_per_second, 11);
  EXPECT_DOUBLE_EQ(rows[0].speedup, 2);
  EXPECT_DOUBLE_EQ(rows[0].acceptance, 0.5);
  EXPECT_DOUBLE_EQ(rows[0].tokens_per_pass, 2);
  // The prompt's 0.5 s and five passes of 0.1 s, where plain decoding makes ten.
  EXPECT_DOUBLE_EQ(rows[0].expected_tokens_per_second, 11.0);
  EXPECT_DOUBLE_EQ(rows[0].expected_speedup, 1.5);
  EXPECT_LT(rows[1].acceptance, 0);
  EXPECT_DOUBLE_EQ(rows[1].speedup, 1);
  EXPECT_EQ(rows[1].prompts, 1u);
}

TuneRow Row(const DraftMethod& method, double speedup) {
  TuneRow row;
  row.config.method = method;
  row.speedup = speedup;
  return row;
}

TEST(TuneTable, ChoosesTheBestAndAutoWhereItIsAsGood) {
  const DraftMethod suffix = DrafterKind::kSuffix;
  EXPECT_EQ(ChooseRow({Row(suffix, 1.5), Row(DraftMethod::Auto(), 1.46), Row({}, 1)}), 1);
  EXPECT_EQ(ChooseRow({Row(suffix, 1.5), Row(DraftMethod::Auto(), 1.44), Row({}, 1)}), 0);
  EXPECT_EQ(ChooseRow({Row({}, 1), Row(DraftMethod::Auto(), 0.98)}), 1);
  EXPECT_EQ(ChooseRow({Row({}, 1), Row(DraftMethod::Auto(), 0.9)}), 0);
  EXPECT_EQ(ChooseRow({}), -1);
}

TEST(TuneTable, NeverChoosesWhatWasDroppedOrChangedTheText) {
  std::vector<TuneRow> rows = {Row(DrafterKind::kNgram, 3), Row(DrafterKind::kSuffix, 2),
                               Row({}, 1)};
  rows[0].identical = false;
  EXPECT_EQ(ChooseRow(rows), 1);
  rows[1].dropped = true;
  EXPECT_EQ(ChooseRow(rows), 2);
  rows[2].identical = false;
  EXPECT_EQ(ChooseRow(rows), -1);
}

// The promise of `hunch tune`: the profile is within 5 % of the best row.
TEST(TuneTable, TheChosenRowIsWithinFivePerCentOfTheBest) {
  for (double share = 0.90; share < 1.1; share += 0.005) {
    std::vector<TuneRow> rows = {Row(DrafterKind::kNgram, 1.5),
                                 Row(DraftMethod::Auto(), 1.5 * share)};
    if (share > 1) std::swap(rows[0], rows[1]);
    const int chosen = ChooseRow(rows);
    EXPECT_GE(rows[chosen].speedup, 0.95 * rows[0].speedup) << share;
  }
}

TEST(TuneTable, ShowsEveryRow) {
  std::vector<TuneRow> rows = {Row(DrafterKind::kDraftModel, 1.25), Row({}, 1)};
  rows[0].config.model = "folder/small\x1b.gguf";
  rows[0].config.num_speculative_tokens = 6;
  rows[0].acceptance = 0.75;
  rows[1].dropped = true;
  const std::string table = TuneTable(rows, 0);
  EXPECT_THAT(table, HasSubstr("\n=> draft_model (small .gguf)"));
  EXPECT_THAT(table, HasSubstr("     6"));
  EXPECT_THAT(table, HasSubstr("   0.750"));
  EXPECT_THAT(table, HasSubstr("     1.250"));
  EXPECT_THAT(table, HasSubstr("yes, dropped\n"));
  const Json json = TuneRowsJson(rows, 0);
  EXPECT_EQ(json[0]["method"], "draft_model");
  EXPECT_EQ(json[0]["chosen"], true);
  EXPECT_EQ(json[0]["num_speculative_tokens"], 6);
  EXPECT_TRUE(json[1]["acceptance_rate"].is_null());
  EXPECT_TRUE(json[1]["draft_model"].is_null());
  EXPECT_EQ(json[1]["dropped"], true);
}

}  // namespace
}  // namespace hunch
