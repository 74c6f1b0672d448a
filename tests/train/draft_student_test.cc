// What is kept of a model, and that what is written is a model again, whose rows are the weights'.
#include "train/draft_student.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quant/quant.h"
#include "support/tiny_training.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr VocabularyId kVocabulary = TinyTraining::kVocabulary;

TEST(KeptLayers, AreTheFirstAndTheLast) {
  EXPECT_THAT(KeptLayers(30, 1), ElementsAre(0));
  EXPECT_THAT(KeptLayers(30, 2), ElementsAre(0, 29));
  EXPECT_THAT(KeptLayers(30, 6), ElementsAre(0, 1, 2, 3, 28, 29));
  EXPECT_THAT(KeptLayers(4, 4), ElementsAre(0, 1, 2, 3));
}

class DraftStudentTest : public testing::Test {
 protected:
  // All layers, or those, of a tiny model, as a file with matrices of that type.
  std::shared_ptr<const GgufFile> Exported(const std::string& model, std::vector<int> layers,
                                           TensorType type) {
    const auto student = Create(model, std::move(layers)).value();
    const Status written = student->Export(path_, *student->First(), type);
    HUNCH_CHECK(written.ok()) << written.error().message;
    return GgufFile::Open(path_).value();
  }
  Result<std::unique_ptr<DraftStudent>> Create(const std::string& model, std::vector<int> layers) {
    return DraftStudent::Create(GgufFile::Open(TinyModelPath(model)).value(), std::move(layers),
                                tiny_.target(), kVocabulary);
  }

  TinyTraining tiny_{8};
  const std::string path_ = tiny_.dir().Path("draft.gguf");
};

TEST_F(DraftStudentTest, WrittenInF32ItIsTheSameModel) {
  for (const char* const model : kTinyModels) {
    const auto written = Exported(model, {}, TensorType::kF32);
    const auto source = GgufFile::Open(TinyModelPath(model)).value();
    ASSERT_EQ(written->tensors().size(), source->tensors().size()) << model;
    for (const GgufTensor& tensor : source->tensors()) {
      const GgufTensor* const found = written->FindTensor(tensor.name);
      ASSERT_NE(found, nullptr) << model << " " << tensor.name;
      ASSERT_EQ(found->shape, tensor.shape);
      std::vector<float> wanted(tensor.elements()), values(tensor.elements());
      Dequantize(tensor.type, tensor.data, wanted);
      Dequantize(found->type, found->data, values);
      EXPECT_EQ(values, wanted) << model << " " << tensor.name;
    }
    for (const auto& [key, value] : source->metadata()) {
      if (key == "general.file_type") continue;
      EXPECT_EQ(written->metadata().at(key), value) << model << " " << key;
    }
    // It loads, with the tokenizer of the source.
    ModelRunner runner(path_);
    EXPECT_EQ(VocabularyDifference(*Tokenizer::Create(*source).value(),
                                   *Tokenizer::Create(*written).value()),
              "");
  }
}

// The tiny model with its layers 0, 1, 0, 1.
std::string WriteDoubled(const TempDir& dir) {
  const auto source = GgufFile::Open(TinyModelPath("llama")).value();
  GgufWriter writer;
  for (const auto& [key, value] : source->metadata()) writer.Set(key, value);
  writer.Set("llama.block_count", uint64_t{4});
  for (const GgufTensor& tensor : source->tensors()) {
    writer.AddTensorView(tensor.name, tensor.type, tensor.shape, tensor.data);
    if (!tensor.name.starts_with("blk.")) continue;
    std::string later = tensor.name;
    later[4] = static_cast<char>(later[4] + 2);
    writer.AddTensorView(later, tensor.type, tensor.shape, tensor.data);
  }
  const std::string path = dir.Path("doubled.gguf");
  HUNCH_CHECK(writer.WriteFile(path).ok());
  return path;
}

TEST_F(DraftStudentTest, KeepsTheLayersThatItIsToldTo) {
  const std::string doubled = WriteDoubled(tiny_.dir());
  const std::vector<TokenId> tokens = tiny_.set().all[0].text->tokens;
  const auto wanted = ModelRunner(TinyModelPath("llama")).ReadAll(tokens, 8);
  for (const std::vector<int>& layers : {std::vector<int>{0, 3}, {2}}) {
    const auto student =
        DraftStudent::Create(GgufFile::Open(doubled).value(), layers, tiny_.target(), kVocabulary);
    ASSERT_TRUE(student.ok()) << student.error().message;
    ASSERT_TRUE((*student)->Export(path_, *(*student)->First(), TensorType::kF32).ok());
    EXPECT_EQ(ModelRunner(path_).ReadAll(tokens, 8), wanted);
  }
}

TEST_F(DraftStudentTest, WritesTheTypeThatIsAskedFor) {
  const auto written = Exported("llama", {}, TensorType::kQ8_0);
  EXPECT_EQ(written->GetInt("general.file_type").value(), 7);
  EXPECT_EQ(written->FindTensor("token_embd.weight")->type, TensorType::kQ8_0);
  EXPECT_EQ(written->FindTensor("output_norm.weight")->type, TensorType::kF32);
  ModelRunner runner(path_);
}

TEST_F(DraftStudentTest, RefusesLayersThatTheSourceDoesNotHave) {
  const int layers = tiny_.target().config().layers;
  EXPECT_THAT(Create("llama", {layers + 1}).error().message, HasSubstr("--layers takes how many"));
  EXPECT_FALSE(Create("llama", {0}).ok());
  EXPECT_FALSE(Create("llama", {0, layers}).ok());
  EXPECT_FALSE(Create("llama", {1, 0}).ok());
  EXPECT_FALSE(Create("llama", {-1, 0}).ok());
}

}  // namespace
}  // namespace hunch
