// Ids equal to those of Hugging Face tokenizers, for every pre-tokenizer and on the real models'
// files.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/models.h"
#include "tokenizer/golden_vocabulary.h"

namespace hunch {
namespace {

std::string DecodeStream(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  StreamDecoder decoder;
  std::string text;
  for (const TokenId token : tokens) text += decoder.Push(tokenizer.TokenBytes(token));
  return text + decoder.Flush();
}

void ExpectRows(const Tokenizer& tokenizer, const std::string& file) {
  int failures = 0;
  for (const auto& row : ReadGoldenLines(file)) {
    const std::string text = row["text"];
    const auto expected = row["ids"].get<std::vector<TokenId>>();
    const std::vector<TokenId> ids = tokenizer.Encode(text, true);
    EXPECT_EQ(ids, expected) << file << ": " << row["text"];
    if (row.contains("decoded")) {
      EXPECT_EQ(DecodeStream(tokenizer, ids), row["decoded"].get<std::string>()) << row["text"];
    }
    if (ids != expected && ++failures == 5) FAIL() << "stopped after five rows";
  }
}

TEST(GoldenIds, SmolLm2) {
  const auto tokenizer = GoldenTokenizer("smollm2");
  ExpectRows(*tokenizer, "oracle/tokens_smollm2.jsonl");
  ExpectRows(*tokenizer, "tokenizer/ids_smollm.jsonl");
}

TEST(GoldenIds, Qwen2) {
  const auto tokenizer = GoldenTokenizer("qwen2");
  ExpectRows(*tokenizer, "oracle/tokens_qwen2.jsonl");
  ExpectRows(*tokenizer, "tokenizer/ids_qwen2.jsonl");
}

TEST(GoldenIds, Gpt2) { ExpectRows(*GoldenTokenizer("gpt-2"), "tokenizer/ids_gpt-2.jsonl"); }

TEST(GoldenIds, Llama3) {
  ExpectRows(*GoldenTokenizer("llama-bpe"), "tokenizer/ids_llama-bpe.jsonl");
}

struct RealModel {
  const char* name;
  const char* golden;
  const char* oracle;
};

class RealModelIds : public testing::TestWithParam<RealModel> {};

TEST_P(RealModelIds, EqualTheOracles) {
  HUNCH_REQUIRE_MODEL(path, GetParam().name);
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto tokenizer = Tokenizer::Create(**file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  ExpectRows(**tokenizer, GetParam().oracle);

  const auto golden = GoldenTokenizer(GetParam().golden);
  EXPECT_EQ(VocabularyDifference(*golden, **tokenizer), "");
  EXPECT_EQ(golden->vocab_size(), (*tokenizer)->vocab_size());
  EXPECT_EQ(golden->end_tokens(), (*tokenizer)->end_tokens());
  EXPECT_EQ(golden->bos(), (*tokenizer)->bos());
  EXPECT_EQ(golden->add_bos(), (*tokenizer)->add_bos());
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealModelIds,
    testing::Values(RealModel{"smollm2", "smollm2", "oracle/tokens_smollm2.jsonl"},
                    RealModel{"qwen2.5-coder-0.5b", "qwen2", "oracle/tokens_qwen2.jsonl"},
                    RealModel{"qwen2.5-coder-1.5b", "qwen2", "oracle/tokens_qwen2.jsonl"}),
    [](const auto& test) { return "Model" + std::to_string(test.index); });

}  // namespace
}  // namespace hunch
