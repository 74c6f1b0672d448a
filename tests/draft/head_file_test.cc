// Tests of the head file: what is written is read, and whatever is wrong is refused by name.
#include "draft/head_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/heads.h"

namespace hunch {
namespace {

using testing::HasSubstr;

HeadConfig Config(HeadKind kind = HeadKind::kEagle3) {
  ModelConfig target;
  target.architecture = "llama";
  target.hidden = 32;
  target.layers = 6;
  HeadConfig config = SmallHead(target, 50, kind);
  config.tokens = {1, 2, 40};
  return config;
}
HeadConfig Medusa() { return Config(HeadKind::kMedusa); }

Result<HeadConfig> Read(std::vector<std::byte> bytes) {
  const auto file = GgufFile::Parse(bytes, "h.gguf");
  if (!file.ok()) return file.error();
  return ReadHeadConfig(**file);
}

// The file of `config` with something else done to it.
class Altered {
 public:
  explicit Altered(const HeadConfig& config) {
    bytes_ = HeadBytes(config, RandomValues(1));
    file_ = GgufFile::Parse(bytes_, "h.gguf").value();
  }
  Altered& Without(std::string_view key_or_tensor) {
    left_out_ = key_or_tensor;
    return *this;
  }
  Altered& With(std::string_view key, GgufValue value) {
    changes_.emplace_back(key, std::move(value));
    return *this;
  }
  // A tensor of this name and shape takes the place of its namesake, if any.
  Altered& WithTensor(std::string_view name, std::vector<int64_t> shape) {
    left_out_ = name;
    added_ = {std::string(name), std::move(shape)};
    return *this;
  }
  std::string Message() const {
    GgufWriter writer;
    for (const auto& [key, value] : file_->metadata()) {
      if (key != left_out_) writer.Set(key, value);
    }
    for (const auto& [key, value] : changes_) writer.Set(key, value);
    for (const GgufTensor& tensor : file_->tensors()) {
      if (tensor.name == left_out_) continue;
      writer.AddTensor(tensor.name, tensor.type, tensor.shape,
                       {tensor.data.begin(), tensor.data.end()});
    }
    if (!added_.first.empty()) {
      int64_t elements = 1;
      for (const int64_t dim : added_.second) elements *= dim;
      writer.AddTensor(added_.first, TensorType::kF32, added_.second,
                       std::vector<std::byte>(elements * sizeof(float)));
    }
    const auto read = Read(writer.Serialize());
    return read.ok() ? "it was read" : read.error().message;
  }
  const GgufFile& file() const { return *file_; }

 private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<GgufFile> file_;
  std::string left_out_;
  std::vector<std::pair<std::string, GgufValue>> changes_;
  std::pair<std::string, std::vector<int64_t>> added_;
};

TEST(HeadFile, WhatIsWrittenIsRead) {
  const HeadConfig written = Config();
  const auto read = Read(HeadBytes(written, RandomValues(1), TensorType::kF16));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->kind, HeadKind::kEagle3);
  EXPECT_EQ(read->target.architecture, "llama");
  EXPECT_EQ(read->target.vocabulary.fingerprint, 77u);
  EXPECT_EQ(read->target.vocabulary.size, 50);
  EXPECT_EQ(read->target.hidden, 32);
  EXPECT_EQ(read->target.layers, 6);
  EXPECT_EQ(read->taps, (std::vector<int>{0, 5, 6}));
  EXPECT_EQ(read->tokens, (std::vector<TokenId>{1, 2, 40}));
  EXPECT_EQ(read->heads, written.heads);
  EXPECT_EQ(read->kv_heads, written.kv_heads);
  EXPECT_EQ(read->head_dim, written.head_dim);
  EXPECT_EQ(read->ffn, written.ffn);
  EXPECT_EQ(read->rope_theta, written.rope_theta);
  EXPECT_EQ(read->norm_eps, written.norm_eps);

  const auto medusa = Read(HeadBytes(Medusa(), RandomValues(1)));
  ASSERT_TRUE(medusa.ok()) << medusa.error().message;
  EXPECT_EQ(medusa->kind, HeadKind::kMedusa);
  EXPECT_EQ(medusa->medusa_heads, 3);

  HeadConfig eagle = Config(HeadKind::kEagle);
  eagle.tokens.clear();
  const auto plain = Read(HeadBytes(eagle, RandomValues(1)));
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->output_rows(), 50);
  EXPECT_EQ(Altered(eagle).Without(head_tensors::kFcBias).Message(), "it was read");
}

TEST(HeadFile, EveryKeyAndTensorIsNeeded) {
  for (const HeadConfig& config : {Config(), Medusa()}) {
    const Altered whole(config);
    for (const auto& [key, value] : whole.file().metadata()) {
      // Without a list of tokens it guesses all of them, for which the output matrix is too small.
      const std::string blamed =
          key == head_keys::kTokens
              ? (config.kind == HeadKind::kMedusa ? "medusa.0.output.weight" : "output.weight")
              : key;
      EXPECT_THAT(Altered(config).Without(key).Message(), HasSubstr(blamed)) << key;
    }
    for (const GgufTensor& tensor : whole.file().tensors()) {
      EXPECT_EQ(Altered(config).Without(tensor.name).Message(),
                "h.gguf: tensor " + tensor.name + " is missing");
    }
  }
}

