// Model files that cannot be right, or are of a kind that Hunch does not know: one clear error
// each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

// A tiny model's file with some keys set anew and some tensors left out or added.
struct Edit {
  std::map<std::string, GgufValue> set;
  std::string drop_key;
  std::string drop_tensor;
  std::string add_tensor;
  std::string retype_tensor;  // its shape becomes one row less
  std::string deepen_tensor;  // its shape gets two more dimensions of 1
  bool one_row_ffn = false;  // a feed-forward block of width 1 whose gate and up have one dimension
};

std::vector<std::byte> Edited(const std::string& name, const Edit& edit) {
  const auto file = GgufFile::Open(TinyModelPath(name)).value();
  GgufWriter writer;
  for (const auto& [key, value] : file->metadata()) {
    if (key != edit.drop_key && !edit.set.contains(key)) writer.Set(key, value);
  }
  for (const auto& [key, value] : edit.set) writer.Set(key, value);
  for (const GgufTensor& tensor : file->tensors()) {
    if (tensor.name == edit.drop_tensor) continue;
    std::vector<std::byte> data(tensor.data.begin(), tensor.data.end());
    std::vector<int64_t> shape = tensor.shape;
    if (tensor.name == edit.retype_tensor) {
      data.resize(data.size() / shape.back() * (shape.back() - 1));
      --shape.back();
    }
    if (tensor.name == edit.deepen_tensor) shape.insert(shape.end(), {1, 1});
    if (edit.one_row_ffn && tensor.name.find("ffn_norm") == std::string::npos &&
        tensor.name.find("ffn_") != std::string::npos) {
      const bool down = tensor.name.find("ffn_down") != std::string::npos;
      const int64_t hidden = down ? shape.back() : shape.front();
      shape = down ? std::vector<int64_t>{1, hidden} : std::vector<int64_t>{hidden};
      writer.AddTensor(tensor.name, TensorType::kF32, shape, std::vector<std::byte>(4 * hidden));
      continue;
    }
    writer.AddTensor(tensor.name, tensor.type, shape, std::move(data));
  }
  if (!edit.add_tensor.empty()) {
    writer.AddTensor(edit.add_tensor, TensorType::kF32, {4}, std::vector<std::byte>(16));
  }
  return writer.Serialize();
}

// What loading says: "loaded" or the error.
std::string Load(const std::string& name, const Edit& edit) {
  const auto bytes = Edited(name, edit);
  auto file = GgufFile::Parse(bytes, "edited.gguf");
  HUNCH_CHECK(file.ok()) << file.error().message;
  ThreadPool pool(1);
  auto model = Model::Load(std::move(file).value(), pool, {.max_rows = 4, .max_logit_rows = 1});
  return model.ok() ? "loaded" : model.error().message;
}

TEST(ModelConfig, TheUneditedFilesLoad) {
  for (const char* name : kTinyModels) EXPECT_EQ(Load(name, {}), "loaded") << name;
}

// Such a matrix was packed past the end of the memory that was counted for it.
TEST(ModelConfig, AMatrixOfOneDimensionIsRefused) {
  EXPECT_THAT(
      Load("llama_f16", {.set = {{"llama.feed_forward_length", uint64_t{1}}}, .one_row_ffn = true}),
      testing::HasSubstr("has one dimension"));
}

TEST(ModelConfig, AnUnknownArchitectureIsRefusedByNameWithTheKnownOnes) {
  EXPECT_THAT(
      Load("llama", {.set = {{"general.architecture", std::string("mamba")}}}),
      testing::AllOf(testing::HasSubstr("'mamba'"), testing::HasSubstr("llama, qwen2, qwen3")));
}

TEST(ModelConfig, NumbersThatCannotBeAreNamed) {
  const std::pair<const char*, GgufValue> cases[] = {
      {"llama.block_count", uint64_t{0}},
      {"llama.block_count", uint64_t{1} << 40},
      {"llama.embedding_length", uint64_t{0}},
      {"llama.feed_forward_length", uint64_t{1} << 31},
      {"llama.attention.head_count", uint64_t{0}},
      {"llama.attention.head_count_kv", uint64_t{3}},
      {"llama.attention.head_count_kv", uint64_t{0}},
      {"llama.context_length", uint64_t{0}},
      {"llama.context_length", std::string("long")},
      {"llama.rope.dimension_count", uint64_t{3}},
      {"llama.rope.dimension_count", uint64_t{4096}},
      {"llama.rope.freq_base", -1.0},
      {"llama.attention.layer_norm_rms_epsilon", 2.0},
  };
  for (const auto& [key, value] : cases) {
    const std::string said = Load("llama", {.set = {{key, value}}});
    EXPECT_NE(said, "loaded") << key;
    EXPECT_THAT(said, testing::HasSubstr("edited.gguf")) << key;
  }
}

TEST(ModelConfig, MissingKeysAndTensorsAreNamed) {
  for (const char* key :
       {"llama.block_count", "llama.embedding_length", "llama.attention.head_count",
        "llama.attention.layer_norm_rms_epsilon", "general.architecture"}) {
    EXPECT_THAT(Load("llama", {.drop_key = key}), testing::HasSubstr(key));
  }
  for (const char* tensor : {"token_embd.weight", "blk.0.attn_q.weight", "output_norm.weight"}) {
    EXPECT_THAT(Load("llama", {.drop_tensor = tensor}), testing::HasSubstr(tensor));
  }
  EXPECT_THAT(Load("qwen3", {.drop_tensor = "blk.0.attn_q_norm.weight"}),
              testing::HasSubstr("blk.0.attn_q_norm.weight"));
}

TEST(ModelConfig, ATensorOfAnotherShapeIsNamed) {
  for (const char* tensor :
       {"blk.0.attn_q.weight", "blk.1.ffn_down.weight", "output_norm.weight"}) {
    EXPECT_THAT(Load("llama", {.retype_tensor = tensor}), testing::HasSubstr(tensor));
  }
}

// Leaving out what one does not know would change the text without a word.
TEST(ModelConfig, WhatWouldChangeTheArithmeticIsRefused) {
  EXPECT_THAT(Load("llama", {.add_tensor = "blk.0.attn_sinks"}), testing::HasSubstr("attn_sinks"));
  EXPECT_THAT(Load("llama", {.set = {{"llama.expert_count", uint64_t{8}}}}),
              testing::HasSubstr("mixture-of-experts"));
  EXPECT_THAT(Load("llama", {.set = {{"llama.rope.scaling.type", std::string("yarn")}}}),
              testing::HasSubstr("yarn"));
  EXPECT_THAT(Load("qwen2", {.set = {{"qwen2.attention.sliding_window", uint64_t{16}}}}),
              testing::HasSubstr("sliding-window"));
}

TEST(ModelConfig, ABiasThatTheArchitectureHasIsMissed) {
  for (const char* part : {"q", "k", "v"}) {
    const std::string name = fmt::format("blk.1.attn_{}.bias", part);
    EXPECT_EQ(Load("qwen2", {.drop_tensor = name}), "edited.gguf: tensor " + name + " is missing");
  }
}

TEST(ModelConfig, AWrongShapeIsShownWhole) {
  EXPECT_EQ(Load("llama", {.deepen_tensor = "blk.0.ffn_down.weight"}),
            "edited.gguf: tensor blk.0.ffn_down.weight is 80 x 64 x 1 x 1, expected 80 x 64");
}

}  // namespace
}  // namespace hunch
