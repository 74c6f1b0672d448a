// A model file's tokenizer is hostile input: each damage gives an error that names it.
#include "tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tokenizer/byte_level.h"
#include "tokenizer/golden_vocabulary.h"

namespace hunch {
namespace {

using testing::HasSubstr;

constexpr int64_t kControl = 3, kUserDefined = 4, kUnused = 5;
constexpr TokenId kFirstFree = 258;  // behind the bytes, "ab" and "abc"

// The 256 bytes, "ab", "abc", and `extra` with their types.
VocabularyFile Small(std::vector<std::pair<std::string, int64_t>> extra = {}) {
  VocabularyFile file;
  file.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    file.tokens.push_back(ByteLevelCharacter(static_cast<uint8_t>(byte)));
  }
  file.tokens.insert(file.tokens.end(), {"ab", "abc"});
  file.merges = {"a b", "ab c"};
  file.types.assign(file.tokens.size(), 1);
  for (auto& [text, type] : extra) {
    file.tokens.push_back(text);
    file.types.push_back(type);
  }
  return file;
}

std::string ErrorOf(const GgufWriter& writer) {
  const auto tokenizer = MakeTokenizer(writer);
  return tokenizer.ok() ? "no error" : tokenizer.error().message;
}

std::string ErrorWith(std::string key, GgufValue value) {
  VocabularyFile file = Small({{"<|end|>", kControl}});
  file.extra.Set(std::move(key), std::move(value));
  return ErrorOf(file.Writer());
}

// The keys of Small() with one of them set to something else, or left out.
GgufWriter Changed(std::string_view changed, const GgufValue* value) {
  const VocabularyFile file = Small();
  GgufWriter writer;
  const std::vector<std::pair<std::string, GgufValue>> fields = {
      {"tokenizer.ggml.model", std::string("gpt2")},
      {"tokenizer.ggml.pre", file.pre},
      {"tokenizer.ggml.tokens", file.tokens},
      {"tokenizer.ggml.merges", file.merges},
      {"tokenizer.ggml.token_type", file.types}};
  for (const auto& [key, original] : fields) {
    if (key != changed) {
      writer.Set(key, original);
    } else if (value != nullptr) {
      writer.Set(key, *value);
    }
  }
  return writer;
}

std::string ErrorChanged(std::string_view key, const GgufValue& value) {
  return ErrorOf(Changed(key, &value));
}
std::string ErrorWithout(std::string_view key) { return ErrorOf(Changed(key, nullptr)); }

TEST(Vocabulary, TheSmallOneIsFine) {
  const auto tokenizer = MakeTokenizer(Small().Writer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("abcab", false), (std::vector<TokenId>{257, 256}));
  EXPECT_EQ((*tokenizer)->bos(), -1);
  EXPECT_FALSE((*tokenizer)->add_bos());
  EXPECT_TRUE((*tokenizer)->end_tokens().empty());
}

TEST(Vocabulary, TypesMayBeMissing) {
  const auto tokenizer = MakeTokenizer(Changed("tokenizer.ggml.token_type", nullptr));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_FALSE((*tokenizer)->IsSpecial(0));
}

TEST(Vocabulary, UnknownTokenizersAreRefusedByName) {
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.model", std::string("llama")),
              testing::AllOf(HasSubstr("\"llama\""), HasSubstr("known"), HasSubstr("gpt2")));
  EXPECT_THAT(
      ErrorChanged("tokenizer.ggml.pre", std::string("tekken")),
      testing::AllOf(HasSubstr("\"tekken\""), HasSubstr("gpt-2, smollm, qwen2, llama-bpe")));
  EXPECT_THAT(ErrorWithout("tokenizer.ggml.pre"),
              testing::AllOf(HasSubstr("tokenizer.ggml.pre"), HasSubstr("qwen2")));
}

TEST(Vocabulary, MissingKeysAreNamed) {
  for (const char* key :
       {"tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"}) {
    EXPECT_THAT(ErrorWithout(key), HasSubstr(key));
  }
}

