// Hidden states: those of the model, whatever is kept on the disk and however passes are cut.
#include "train/features.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/tiny_training.h"

namespace hunch {
namespace {

std::vector<std::byte> RowsOf(Features& features, const PlacedText& placed) {
  std::vector<std::byte> rows;
  HUNCH_CHECK(features.Read(placed, rows).ok());
  return rows;
}

TEST(TapReader, ReadsWhatAPassOfTheTextAloneGives) {
  TinyTraining tiny(12);
  const FeatureLayout layout = tiny.features().layout();
  for (const PlacedText& placed : tiny.set().all) {
    ModelRunner runner(TinyModelPath("llama"));
    const int tokens = placed.text->size();
    const size_t floats = static_cast<size_t>(tokens) * layout.hidden;
    std::vector<float> sources(3 * floats);
    const HiddenTap taps[] = {
        {0, sources.data()}, {1, &sources[floats]}, {2, &sources[2 * floats]}};
    runner.Read(0, placed.text->tokens, {}, taps);
    FeaturePacker packer(layout);
    std::vector<std::byte> rows(tokens * layout.row_bytes());
    for (int row = 0; row < tokens; ++row) {
      for (int source = 0; source < 3; ++source) {
        packer.Pack(&sources[source * floats + static_cast<size_t>(row) * layout.hidden], source,
                    &rows[row * layout.row_bytes()]);
      }
    }
    EXPECT_EQ(RowsOf(tiny.features(), placed), rows);
  }
}

TEST(Features, AreTheSameFromTheDiskAndFromTheModel) {
  TinyTraining tiny(12);
  const auto none = tiny.MakeFeatures(tiny.dir().Path("none"), 0);
  const auto some =
      tiny.MakeFeatures(tiny.dir().Path("some"), 100 * tiny.features().layout().row_bytes());
  ASSERT_TRUE(none->Fill(tiny.set().all, {}).value());
  ASSERT_TRUE(some->Fill(tiny.set().all, {}).value());
  for (const PlacedText& placed : tiny.set().all) {
    const auto rows = RowsOf(tiny.features(), placed);
    EXPECT_EQ(RowsOf(*none, placed), rows);
    EXPECT_EQ(RowsOf(*some, placed), rows);
  }
}

TEST(Features, GoOnWhereTheyWereStopped) {
  TinyTraining tiny(12);
  const std::string path = tiny.dir().Path("again");
  {
    const auto features = tiny.MakeFeatures(path, 1 << 30);
    EXPECT_FALSE(
        features->Fill(tiny.set().all, [](int64_t rows, int64_t) { return rows < 100; }).value());
  }
  // A kill may leave a part of a row.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  const auto features = tiny.MakeFeatures(path, 1 << 30);
  int64_t least = tiny.set().rows;
  ASSERT_TRUE(features
                  ->Fill(tiny.set().all,
                         [&](int64_t rows, int64_t all) {
                           least = std::min(least, rows);
                           EXPECT_EQ(all, tiny.set().rows);
                           return true;
                         })
                  .value());
  EXPECT_GT(least, 50);  // not from the beginning
  for (const PlacedText& placed : tiny.set().all) {
    EXPECT_EQ(RowsOf(*features, placed), RowsOf(tiny.features(), placed));
  }
}

TEST(FeatureStore, OfOtherTextsIsEmptied) {
  const TempDir dir;
  const FeatureLayout layout = {32, 2};
  {
    FeatureStore store = FeatureStore::Open(dir.Path("f"), layout, 1).value();
    ASSERT_TRUE(store.Append(std::vector<std::byte>(3 * layout.row_bytes())).ok());
    EXPECT_EQ(store.rows(), 3);
  }
  EXPECT_EQ(FeatureStore::Open(dir.Path("f"), layout, 1)->rows(), 3);
  EXPECT_EQ(FeatureStore::Open(dir.Path("f"), layout, 2)->rows(), 0);
  dir.Write("other", "somebody's only copy of a novel");
  EXPECT_FALSE(FeatureStore::Open(dir.Path("other"), layout, 1).ok());
  EXPECT_EQ(ReadFile(dir.Path("other")), "somebody's only copy of a novel");
}

}  // namespace
}  // namespace hunch
