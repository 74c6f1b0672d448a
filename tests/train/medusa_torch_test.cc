#include "train/medusa_torch.h"

#include <gtest/gtest.h>

#include "support/tiny_training.h"
#include "train/export_head.h"

namespace hunch {
namespace {

class MedusaTest : public testing::Test {
 protected:
  // The reader's taps are layers 0 and 1 of 2; a medusa head has the final norm alone.
  HeadBatch Batch() {
    const std::vector<float> ones(hidden_, 1.0f);
    return MakeHeadBatch(std::span(tiny_.set().learned).first(6), 3, tiny_.target(), *features_,
                         ones)
        .value();
  }
  std::unique_ptr<Features> MakeFeatures() {
    return Features::Open(tiny_.dir().Path("final"), {hidden_, 2}, 6, 1 << 30,
                          [this] {
                            model_ = Model::Load(tiny_.target().file(), pool_, {64, 1}).value();
                            return TapReader::Create(*model_, {tiny_.target().config().layers},
                                                     200);
                          })
        .value();
  }
  HeadConfig Config() const {
    return {.kind = HeadKind::kMedusa,
            .target = tiny_.target().AsHeadTarget(TinyTraining::kVocabulary),
            .taps = {tiny_.target().config().layers},
            .tokens = GuessableTokens(tiny_.set().learned, 288, 100, {}),
            .medusa_heads = 3};
  }

  TinyTraining tiny_;
  const int hidden_ = tiny_.target().config().hidden;
  ThreadPool pool_{1};
  std::unique_ptr<Model> model_;
  std::unique_ptr<Features> features_ = MakeFeatures();
  const HeadConfig config_ = Config();
};

TEST_F(MedusaTest, BeginsAsTheTargetsOwnOutput) {
  const HeadBatch batch = Batch();
  const HeadStart start = tiny_.Start(config_);
  const HeadGuesses guesses = MakeMedusaTrainer(start)->Guess(batch);
  ASSERT_EQ(guesses.size(), 3u);
  const HeadBatch::Text& place = batch.texts[0];
  for (int i = 0; i < place.asked; ++i) {
    const float* const feature =
        &batch.taps[static_cast<size_t>(place.first_row + place.first_position + i) * hidden_];
    size_t best = 0;
    double most = -1e30;
    for (size_t row = 0; row < config_.tokens.size(); ++row) {
      double score = 0;
      for (int j = 0; j < hidden_; ++j)
        score += double{start.output[row * hidden_ + j]} * feature[j];
      if (score > most) {
        most = score;
        best = row;
      }
    }
    for (const auto& head : guesses) {
      EXPECT_EQ(head[place.first_asked + i], config_.tokens[best]);
    }
  }
}

TEST_F(MedusaTest, TheLossFallsAndTheHeadReadsBack) {
  const HeadBatch batch = Batch();
  const auto trainer = MakeMedusaTrainer(tiny_.Start(config_));
  const double before = trainer->Update(batch, 3e-3);
  double after = before;
  for (int update = 0; update < 30; ++update) after = trainer->Update(batch, 3e-3);
  EXPECT_LT(after, before - 0.05);
  const std::string path = tiny_.dir().Path("head.gguf");
  ASSERT_TRUE(ExportHead(path, config_, trainer->State(), {}, TensorType::kQ8_0).ok());
  const auto file = GgufFile::Open(path).value();
  EXPECT_TRUE(ReadHeadConfig(*file).ok());
}

}  // namespace
}  // namespace hunch