TEST(Vocabulary, WrongElementTypesAreNamed) {
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.tokens", std::vector<int64_t>(258, 1)),
              HasSubstr("tokenizer.ggml.tokens"));
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.merges", std::string("a b")),
              HasSubstr("tokenizer.ggml.merges"));
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.token_type", std::vector<double>(258, 1.0)),
              HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.token_type", std::vector<std::string>(258, "1")),
              HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.token_type", uint64_t{1}),
              HasSubstr("tokenizer.ggml.token_type"));
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.model", uint64_t{2}), HasSubstr("tokenizer.ggml.model"));
}

TEST(Vocabulary, UnsignedTypesAreFine) {
  const GgufValue types = std::vector<uint64_t>(258, 1);
  EXPECT_EQ(ErrorOf(Changed("tokenizer.ggml.token_type", &types)), "no error");
}

TEST(Vocabulary, TypesOfAnotherLengthOrUnknown) {
  for (const size_t length : {0, 1, 257, 259}) {
    EXPECT_THAT(ErrorChanged("tokenizer.ggml.token_type", std::vector<int64_t>(length, 1)),
                HasSubstr("token_type has " + std::to_string(length)));
  }
  for (const int64_t type : {int64_t{-1}, int64_t{0}, int64_t{7}, int64_t{256 + 3}, INT64_MAX}) {
    VocabularyFile file = Small();
    file.types[70] = type;
    EXPECT_THAT(ErrorOf(file.Writer()), HasSubstr("token_type[70] is " + std::to_string(type)));
  }
}

TEST(Vocabulary, SpecialIdsOutsideTheVocabulary) {
  for (const char* name : {"bos", "eos", "eot", "eom"}) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    for (const GgufValue& bad :
         {GgufValue(uint64_t{259}), GgufValue(uint64_t{4294967295}), GgufValue(UINT64_MAX),
          GgufValue(int64_t{-1}), GgufValue(std::string("<|end|>")), GgufValue(2.0),
          GgufValue(true)}) {
      EXPECT_THAT(ErrorWith(key, bad), HasSubstr(key));
    }
    EXPECT_EQ(ErrorWith(key, uint64_t{258}), "no error");
  }
}

TEST(Vocabulary, AddBosNeedsABoolAndABos) {
  EXPECT_THAT(ErrorWith("tokenizer.ggml.add_bos_token", true), HasSubstr("bos_token_id"));
  EXPECT_EQ(ErrorWith("tokenizer.ggml.add_bos_token", false), "no error");
  EXPECT_THAT(ErrorWith("tokenizer.ggml.add_bos_token", uint64_t{1}), HasSubstr("add_bos_token"));
}

TEST(Vocabulary, Llama3AddsBosUnlessToldOtherwise) {
  VocabularyFile file = Small({{"<|begin_of_text|>", kControl}});
  file.pre = "llama-bpe";
  EXPECT_FALSE((*MakeTokenizer(file.Writer()))->add_bos());  // it has no BOS to add
  file.extra.Set("tokenizer.ggml.bos_token_id", uint64_t{kFirstFree});
  EXPECT_TRUE((*MakeTokenizer(file.Writer()))->add_bos());
  file.extra.Set("tokenizer.ggml.add_bos_token", false);
  EXPECT_FALSE((*MakeTokenizer(file.Writer()))->add_bos());
}

TEST(Vocabulary, EndTokensByKeyAndByName) {
  VocabularyFile file = Small({{"<x>", kControl},
                               {"<y>", kControl},
                               {"<|im_end|>", kControl},
                               {"</s>", 1},
                               {"<|eot_id|>", kControl},
                               {"<|fim_pad|>", kControl}});
  file.extra.Set("tokenizer.ggml.eos_token_id", uint64_t{kFirstFree + 1});
  file.extra.Set("tokenizer.ggml.eot_token_id", uint64_t{kFirstFree});
  const auto tokenizer = MakeTokenizer(file.Writer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->end_tokens(),
            (std::vector<TokenId>{kFirstFree, kFirstFree + 1, kFirstFree + 2, kFirstFree + 4}));
}

