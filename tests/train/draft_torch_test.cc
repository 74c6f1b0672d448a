// Training of a draft model: its rows are those of the engine's own pass, its gradients those that
// the loss has, and what is exported is a model that has learned.
#include "train/draft_torch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "support/tiny_training.h"
#include "train/draft_student.h"
#include "train/train_head.h"

namespace hunch {
namespace {

class DraftTest : public testing::Test {
 protected:
  std::unique_ptr<DraftStudent> Student(const std::string& model, std::vector<int> layers = {}) {
    return DraftStudent::Create(GgufFile::Open(TinyModelPath(model)).value(), std::move(layers),
                                tiny_.target(), TinyTraining::kVocabulary)
        .value();
  }
  // What the output matrix reads, alone.
  std::unique_ptr<Features> MakeFeatures() {
    return Features::Open(tiny_.dir().Path("final"), {tiny_.target().config().hidden, 1}, 6,
                          1 << 30,
                          [this] {
                            model_ = Model::Load(tiny_.target().file(), pool_, {64, 1}).value();
                            return TapReader::Create(*model_, {}, 200);
                          })
        .value();
  }
  HeadBatch Batch(const DraftStudent& student, int texts, int steps = 1) {
    return student.Batch(std::span(tiny_.set().learned).first(texts), steps, *features_).value();
  }

  TinyTraining tiny_;
  ThreadPool pool_{1};
  std::unique_ptr<Model> model_;
  std::unique_ptr<Features> features_ = MakeFeatures();
};

std::vector<double> Softmax(std::vector<double> x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& value : x) sum += value = std::exp(value - most);
  for (double& value : x) value /= sum;
  return x;
}

TEST_F(DraftTest, RowsAreThoseOfTheEnginesPass) {
  for (const char* const model : kTinyModels) {
    const auto student = Student(model);
    const DraftStart start = student->Start(1);
    const HeadBatch batch = Batch(*student, 3);
    ModelRunner runner(TinyModelPath(model), 1, KvType::kF32);
    double loss = 0;
    for (int t = 0; t < 3; ++t) {
      const TrainText& text = *tiny_.set().learned[t].text;
      const std::vector<LogitsRow> rows = runner.ReadAll(text.tokens, 8);
      for (int i = 0; i < batch.texts[t].answers; ++i) {
        const LogitsRow& row = rows[text.prompt + i - 1];
        const std::vector<double> q = Softmax({row.begin(), row.end()});
        const float* const final =
            &batch.finals[static_cast<size_t>(batch.texts[t].first_answer + i) * batch.hidden];
        std::vector<double> scores(q.size());
        for (size_t token = 0; token < q.size(); ++token) {
          for (int j = 0; j < batch.hidden; ++j) {
            scores[token] += double{start.target_output[token * batch.hidden + j]} * final[j];
          }
        }
        const std::vector<double> p = Softmax(scores);
        for (size_t token = 0; token < q.size(); ++token) loss -= p[token] * std::log(q[token]);
      }
    }
    const LossAndGradient found =
        DraftGradient(start, *student->First(), batch, "output_norm.weight");
    EXPECT_NEAR(found.loss, loss / batch.answers(), 1e-4) << model;
  }
}

TEST_F(DraftTest, GuessesAreTheEnginesFirstChoices) {
  const auto student = Student("qwen2");
  const HeadBatch batch = Batch(*student, 1, kJudgedSteps);
  const auto trainer = MakeDraftModelTrainer(student->Start(1));
  trainer->Restore(*student->First());
  const HeadGuesses guesses = trainer->Guess(batch);
  ASSERT_EQ(guesses.size(), size_t{kJudgedSteps});
  const TrainText& text = *tiny_.set().learned[0].text;
  const auto rows = ModelRunner(TinyModelPath("qwen2"), 1, KvType::kF32).ReadAll(text.tokens, 8);
  for (int step = 0; step < kJudgedSteps; ++step) {
    for (int i = 0; i < batch.asked(); ++i) {
      const size_t read = std::min(batch.texts[0].first_position + i + 1 + step, text.size() - 1);
      const auto best = std::max_element(rows[read].begin(), rows[read].end());
      EXPECT_EQ(guesses[step][i], best - rows[read].begin()) << step << " " << i;
    }
  }
}

// Along its own gradient the loss changes by its length: every weight of every architecture.
// `llama` is the target itself, where there is nothing to learn.
TEST_F(DraftTest, GradientsAreThoseOfTheLoss) {
  for (const char* const model : {"llama_f16", "llama3_rope", "qwen2", "qwen3"}) {
    const auto student = Student(model);
    const DraftStart start = student->Start(1);
    const HeadBatch batch = Batch(*student, 2);
    const HeadState state = *student->First();
    for (size_t w = 0; w < state.weights.size(); ++w) {
      const std::string& name = state.weights[w].tensor.name;
      const std::vector<float> slopes = DraftGradient(start, state, batch, name).gradient;
      double squares = 0;
      for (const float slope : slopes) squares += double{slope} * slope;
      const double length = std::sqrt(squares);
      ASSERT_GT(length, 0) << model << " " << name;
      const auto loss_at = [&](double way) {
        HeadState moved = state;
        for (size_t i = 0; i < slopes.size(); ++i) {
          moved.weights[w].value[i] += static_cast<float>(way * slopes[i] / length);
        }
        return DraftGradient(start, moved, batch, name).loss;
      };
      const double step = std::min(0.02, 2e-3 / length);
      // The second part is what fp32 leaves of two losses' difference.
      EXPECT_NEAR((loss_at(step) - loss_at(-step)) / (2 * step), length, 0.02 * length + 2e-5)
          << model << " " << name;
    }
  }
}

TEST_F(DraftTest, TheLossFallsInBothPrecisions) {
  const auto student = Student("llama", {1});
  const HeadBatch batch = Batch(*student, 8);
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const auto trainer = MakeDraftModelTrainer(student->Start(1));
    trainer->SetPrecision(precision);
    trainer->Restore(*student->First());
    const double before = trainer->Update(batch, 3e-3);
    double after = before;
    for (int update = 0; update < 40; ++update) after = trainer->Update(batch, 3e-3);
    EXPECT_LT(after, before - 0.1) << PrecisionName(precision);
  }
}

