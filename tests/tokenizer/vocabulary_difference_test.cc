#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/models.h"
#include "tokenizer/golden_vocabulary.h"

namespace hunch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kControl = 3, kUserDefined = 4, kUnused = 5;

// 300 tokens "<0>", "<1>", ... and padding up to `size`.
VocabularyFile Padded(size_t size) {
  VocabularyFile file;
  file.pre = "gpt-2";
  for (size_t id = 0; id < size; ++id) {
    file.tokens.push_back(id < 300 ? "<" + std::to_string(id) + ">"
                                   : "[PAD" + std::to_string(id) + "]");
    file.types.push_back(id < 300 ? 1 : kUnused);
  }
  return file;
}

std::unique_ptr<Tokenizer> Make(const VocabularyFile& file) {
  auto tokenizer = MakeTokenizer(file.Writer());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer).value();
}

TEST(VocabularyDifference, ModelsOfOneFamilyFit) {
  const auto golden = GoldenTokenizer("qwen2");
  EXPECT_EQ(VocabularyDifference(*golden, *golden), "");
  EXPECT_EQ(VocabularyDifference(*Make(Padded(320)), *Make(Padded(304))), "");
  EXPECT_EQ(VocabularyDifference(*Make(Padded(304)), *Make(Padded(320))), "");
  EXPECT_EQ(VocabularyDifference(*Make(Padded(320)), *Make(Padded(300))), "");
}

TEST(VocabularyDifference, SmolLmDoesNotDraftForQwen) {
  const auto qwen = GoldenTokenizer("qwen2");
  const auto smollm = GoldenTokenizer("smollm2");
  EXPECT_EQ(VocabularyDifference(*qwen, *smollm),
            "token 0 is \"!\" in the target and \"<|endoftext|>\" in the drafter");
  EXPECT_EQ(VocabularyDifference(*smollm, *qwen),
            "token 0 is \"<|endoftext|>\" in the target and \"!\" in the drafter");
}

TEST(VocabularyDifference, TwoTokensSwapped) {
  VocabularyFile swapped = Padded(300);
  std::swap(swapped.tokens[200], swapped.tokens[201]);
  EXPECT_EQ(VocabularyDifference(*Make(Padded(300)), *Make(swapped)),
            "token 200 is \"<200>\" in the target and \"<201>\" in the drafter");
}

TEST(VocabularyDifference, AMarkerHereAndTextThere) {
  VocabularyFile other = Padded(300);
  other.types[17] = kControl;
  EXPECT_THAT(VocabularyDifference(*Make(Padded(300)), *Make(other)),
              AllOf(HasSubstr("token 17"), HasSubstr("ordinary text in the target"),
                    HasSubstr("control token in the drafter")));
  other.types[17] = kUserDefined;  // text either way
  EXPECT_EQ(VocabularyDifference(*Make(Padded(300)), *Make(other)), "");
}

TEST(VocabularyDifference, NewerModelsMayNameWhatWasPadding) {
  VocabularyFile newer = Padded(320);
  newer.tokens[305] = "<think>";
  newer.types[305] = kUserDefined;
  EXPECT_EQ(VocabularyDifference(*Make(newer), *Make(Padded(320))), "");
  EXPECT_EQ(VocabularyDifference(*Make(Padded(320)), *Make(newer)), "");
}

TEST(VocabularyDifference, NothingInCommon) {
  VocabularyFile padding;
  padding.pre = "gpt-2";
  padding.tokens = {"[PAD]"};
  padding.types = {kUnused};
  EXPECT_THAT(VocabularyDifference(*Make(Padded(300)), *Make(padding)), HasSubstr("in common"));
}

TEST(VocabularyDifference, StartTokens) {
  VocabularyFile target = Padded(300), drafter = Padded(300);
  target.extra.Set("tokenizer.ggml.bos_token_id", uint64_t{1});
  drafter.extra.Set("tokenizer.ggml.bos_token_id", uint64_t{2});
  EXPECT_EQ(VocabularyDifference(*Make(target), *Make(drafter)), "");  // neither adds it
  target.extra.Set("tokenizer.ggml.add_bos_token", true);
  drafter.extra.Set("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(VocabularyDifference(*Make(target), *Make(drafter)),
            "texts start with token 1 (\"<1>\") in the target and 2 (\"<2>\") in the drafter");
}

TEST(VocabularyDifference, EndTokens) {
  VocabularyFile target = Padded(300), drafter = Padded(300);
  target.extra.Set("tokenizer.ggml.eos_token_id", uint64_t{1});
  target.extra.Set("tokenizer.ggml.eot_token_id", uint64_t{2});
  EXPECT_EQ(VocabularyDifference(*Make(target), *Make(drafter)), "");  // the drafter names none
  VocabularyFile same = drafter;
  same.extra.Set("tokenizer.ggml.eos_token_id", uint64_t{2});
  EXPECT_EQ(VocabularyDifference(*Make(target), *Make(same)), "");  // a base and a chat model
  drafter.extra.Set("tokenizer.ggml.eos_token_id", uint64_t{3});
  EXPECT_EQ(VocabularyDifference(*Make(target), *Make(drafter)),
            "no end token in common: 1 (\"<1>\"), 2 (\"<2>\") in the target, 3 (\"<3>\") in the "
            "drafter");
}

TEST(VocabularyDifference, TheRealPair) {
  HUNCH_REQUIRE_MODEL(target_path, "qwen2.5-coder-1.5b");
  HUNCH_REQUIRE_MODEL(drafter_path, "qwen2.5-coder-0.5b");
  const auto target = GgufFile::Open(target_path), drafter = GgufFile::Open(drafter_path);
  ASSERT_TRUE(target.ok() && drafter.ok());
  const auto target_tokenizer = Tokenizer::Create(**target);
  const auto drafter_tokenizer = Tokenizer::Create(**drafter);
  ASSERT_TRUE(target_tokenizer.ok() && drafter_tokenizer.ok());
  EXPECT_EQ(VocabularyDifference(**target_tokenizer, **drafter_tokenizer), "");
}

}  // namespace
}  // namespace hunch