TEST(Vocabulary, EmptyAndDuplicateStrings) {
  EXPECT_THAT(ErrorOf(Small({{"", 1}}).Writer()), HasSubstr("[258] is empty"));
  EXPECT_THAT(ErrorOf(Small({{"", kControl}}).Writer()), HasSubstr("[258] is empty"));
  EXPECT_THAT(ErrorOf(Small({{"ab", 1}}).Writer()), HasSubstr("[256] and [258] are both \"ab\""));
  EXPECT_THAT(ErrorOf(Small({{"abc", kControl}}).Writer()), HasSubstr("both \"abc\""));
  EXPECT_EQ(ErrorOf(Small({{"", kUnused}, {"ab", kUnused}, {"", kUnused}}).Writer()), "no error");
  EXPECT_THAT(ErrorChanged("tokenizer.ggml.tokens", std::vector<std::string>()),
              HasSubstr("tokenizer.ggml.tokens"));
}

TEST(Vocabulary, AbsurdlyLongMarkers) {
  EXPECT_EQ(ErrorOf(Small({{std::string(1024, '<'), kControl}}).Writer()), "no error");
  EXPECT_THAT(ErrorOf(Small({{std::string(1025, '<'), kUserDefined}}).Writer()),
              HasSubstr("1025 bytes"));
}

TEST(Vocabulary, MergesThatCannotBeResolved) {
  for (const char* merge :
       {"", "ab", " b", "a ", " ", "a  b", "a b c", "a zz", "zz a", "a d", "ab <m>", "a\nb"}) {
    VocabularyFile file = Small({{"<m>", kControl}, {"ab<m>", 1}});
    file.merges.push_back(merge);
    EXPECT_THAT(ErrorOf(file.Writer()), HasSubstr("tokenizer.ggml.merges[2]")) << merge;
  }
  VocabularyFile twice = Small();
  twice.merges.push_back("a b");
  EXPECT_THAT(ErrorOf(twice.Writer()), HasSubstr("tokenizer.ggml.merges[2]"));
}

// Else ordinary text could turn into the marker.
TEST(Vocabulary, NoMergeMakesAMarker) {
  VocabularyFile file = Small({{"ad", kControl}});
  file.merges.push_back("a d");
  EXPECT_THAT(ErrorOf(file.Writer()), HasSubstr("merges[2]"));
}

TEST(Vocabulary, AWholePieceIsNeverAMarker) {
  VocabularyFile file = Small({{"stop", kControl}, {"word", 1}});
  file.pre = "llama-bpe";
  const auto tokenizer = MakeTokenizer(file.Writer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("word", false), std::vector<TokenId>{kFirstFree + 1});
  EXPECT_EQ((*tokenizer)->Encode("stop", false).size(), 4u);
  EXPECT_EQ((*tokenizer)->Encode("stop", true), std::vector<TokenId>{kFirstFree});
}

TEST(Vocabulary, ATinyOneMayLackBytes) {
  VocabularyFile file;
  file.pre = "gpt-2";
  file.tokens = {"a", "b"};
  file.types = {1, 1};
  const auto tokenizer = MakeTokenizer(file.Writer());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Encode("xaxb\xFF", false), (std::vector<TokenId>{0, 1}));
}

TEST(HashTables, ABoundedProbeSequenceRefusesCollisions) {
  // Strings of one hash cannot be had cheaply, but the table only compares what it is given.
  StringIndex index(4000);
  std::vector<std::string> strings;
  for (int i = 0; i < 4000; ++i) strings.push_back("token" + std::to_string(i));
  const auto string_of = [&](TokenId id) { return std::string_view(strings[id]); };
  for (TokenId id = 0; id < 4000; ++id) {
    ASSERT_EQ(index.Insert(id, string_of), InsertOutcome::kInserted);
  }
  EXPECT_EQ(index.Insert(7, string_of), InsertOutcome::kPresent);
  EXPECT_EQ(index.Find("token1234", string_of), 1234);
  EXPECT_EQ(index.Find("token4000", string_of), -1);

  MergeTable full(1);  // four slots, and no more: the probe has to give up
  int inserted = 0;
  InsertOutcome last = InsertOutcome::kInserted;
  for (TokenId left = 0; left < 10 && last == InsertOutcome::kInserted; ++left) {
    last = full.Insert(left, 0, {static_cast<uint32_t>(left), left});
    inserted += last == InsertOutcome::kInserted;
  }
  EXPECT_EQ(inserted, 4);
  EXPECT_EQ(last, InsertOutcome::kTooManyCollisions);
  EXPECT_EQ(full.Find(99, 99).rank, MergeTable::kNoRank);
}

}  // namespace
}  // namespace hunch