TEST(HeadFile, WrongValuesAreNamed) {
  using Ints = std::vector<int64_t>;
  const auto message = [](std::string_view key, GgufValue value) {
    return Altered(Config()).With(key, std::move(value)).Message();
  };
  EXPECT_THAT(message(head_keys::kArchitecture, std::string("llama")), HasSubstr("it is no head"));
  EXPECT_THAT(message(head_keys::kVersion, uint64_t{2}), HasSubstr("version 2"));
  EXPECT_THAT(message(head_keys::kKind, std::string("hydra")),
              HasSubstr("known kinds: eagle3, eagle, medusa"));
  for (const char* hash :
       {"", "12", "00000000000000zz", "0x00000000000077", "000000000000000077"}) {
    EXPECT_THAT(message(head_keys::kVocabularyHash, std::string(hash)),
                HasSubstr("16 hexadecimal digits"))
        << hash;
  }
  EXPECT_THAT(message(head_keys::kTaps, Ints{}), HasSubstr("head.taps has 0 layers"));
  EXPECT_THAT(message(head_keys::kTaps, Ints{0, 7}), HasSubstr("7 follows 0"));
  EXPECT_THAT(message(head_keys::kTaps, Ints{2, 1}), HasSubstr("1 follows 2"));
  EXPECT_THAT(message(head_keys::kTaps, Ints{-1}), HasSubstr("head.taps"));
  EXPECT_THAT(message(head_keys::kTokens, Ints{1, 2, 50}), HasSubstr("50 follows 2"));
  EXPECT_THAT(message(head_keys::kTokens, Ints{1, 1, 2}), HasSubstr("1 follows 1"));
  EXPECT_THAT(message(head_keys::kTokens, Ints{}), HasSubstr("no tokens"));
  EXPECT_THAT(message(head_keys::kTokens, std::string("1")), HasSubstr("head.tokens"));
  EXPECT_THAT(message(head_keys::kHeads, uint64_t{3}), HasSubstr("multiple"));
  EXPECT_THAT(message(head_keys::kHeads, uint64_t{0}), HasSubstr("head.heads = 0"));
  EXPECT_THAT(message(head_keys::kHeadDim, uint64_t{24}), HasSubstr("16"));
  EXPECT_THAT(message(head_keys::kFeedForward, int64_t{-5}), HasSubstr("head.feed_forward = -5"));
  EXPECT_THAT(message(head_keys::kRopeTheta, 0.5), HasSubstr("head.rope_theta"));
  EXPECT_THAT(message(head_keys::kNormEps, 1.0), HasSubstr("head.norm_eps"));
  EXPECT_THAT(message(head_keys::kHiddenSize, uint64_t{64}), HasSubstr("fc.weight is 96 x 32"));
  EXPECT_THAT(message(head_keys::kLayers, uint64_t{1} << 40), HasSubstr("head.target.layers"));
  EXPECT_THAT(Altered(Medusa()).With(head_keys::kMedusaHeads, uint64_t{17}).Message(),
              HasSubstr("head.medusa.heads = 17"));
  EXPECT_THAT(Altered(Medusa()).With(head_keys::kMedusaHeads, uint64_t{2}).Message(),
              HasSubstr("medusa.2.fc.weight is no part of a head of kind medusa"));
  EXPECT_THAT(Altered(Medusa()).With(head_keys::kTaps, Ints{5, 6}).Message(),
              HasSubstr("reads 1 to 1"));
}

TEST(HeadFile, WrongTensorsAreNamed) {
  const auto message = [](std::string_view name, std::vector<int64_t> shape) {
    return Altered(Config()).WithTensor(name, std::move(shape)).Message();
  };
  EXPECT_EQ(message(head_tensors::kQ, {64, 63}),
            "h.gguf: tensor attn_q.weight is 64 x 63, expected 64 x 64");
  EXPECT_THAT(message(head_tensors::kQ, {64, 64, 1}), HasSubstr("expected 64 x 64"));
  EXPECT_THAT(message(head_tensors::kFfnNorm, {32, 1}), HasSubstr("expected 32"));
  EXPECT_THAT(message("rope_freqs.weight", {8}),
              HasSubstr("rope_freqs.weight is no part of a head of kind eagle3"));
}

TEST(HeadFile, AHeadForAnotherTargetSaysWhatDiffers) {
  const HeadConfig config = Config();
  const auto message = [&](const std::function<void(HeadTarget&)>& change) {
    HeadTarget target = config.target;
    change(target);
    const Status status = CheckHeadTarget(config, "h.gguf", target, "t.gguf");
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(message([](HeadTarget&) {}), "");
  EXPECT_EQ(message([](HeadTarget& t) { t.architecture = "qwen2"; }),
            "h.gguf is a head for another target than t.gguf: architecture llama, not qwen2; use a "
            "head that was trained for this model");
  EXPECT_THAT(message([](HeadTarget& t) { t.hidden = 64; }), HasSubstr("hidden size 32, not 64"));
  EXPECT_THAT(message([](HeadTarget& t) { t.layers = 7; }), HasSubstr("layers 6, not 7"));
  EXPECT_THAT(message([](HeadTarget& t) { t.vocabulary.size = 51; }),
              HasSubstr("tokens 50, not 51"));
  EXPECT_THAT(message([](HeadTarget& t) { t.vocabulary.fingerprint = 78; }),
              HasSubstr("vocabulary 000000000000004d, not 000000000000004e"));
}

TEST(HeadFile, NoDamagedHeaderDoesHarm) {
  const std::vector<std::byte> whole = HeadBytes(Config(), RandomValues(1));
  std::mt19937 random(3);
  int refused = 0;
  for (int run = 0; run < 4000; ++run) {
    std::vector<std::byte> bytes = whole;
    for (int damages = 0; damages < 1 + run % 3; ++damages) {
      bytes[random() % 1800] = static_cast<std::byte>(random());
    }
    if (run % 10 == 0) bytes.resize(random() % bytes.size());
    refused += !Read(std::move(bytes)).ok();
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace hunch
