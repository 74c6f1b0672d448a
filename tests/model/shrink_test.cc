// Tests of models made smaller at load: the logits that are left are the whole model's own, 4-bit
// matrices stay near, memory is what was planned, and without options nothing changes.
#include "model/shrink.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "model/target.h"
#include "model/wide_rows.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;
constexpr ForwardLimits kLimits = {.max_rows = 16, .max_logit_rows = 16};

struct Loaded {
  std::shared_ptr<const GgufFile> file;
  std::unique_ptr<Model> model;
};

class ShrinkTest : public testing::TestWithParam<const char*> {
 protected:
  Result<Loaded> Load(const LoadOptions& options) {
    Loaded loaded;
    loaded.file = GgufFile::Open(TinyModelPath(GetParam())).value();
    HUNCH_ASSIGN_OR_RETURN(loaded.model, Model::Load(loaded.file, pool_, kLimits, options));
    return loaded;
  }
  static constexpr TokenId kTokens[] = {1, 5, 2, 9, 3};
  // [kTokens][vocab], through the target; the maxima are checked.
  std::vector<LogitsRow> Rows(Model& model) {
    ModelTarget target(model, ModelKv::Create(model.config(), KvType::kF32, 2).value());
    const int32_t blocks[] = {1, 0};
    const SequenceRows rows = {.blocks = blocks, .committed = 0, .tokens = kTokens};
    const Logits logits = target.Forward({&rows, 1});
    const int64_t vocab = target.vocab();
    EXPECT_EQ(vocab, model.config().vocab);
    std::vector<LogitsRow> result;
    for (size_t r = 0; r < std::size(kTokens); ++r) {
      const float* row = logits.rows + r * vocab;
      result.emplace_back(row, row + vocab);
      std::vector<float> maxima(LogitBlocks(vocab));
      BlockMaxima(row, vocab, maxima.data());
      const float* given = logits.maxima + r * LogitBlocks(vocab);
      EXPECT_EQ(maxima, std::vector<float>(given, given + LogitBlocks(vocab)));
    }
    return result;
  }

  ThreadPool pool_{2};
};

TEST_P(ShrinkTest, TheLogitsThatAreLeftAreTheWholeModels) {
  const Loaded whole = Load({}).value();
  EXPECT_TRUE(whole.model->kept_tokens().empty());
  const std::vector<LogitsRow> all = Rows(*whole.model);
  const int vocab = whole.model->config().vocab;
  LoadOptions options;
  for (TokenId token = 0; token < vocab; token += token % 3 + 1)
    options.kept_tokens.push_back(token);
  const Loaded cut = Load(options).value();
  ASSERT_EQ(cut.model->logit_columns(), static_cast<int>(options.kept_tokens.size()));
  EXPECT_LT(cut.model->logit_columns(), vocab);
  const std::vector<LogitsRow> some = Rows(*cut.model);
  for (size_t r = 0; r < all.size(); ++r) {
    size_t next = 0;
    for (TokenId token = 0; token < vocab; ++token) {
      const bool kept = next < options.kept_tokens.size() && options.kept_tokens[next] == token;
      next += kept;
      ASSERT_EQ(some[r][token], kept ? all[r][token] : -INFINITY) << token;
    }
  }
}

TEST_P(ShrinkTest, FourBitsStayNear) {
  const Loaded whole = Load({}).value();
  LoadOptions options;
  options.requantize_q4_0 = true;
  const Loaded small = Load(options).value();
  int requantised = 0, fitting = 0;
  for (const LayerWeights& layer : small.model->weights().layers) {
    for (const PackedMatrix* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      // 4 bits and their scales, or what was small already; columns that fit no block stay.
      if (matrix->columns() % 32 == 0) {
        ++fitting;
        EXPECT_LE(matrix->bytes() * 8,
                  static_cast<size_t>(matrix->groups() * 16 * matrix->columns() * 5));
      }
      requantised += matrix->type() == TensorType::kQ4_0;
    }
  }
  const std::vector<LogitsRow> exact = Rows(*whole.model), near = Rows(*small.model);
  for (size_t r = 0; r < exact.size(); ++r) {
    double product = 0, a = 0, b = 0;
    for (size_t i = 0; i < exact[r].size(); ++i) {
      product += exact[r][i] * near[r][i];
      a += exact[r][i] * exact[r][i];
      b += near[r][i] * near[r][i];
    }
    EXPECT_GT(product / std::sqrt(a * b), 0.85) << r;  // random weights suffer most
  }
  EXPECT_EQ(requantised, fitting);
  EXPECT_EQ(requantised > 0, GetParam() != std::string("qwen2"));  // its 48 columns fit no block
}

TEST_P(ShrinkTest, TakesTheMemoryThatWasPlanned) {
  LoadOptions smaller;
  smaller.requantize_q4_0 = true;
  smaller.kept_tokens = {1, 2, 3, 7};
  for (const LoadOptions& options : {LoadOptions{}, smaller}) {
    const Loaded loaded = Load(options).value();
    uint64_t vectors = 0;
    for (const GgufTensor& tensor : loaded.file->tensors()) {
      if (tensor.shape.size() == 1) vectors += 4 * static_cast<uint64_t>(tensor.elements());
    }
    EXPECT_EQ(WeightBytes(*loaded.file, options), loaded.model->weights().memory.size() + vectors);
    EXPECT_EQ(LoadScratchBytes(*loaded.file, options) > 0, !options.changes_nothing());
  }
  const auto file = GgufFile::Open(TinyModelPath(GetParam())).value();
  EXPECT_LT(WeightBytes(*file, smaller), WeightBytes(*file));
  const ModelConfig config = ReadModelConfig(*file).value();
  EXPECT_LT(Model::ScratchBytes(config, kLimits, 2, 4), Model::ScratchBytes(config, kLimits, 2));
  EXPECT_EQ(Model::ScratchBytes(config, kLimits, 2, config.vocab),
            Model::ScratchBytes(config, kLimits, 2));
}

TEST_P(ShrinkTest, ListsThatAreNoneAreRefused) {
  const int vocab = ReadModelConfig(*GgufFile::Open(TinyModelPath(GetParam())).value())->vocab;
  for (const Ids& bad : {Ids{3, 3}, Ids{4, 3}, Ids{-1}, Ids{0, vocab}, Ids{1 << 30}}) {
    LoadOptions options;
    options.kept_tokens = bad;
    const auto loaded = Load(options);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, ShrinkTest, testing::ValuesIn(kTinyModels),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace hunch
