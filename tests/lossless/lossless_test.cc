// The lossless suite: drafter x temperature x control, on a fake model and on SmolLM2. With
// speculation a request gives the same tokens, finish reason and logprobs, to the bit.
#include "support/lossless.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "support/fake_kv_target.h"
#include "support/heads.h"
#include "support/models.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

using Cell = std::tuple<std::string, std::string, float>;  // drafter, control, temperature

std::string CellName(const testing::TestParamInfo<Cell>& info) {
  const auto& [drafter, control, temperature] = info.param;
  return drafter + "_" + control + "_t" + std::to_string(static_cast<int>(temperature * 10));
}
const auto kCells =
    testing::Combine(testing::ValuesIn(LosslessDrafters()), testing::ValuesIn(LosslessControls()),
                     testing::Values(0.0f, 0.7f, 1.3f));

class LosslessFake : public testing::TestWithParam<Cell> {};

TEST_P(LosslessFake, SameAsPlain) {
  constexpr int kVocab = 96, kBlocks = 128;
  constexpr ForwardLimits kLimits = {.max_rows = 24, .max_logit_rows = 9};
  const FakeTarget fake(kVocab, 5);
  FakeKvTarget target(fake, kBlocks, kLimits), draft(fake, kBlocks, kLimits);
  // The smaller model forgets one token in three of what the larger one knows.
  FakeTarget worse(kVocab, 5);
  for (size_t position = 0; position < 2000; position += 3) {
    worse.Force(position, static_cast<TokenId>(position % kVocab));
  }
  FakeKvTarget smaller(worse, kBlocks, kLimits);
  // Random tokens, then the kind of text that the target goes on with.
  std::vector<TokenId> prompt = fake.Prompt(12);
  std::mt19937 random(9);
  for (int i = 0; i < 24; ++i) prompt.push_back(static_cast<TokenId>(random() % kVocab));
  const auto& [drafter, control, temperature] = GetParam();
  LosslessCell cell({.target = &target,
                     .draft = &draft,
                     .smaller = &smaller,
                     .vocab_size = kVocab,
                     .kv_blocks = kBlocks,
                     .end_tokens = {kVocab - 1},
                     .prompt = prompt},
                    drafter, control, temperature, 48);
  cell.Check(24);
}

INSTANTIATE_TEST_SUITE_P(Cells, LosslessFake, kCells, CellName);

// The file without the layers from `layers` on: a real, smaller model with the same vocabulary.
std::vector<std::byte> Pruned(const GgufFile& file, int layers) {
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) {
    if (key == "llama.block_count") {
      writer.Set(key, static_cast<uint64_t>(layers));
    } else {
      writer.Set(key, value);
    }
  }
  for (const GgufTensor& tensor : file.tensors()) {
    int layer = -1;
    if (std::sscanf(tensor.name.c_str(), "blk.%d.", &layer) == 1 && layer >= layers) continue;
    writer.AddTensor(tensor.name, tensor.type, tensor.shape,
                     {tensor.data.begin(), tensor.data.end()});
  }
  return writer.Serialize();
}

// One loaded SmolLM2, and a layer-pruned one as its draft model, for all cells.
class RealSubject {
 public:
  // With f16 caches; null when the model is absent.
  static RealSubject* Get() {
    static RealSubject* const subject = Make(KvType::kF16).release();
    return subject;
  }
  static std::unique_ptr<RealSubject> Make(KvType kv) {
    const auto path = ModelPath("smollm2");
    return path ? std::unique_ptr<RealSubject>(new RealSubject(*path, kv)) : nullptr;
  }
  const Subject& subject() const { return subject_; }

 private:
  static constexpr int kBlocks = 96;

