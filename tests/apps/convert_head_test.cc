// hunch convert-head from published files to text that a head guessed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/app_harness.h"
#include "support/files.h"
#include "support/model_runner.h"
#include "support/published_heads.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

class ConvertHead : public ::testing::Test {
 protected:
  ConvertHead() { app_.load = &Llm::Load; }
  // What others would publish for the tiny model, as safetensors or by torch.
  HeadConfig Publish(HeadKind kind, bool torch) {
    const auto file = GgufFile::Open(model_).value();
    HeadConfig config = SmallHead(ReadModelConfig(*file).value(), 288, kind);
    if (kind == HeadKind::kEagle3) config.taps = {0, 1};
    const RawTensors tensors = PublishedTensors(config, 3, "layers.0.");
    const std::string folder = std::string(HeadKindName(kind));
    if (torch) {
      folder_.Write(folder + "/pytorch_model.bin", TorchFileOf(tensors));
    } else {
      folder_.Write(folder + "/model.safetensors", SafetensorsOf(tensors));
    }
    Json json = PublishedJson(config);
    if (kind == HeadKind::kEagle3) json["eagle_aux_hidden_state_layer_ids"] = {1, 2};
    folder_.Write(folder + "/config.json", json.dump());
    return config;
  }
  nlohmann::ordered_json Answer(const std::string& speculation) {
    EXPECT_EQ(app_.Run({"run", "--model", model_, "--raw", "--json", "--max-tokens", "40",
                        "--ignore-eos", "--speculative-config", speculation, "abcabc"}),
              kExitOk)
        << app_.err();
    return app_.Json();
  }

  AppHarness app_;
  TempDir folder_;
  const std::string model_ = TinyModelPath("llama");
  const std::string out_ = folder_.Path("head.gguf");
};

TEST_F(ConvertHead, WhatItWritesGuessesAndChangesNoText) {
  const auto plain = Answer(R"({"method": "none"})");
  for (const HeadKind kind : {HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa}) {
    const std::string name(HeadKindName(kind));
    const HeadConfig config = Publish(kind, /*torch=*/kind != HeadKind::kEagle3);
    ASSERT_EQ(app_.Run({"convert-head", folder_.Path(name), "--model", model_, "-o", out_}),
              kExitOk)
        << app_.err();
    EXPECT_EQ(app_.out(), "");
    EXPECT_THAT(app_.err(),
                HasSubstr("a head of kind " + name + " that guesses 288 of 288 tokens"));
    EXPECT_THAT(app_.err(), HasSubstr(kind == HeadKind::kEagle3 ? "from layers 0, 1, matrices Q8_0"
                                                                : "from layer 2, matrices Q8_0"));
    const auto read = ReadHeadConfig(*GgufFile::Open(out_).value());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->taps, config.taps);
    const auto guessed = Answer(R"({"num_speculative_tokens": 4, "method": ")" + name +
                                R"(", "model": ")" + out_ + "\"}");
    EXPECT_GT(guessed["speculation"]["draft_tokens"], 0);
    EXPECT_EQ(guessed["token_ids"], plain["token_ids"]);
  }
}

TEST_F(ConvertHead, TakesAFileAnotherTypeAndOtherTaps) {
  Publish(HeadKind::kEagle3, /*torch=*/false);
  ASSERT_EQ(app_.Run({"convert-head", folder_.Path("eagle3/model.safetensors"), "--model", model_,
                      "-o", out_, "--quantization", "q4_0", "--taps", "1,2"}),
            kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--taps 1,2 are not at most 8 layers from 0 to 1"));
  ASSERT_EQ(app_.Run({"convert-head", folder_.Path("eagle3/model.safetensors"), "--model", model_,
                      "-o", out_, "--quantization", "q4_0", "--taps", "1,0"}),
            kExitOk);
  const auto file = GgufFile::Open(out_).value();
  EXPECT_EQ(file->FindTensor("fc.weight")->type, TensorType::kQ4_0);
  EXPECT_EQ(file->FindTensor("output_norm.weight")->type, TensorType::kF32);
}

TEST_F(ConvertHead, SaysWhatIsWrong) {
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& what) {
    std::vector<std::string> all = {"convert-head", "--model", model_};
    all.insert(all.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(app_.Run(all), kExitUsage);
    EXPECT_THAT(app_.err(), HasSubstr(what));
    EXPECT_FALSE(std::filesystem::exists(out_)) << "nothing is written";
  };
  Publish(HeadKind::kEagle3, /*torch=*/false);
  const std::string head = folder_.Path("eagle3");
  fails({"-o", out_}, "hunch convert-head: no head to convert; name its file");
  fails({head}, "nowhere to write to; give -o PATH");
  fails({head, "b", "-o", out_}, "unexpected argument 'b'; give one head");
  fails({head, "-o", out_, "--quantization", "q2_k"}, "unknown type 'q2_k'");
  fails({folder_.Path("none"), "-o", out_}, "none: cannot open the checkpoint");
  fails({folder_.path(), "-o", out_}, "has none of model.safetensors, pytorch_model.bin");
  fails({model_, "-o", out_}, "it begins neither as a zip file nor with the length of a table");
  folder_.Write("bare/model.safetensors", ReadFile(head + "/model.safetensors"));
  fails({folder_.Path("bare"), "-o", out_}, "there is no config.json beside it");
  folder_.Write("bare/config.json", "{");
  fails({folder_.Path("bare"), "-o", out_}, "config.json: bad JSON");
  // A head for a model with other embeddings.
  const auto file = GgufFile::Open(model_).value();
  HeadConfig config = SmallHead(ReadModelConfig(*file).value(), 288, HeadKind::kEagle);
  RawTensors tensors = PublishedTensors(config, 3);
  std::vector<float> embeddings(288 * 64);
  std::mt19937 random(1);
  std::normal_distribution<float> noise;
  for (float& value : embeddings) value = noise(random);
  tensors["embed_tokens.weight"] = FloatTensor({288, 64}, embeddings);
  folder_.Write("other/pytorch_model.bin", TorchFileOf(tensors));
  folder_.Write("other/config.json", PublishedJson(config).dump());
  fails({folder_.Path("other"), "-o", out_}, "its embeddings are not this model's");
  // What torch itself would have run.
  RawZip evil = {.entries = {{"a/data.pkl", pickled::kBegin + pickled::Global("os", "system") +
                                                pickled::Text("touch pwned") + "\x85R."}}};
  folder_.Write("evil/pytorch_model.bin", evil.Build());
  fails({folder_.Path("evil"), "-o", out_}, "its pickle asks for os.system");
}

}  // namespace
}  // namespace hunch
