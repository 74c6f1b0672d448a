#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/golden_vocabulary.h"

namespace hunch {
namespace {

constexpr PreTokenizer kAll[] = {PreTokenizer::kGpt2, PreTokenizer::kSmolLm, PreTokenizer::kQwen2,
                                 PreTokenizer::kLlama3};

std::vector<std::string> Pieces(PreTokenizer kind, std::string_view text) {
  std::vector<std::string> pieces;
  PreTokenScanner scanner(kind, text);
  for (std::string_view piece; scanner.Next(&piece);) pieces.emplace_back(piece);
  return pieces;
}

TEST(PreTokenizer, CutsLikeThePublishedPatterns) {
  for (const auto& row : ReadGoldenLines("tokenizer/pieces.jsonl")) {
    const std::string text = row["text"];
    for (const char* name : {"gpt-2", "smollm", "qwen2", "llama-bpe"}) {
      std::vector<int> lengths;
      for (const std::string& piece : Pieces(FindPreTokenizer(name)->kind, text)) {
        int characters = 0;
        for (size_t i = 0; i < piece.size(); i += DecodeUtf8(piece, i).length) ++characters;
        lengths.push_back(characters);
      }
      EXPECT_EQ(lengths, row[name].get<std::vector<int>>()) << name << " " << row["text"];
    }
  }
}

TEST(PreTokenizer, KnownNamesOnly) {
  EXPECT_EQ(FindPreTokenizer("llama3")->kind, PreTokenizer::kLlama3);
  EXPECT_EQ(FindPreTokenizer("llama-v3")->kind, PreTokenizer::kLlama3);
  EXPECT_TRUE(FindPreTokenizer("qwen2")->nfc);
  EXPECT_TRUE(FindPreTokenizer("llama-bpe")->ignore_merges);
  for (const char* name : {"", "default", "gpt2", "QWEN2", "deepseek-llm"}) {
    EXPECT_EQ(FindPreTokenizer(name), nullptr) << name;
  }
  EXPECT_EQ(KnownPreTokenizers(), "gpt-2, smollm, qwen2, llama-bpe, llama3, llama-v3");
}

// A byte that is not UTF-8 is one character of the symbol class.
TEST(PreTokenizer, InvalidBytesAreSymbols) {
  const std::vector<std::string> symbols = {"ab", "\xE6\xAD!", "cd"};
  EXPECT_EQ(Pieces(PreTokenizer::kGpt2, "ab\xE6\xAD!cd"), symbols);
  EXPECT_EQ(Pieces(PreTokenizer::kQwen2,
                   "ab\xE6\xAD\xFF"
                   "cd"),
            (std::vector<std::string>{"ab", "\xE6\xAD\xFF", "cd"}));
  EXPECT_EQ(Pieces(PreTokenizer::kQwen2,
                   "ab\xFF"
                   "cd"),
            (std::vector<std::string>{"ab",
                                      "\xFF"
                                      "cd"}));
}

TEST(PreTokenizer, PiecesOfAnyBytesAreTheText) {
  std::mt19937 random(5);
  const std::string_view likely = " \n\r'sSlL1a\xC3\xA9\xE4\xB8\xAD\x80";
  for (int round = 0; round < 4000; ++round) {
    std::string text(random() % 60, '\0');
    for (char& c : text) {
      c = random() % 3 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    }
    for (const PreTokenizer kind : kAll) {
      std::string joined;
      for (const std::string& piece : Pieces(kind, text)) {
        ASSERT_FALSE(piece.empty());
        joined += piece;
      }
      ASSERT_EQ(joined, text);
    }
  }
}

// Each of these makes one of the alternatives look far ahead again and again.
TEST(PreTokenizer, LongRunsAreNotQuadratic) {
  for (const std::string_view unit :
       {"a", "^", " ", "\n", "1", "'", " \n", "\n ", "\r\n", "\t", "'s", " a", " !", "a\n", "1 ",
        "\xFF", "\xE6\xAD", "\u0301", "\u00a0"}) {
    std::string text;
    while (text.size() < 1000000) text += unit;
    for (const PreTokenizer kind : kAll) {
      PreTokenScanner scanner(kind, text);
      size_t length = 0;
      for (std::string_view piece; scanner.Next(&piece);) length += piece.size();
      EXPECT_EQ(length, text.size());
    }
  }
}

}  // namespace
}  // namespace hunch
