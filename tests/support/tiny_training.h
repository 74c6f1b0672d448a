// Texts, a tiny target and its hidden states: what tests of train/ learn from. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_TINY_TRAINING_H_
#define HUNCH_TESTS_SUPPORT_TINY_TRAINING_H_

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "support/files.h"
#include "support/model_runner.h"
#include "train/features.h"
#include "train/head_start.h"
#include "train/head_trainer.h"
#include "train/target_rows.h"
#include "train/token_data.h"
#include "train/train_set.h"

namespace hunch {

class TinyTraining {
 public:
  static constexpr VocabularyId kVocabulary = {7, 288};
  static constexpr int kPrompt = 8;

  // Answers of 20 to 26 tokens. cap: bytes of hidden states that go to the disk.
  explicit TinyTraining(int texts = 40, uint64_t cap = 1 << 30)
      : target_(TargetRows::Open(OpenModel()).value()),
        data_(TokenData::Open(dir_.Path("tokens"), kVocabulary, 1).value()) {
    for (int text = 0; text < texts; ++text) {
      TrainText made = {.temperature = text % 2 == 0 ? 0.0f : 0.8f, .prompt = kPrompt};
      for (int i = 0; i < kPrompt + 20 + text % 7; ++i) {
        made.tokens.push_back((text * 37 + i * i * 11 + i * text) % 256);
      }
      HUNCH_CHECK(data_.Add(static_cast<uint32_t>(text), std::move(made)).ok());
    }
    set_ = MakeTrainSet(data_, texts, 5, 200);
    features_ = MakeFeatures(dir_.Path("features"), cap);
    HUNCH_CHECK(features_->Fill(set_.all, {}).value());
  }

  // Others, on a file of their own.
  std::unique_ptr<Features> MakeFeatures(const std::string& path, uint64_t cap) {
    return Features::Open(path, {target_.config().hidden, 3}, 5, cap, [this] { return Reader(); })
        .value();
  }

  Result<std::unique_ptr<TapReader>> Reader(int max_rows = 48) {
    models_.push_back(Model::Load(target_.file(), pool_, {max_rows, 1}).value());
    return TapReader::Create(*models_.back(), {0, 1}, 200);
  }

  HeadConfig Eagle3Config() const {
    const ModelConfig& model = target_.config();
    return {.kind = HeadKind::kEagle3,
            .target = target_.AsHeadTarget(kVocabulary),
            .taps = {0, 1},
            .tokens = GuessableTokens(set_.learned, kVocabulary.size, 100, {}),
            .heads = model.heads,
            .kv_heads = model.kv_heads,
            .head_dim = model.head_dim,
            .ffn = model.ffn,
            .rope_theta = 10000,
            .norm_eps = model.norm_eps};
  }

  HeadStart Start(const HeadConfig& config) const {
    return StartOf(config, target_, /*seed=*/3, /*threads=*/1);
  }

  HeadBatch Batch(int first, int texts, int steps) {
    const std::vector<float> ones(2 * target_.config().hidden, 1.0f);
    return MakeHeadBatch(std::span(set_.learned).subspan(first, texts), steps, target_, *features_,
                         ones)
        .value();
  }

  const TempDir& dir() const { return dir_; }
  const TargetRows& target() const { return target_; }
  TokenData& data() { return data_; }
  const TrainSet& set() const { return set_; }
  Features& features() { return *features_; }

 private:
  static std::shared_ptr<const GgufFile> OpenModel() {
    return GgufFile::Open(TinyModelPath("llama")).value();
  }

  TempDir dir_;
  ThreadPool pool_{2};
  TargetRows target_;
  TokenData data_;
  TrainSet set_;
  std::vector<std::unique_ptr<Model>> models_;
  std::unique_ptr<Features> features_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_TINY_TRAINING_H_