  RealSubject(const std::string& path, KvType kv) : pool_(2) {
    std::shared_ptr<const GgufFile> file = GgufFile::Open(path).value();
    tokenizer_ = Tokenizer::Create(*file).value();
    model_ = Model::Load(file, pool_, {.max_rows = 64, .max_logit_rows = 9}).value();
    pruned_bytes_ = Pruned(*file, static_cast<int>(file->GetInt("llama.block_count").value()) - 3);
    std::shared_ptr<const GgufFile> pruned = GgufFile::Parse(pruned_bytes_, "pruned").value();
    pruned_ = Model::Load(pruned, pool_, {.max_rows = 64, .max_logit_rows = 1}).value();
    const auto target = [&](Model& model) {
      return std::make_unique<ModelTarget>(model,
                                           ModelKv::Create(model.config(), kv, kBlocks).value());
    };
    target_ = target(*model_);
    draft_ = target(*model_);
    smaller_ = target(*pruned_);
    subject_ = {
        .target = target_.get(),
        .draft = draft_.get(),
        .smaller = smaller_.get(),
        .vocab_size = tokenizer_->vocab_size(),
        .kv_blocks = kBlocks,
        .end_tokens = tokenizer_->end_tokens(),
        .prompt = tokenizer_->Encode("one two three four five six seven, one two three four "
                                     "five six seven, one two three four",
                                     false)};
  }

  ThreadPool pool_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::vector<std::byte> pruned_bytes_;
  std::unique_ptr<Model> pruned_;
  std::unique_ptr<ModelTarget> target_, draft_, smaller_;
  Subject subject_;
};

class LosslessSmolLM2 : public testing::TestWithParam<Cell> {};

TEST_P(LosslessSmolLM2, SameAsPlain) {
  RealSubject* const real = RealSubject::Get();
  if (real == nullptr) GTEST_SKIP() << "model smollm2 is not in the model folder";
  const auto& [drafter, control, temperature] = GetParam();
  LosslessCell(real->subject(), drafter, control, temperature, 20).Check(12);
}

INSTANTIATE_TEST_SUITE_P(Cells, LosslessSmolLM2, kCells, CellName);

class LosslessHead : public testing::TestWithParam<Cell> {};

TEST_P(LosslessHead, SameAsPlain) {
  constexpr int kBlocks = 128;
  constexpr ForwardLimits kLimits = {.max_rows = 24, .max_logit_rows = 9};
  ThreadPool pool(2);
  const std::vector<std::byte> bytes = SuccessorModel();
  std::shared_ptr<const GgufFile> file = GgufFile::Parse(bytes, "successor").value();
  const auto model = Model::Load(file, pool, kLimits).value();
  ModelTarget target(*model, ModelKv::Create(model->config(), KvType::kF16, kBlocks).value());
  // A second opinion, and seldom the right one.
  FakeTarget other(kSuccessorVocab, 5);
  FakeKvTarget smaller(other, kBlocks, kLimits);
  // After one token in five it is mistaken.
  const auto& [drafter, control, temperature] = GetParam();
  HeadKind kind = HeadKind::kEagle3;
  if (drafter.starts_with("eagle") && !drafter.starts_with("eagle3")) kind = HeadKind::kEagle;
  if (drafter == "medusa") kind = HeadKind::kMedusa;
  const auto wrong = [](TokenId token) { return token % 5 == 1; };
  LoadedHead head(SuccessorHead(model->config(), wrong, kind), *model, pool,
                  {.max_rows = 24, .max_logit_rows = 4}, kBlocks);
  std::vector<TokenId> prompt = {1};
  while (prompt.size() < 36) prompt.push_back(Successor(prompt.back()));
  LosslessCell({.target = &target,
                .smaller = &smaller,
                .head = &head,
                .vocab_size = kSuccessorVocab,
                .kv_blocks = kBlocks,
                .end_tokens = {},
                .prompt = prompt},
               drafter, control, temperature, 48)
      .Check(24);
}

INSTANTIATE_TEST_SUITE_P(Cells, LosslessHead,
                         testing::Combine(testing::ValuesIn(LosslessHeads()),
                                          testing::ValuesIn(LosslessControls()),
                                          testing::Values(0.0f, 0.7f, 1.3f)),
                         CellName);

TEST(LosslessQ8Cache, SameAsPlain) {
  const auto real = RealSubject::Make(KvType::kQ8_0);
  if (real == nullptr) GTEST_SKIP() << "model smollm2 is not in the model folder";
  for (float temperature : {0.0f, 0.7f}) {
    LosslessCell(real->subject(), "merged", "none", temperature, 20).Check(12);
  }
}

}  // namespace
}  // namespace hunch
