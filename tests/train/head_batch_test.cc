// Which row guesses what: held against the words of head_batch.h, token by token.
#include "train/head_batch.h"

#include <gtest/gtest.h>

#include "support/tiny_training.h"

namespace hunch {
namespace {

TEST(HeadBatch, EveryAnswerTokenIsGuessedInEveryStep) {
  TinyTraining tiny(6);
  constexpr int kSteps = 3;
  const HeadBatch batch = tiny.Batch(0, 4, kSteps);
  const int hidden = batch.hidden;
  std::vector<std::byte> rows;
  int64_t first_token = 0;
  for (int t = 0; t < 4; ++t) {
    const PlacedText& placed = tiny.set().learned[t];
    const TrainText& text = *placed.text;
    const HeadBatch::Text& place = batch.texts[t];
    ASSERT_TRUE(tiny.features().Read(placed, rows).ok());
    ASSERT_EQ(place.rows, text.size() - 2);
    ASSERT_EQ(place.answers, static_cast<int>(text.answer().size()));
    // A row p of step 0 reads the taps at p and token p + 1.
    std::vector<float> tap(hidden);
    for (int p = 0; p < place.rows; ++p) {
      const int row = place.first_row + p;
      EXPECT_EQ(batch.row_tokens[row], first_token + p + 1);
      for (const int source : {0, 1}) {
        UnpackFeature(tiny.features().layout(), &rows[p * tiny.features().layout().row_bytes()],
                      source, tap.data());
        for (int i = 0; i < hidden; ++i) {
          ASSERT_EQ(batch.taps[static_cast<size_t>(row) * batch.tap_size + source * hidden + i],
                    tap[i]);
        }
      }
    }
    for (int k = 0; k < kSteps; ++k) {
      for (int i = 0; i < place.answers; ++i) {
        // The row that guesses token `guessed` in step k has position guessed - 2 - k and reads the
        // token before the guessed one.
        const int guessed = static_cast<int>(text.prompt) + i;
        const int64_t asked = batch.answer_rows[k][place.first_answer + i];
        EXPECT_EQ(asked - place.first_asked + place.first_position, guessed - 2 - k);
        EXPECT_EQ(batch.asked_tokens[k][asked], first_token + guessed - 1);
      }
    }
    // The target chose it at the position before.
    for (int i = 0; i < place.answers; ++i) {
      const int before = static_cast<int>(text.prompt) + i - 1;
      UnpackFeature(tiny.features().layout(), &rows[before * tiny.features().layout().row_bytes()],
                    2, tap.data());
      for (int j = 0; j < hidden; ++j) {
        ASSERT_EQ(batch.finals[static_cast<size_t>(place.first_answer + i) * hidden + j], tap[j]);
      }
    }
    for (int i = 0; i < text.size(); ++i) {
      ASSERT_EQ(batch.tokens[first_token + i], text.tokens[i]);
      tiny.target().Embedding(text.tokens[i], tap.data());
      for (int j = 0; j < hidden; ++j) {
        ASSERT_EQ(batch.embeddings[static_cast<size_t>(first_token + i) * hidden + j], tap[j]);
      }
    }
    first_token += text.size();
  }
}

TEST(HeadBatch, SpreadBringsTapsToOneSize) {
  TinyTraining tiny(6);
  const auto spread = TapSpread(tiny.set().all, tiny.features()).value();
  ASSERT_EQ(spread.size(), 2u * tiny.target().config().hidden);
  const FeatureLayout layout = tiny.features().layout();
  double squares = 0;
  int64_t count = 0;
  std::vector<std::byte> rows;
  std::vector<float> tap(layout.hidden);
  for (const PlacedText& placed : tiny.set().all) {
    ASSERT_TRUE(tiny.features().Read(placed, rows).ok());
    for (int p = TinyTraining::kPrompt; p < placed.text->size(); ++p, ++count) {
      UnpackFeature(layout, &rows[p * layout.row_bytes()], 1, tap.data());
      const double scaled = tap[5] / spread[layout.hidden + 5];
      squares += scaled * scaled;
    }
  }
  EXPECT_NEAR(squares / static_cast<double>(count), 1, 1e-5);
}

}  // namespace
}  // namespace hunch