TEST_F(DraftTest, GoesOnToTheSameBitsAndLeavesAModelThatLearned) {
  TrainOptions options;
  options.epochs = 3;
  options.steps = 1;
  options.batch_tokens = 200;
  options.learning_rate = 3e-3;
  options.precision = Precision::kBf16;
  options.type = TensorType::kF32;
  const std::string draft = tiny_.dir().Path("draft.gguf");
  const std::string checkpoint = tiny_.dir().Path("checkpoint");
  const auto student = Student("llama", {1});
  const auto train = [&](const OnTrain& on_train) {
    const auto trainer = MakeDraftModelTrainer(student->Start(1));
    const TrainTask task = {*student, tiny_.set(), *features_, checkpoint, draft};
    const auto outcome = TrainHead(options, task, *trainer, on_train, {});
    HUNCH_CHECK(outcome.ok()) << outcome.error().message;
    return trainer->State();
  };
  const HeadState whole = train({});
  std::filesystem::remove(checkpoint);
  train([](const TrainReport& report) { return report.update < 3; });
  const HeadState resumed = train({});
  EXPECT_EQ(resumed.updates, whole.updates);
  for (size_t i = 0; i < whole.weights.size(); ++i) {
    EXPECT_EQ(resumed.weights[i].value, whole.weights[i].value) << whole.weights[i].tensor.name;
  }
  const auto file = GgufFile::Open(draft).value();
  EXPECT_EQ(ReadModelConfig(*file)->layers, 1);
  ModelRunner runner(draft);
}

}  // namespace
}  // namespace hunch
