// The vocabularies of tests/golden/tokenizer (scripts/make_tokenizer_golden.py) as tokenizers.
#ifndef HUNCH_TESTS_TOKENIZER_GOLDEN_VOCABULARY_H_
#define HUNCH_TESTS_TOKENIZER_GOLDEN_VOCABULARY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.h"
#include "tokenizer/tokenizer.h"
#include "weights/gguf.h"

namespace hunch {

// tokenizer.ggml.* of one vocabulary, every field free to be changed.
struct VocabularyFile {
  std::string pre;
  std::vector<std::string> tokens, merges;
  std::vector<int64_t> types;
  GgufWriter extra;  // all other keys

  GgufWriter Writer() const {
    GgufWriter writer = extra;
    writer.Set("tokenizer.ggml.model", std::string("gpt2"));
    writer.Set("tokenizer.ggml.pre", pre);
    writer.Set("tokenizer.ggml.tokens", tokens);
    writer.Set("tokenizer.ggml.merges", merges);
    writer.Set("tokenizer.ggml.token_type", types);
    return writer;
  }
};

inline Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const GgufWriter& writer) {
  const std::vector<std::byte> bytes = writer.Serialize();
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Parse(bytes, "test.gguf"));
  return Tokenizer::Create(*file);
}

// "smollm2", "qwen2" (the models' own), "gpt-2", "llama-bpe" (small, trained for these tests).
inline VocabularyFile GoldenVocabulary(std::string_view name) {
  const auto json =
      nlohmann::json::parse(ReadFile(GoldenPath("tokenizer/" + std::string(name) + ".json")));
  VocabularyFile file;
  file.pre = json["pre"];
  if (json.contains("tokens")) {
    file.tokens = json["tokens"].get<std::vector<std::string>>();
    file.merges = json["merges"].get<std::vector<std::string>>();
  } else {
    file.tokens = json["head"].get<std::vector<std::string>>();
    const std::string pairs = ReadFile(GoldenPath("tokenizer/" + std::string(name) + ".bin"));
    const auto id_at = [&](size_t at) {  // three bytes, little-endian
      return static_cast<uint8_t>(pairs[at]) | static_cast<uint8_t>(pairs[at + 1]) << 8 |
             static_cast<uint8_t>(pairs[at + 2]) << 16;
    };
    for (size_t at = 0; at < pairs.size(); at += 6) {
      const std::string& left = file.tokens.at(id_at(at));
      const std::string& right = file.tokens.at(id_at(at + 3));
      file.merges.push_back(left + " " + right);
      file.tokens.push_back(left + right);
    }
    for (const std::string text : json["tail"]) file.tokens.push_back(text);
  }
  file.types.assign(file.tokens.size(), 1);
  for (const auto& [id, type] : json["types"].items()) file.types.at(std::stoul(id)) = type;
  file.extra.Set("tokenizer.ggml.bos_token_id", json["bos"].get<uint64_t>());
  file.extra.Set("tokenizer.ggml.eos_token_id", json["eos"].get<uint64_t>());
  file.extra.Set("tokenizer.ggml.add_bos_token", json["add_bos"].get<bool>());
  return file;
}

inline std::unique_ptr<Tokenizer> GoldenTokenizer(std::string_view name) {
  auto tokenizer = MakeTokenizer(GoldenVocabulary(name).Writer());
  EXPECT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.error().message;
  return std::move(tokenizer).value();
}

inline std::string Decode(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  std::string text;
  for (const TokenId token : tokens) text += tokenizer.TokenBytes(token);
  return text;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_TOKENIZER_GOLDEN_VOCABULARY_H_
