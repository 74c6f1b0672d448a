#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/byte_level.h"

namespace hunch {
namespace {

// A vocabulary of the 256 bytes and random merges over the letters a to d.
class BpeMergerTest : public testing::Test {
 protected:
  void Build(uint32_t seed, int merges) {
    std::mt19937 random(seed);
    tokens_.clear();
    merges_.clear();
    for (int byte = 0; byte < 256; ++byte) {
      tokens_.push_back(ByteLevelCharacter(static_cast<uint8_t>(byte)));
    }
    std::vector<std::string> pieces = {"a", "b", "c", "d"};
    std::map<std::string, bool> known;
    while (static_cast<int>(merges_.size()) < merges) {
      const std::string left = pieces[random() % pieces.size()];
      const std::string right = pieces[random() % pieces.size()];
      if (!known.emplace(left + " " + right, true).second) continue;
      merges_.push_back(left + " " + right);
      if (!known.emplace(left + right, true).second) continue;
      tokens_.push_back(left + right);
      if (pieces.back().size() < 12) pieces.push_back(left + right);
    }
    BuildVocabulary();
  }

  // Of tokens_ and merges_.
  void BuildVocabulary() {
    VocabularyData data;
    data.model = "gpt2";
    data.pre = "gpt-2";
    data.tokens = tokens_;
    data.merges = merges_;
    auto vocabulary = Vocabulary::Create(data);
    ASSERT_TRUE(vocabulary.ok()) << vocabulary.error().message;
    vocabulary_ = std::make_unique<Vocabulary>(std::move(vocabulary).value());
  }

  // The definition, read literally: join the leftmost of the pairs with the lowest rank.
  std::vector<std::string> Slow(const std::string& text) const {
    std::map<std::string, size_t> rank;
    for (size_t i = 0; i < merges_.size(); ++i) rank[merges_[i]] = i;
    std::vector<std::string> parts;
    for (const char c : text) parts.emplace_back(1, c);
    while (true) {
      size_t best = 0, best_rank = merges_.size();
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = rank.find(parts[i] + " " + parts[i + 1]);
        if (found != rank.end() && found->second < best_rank) {
          best = i;
          best_rank = found->second;
        }
      }
      if (best_rank == merges_.size()) return parts;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + best + 1);
    }
  }

  std::vector<std::string> Fast(const std::string& text) const {
    BpeMerger merger(*vocabulary_);
    std::vector<TokenId> tokens;
    merger.Append(text, &tokens);
    std::vector<std::string> parts;
    for (const TokenId token : tokens) parts.emplace_back(vocabulary_->Bytes(token));
    return parts;
  }

  std::vector<std::string> tokens_, merges_;
  std::unique_ptr<Vocabulary> vocabulary_;
};

TEST_F(BpeMergerTest, EqualsTheDefinitionOnShortAndLongPieces) {
  std::mt19937 random(3);
  for (uint32_t seed = 0; seed < 12; ++seed) {
    Build(seed, 40);
    for (int round = 0; round < 60; ++round) {
      std::string text(1 + random() % 150, '\0');
      const int letters = 1 + static_cast<int>(random() % 4);
      for (char& c : text) c = static_cast<char>('a' + random() % letters);
      ASSERT_EQ(Fast(text), Slow(text)) << text;
    }
  }
}

TEST_F(BpeMergerTest, NothingForNothing) {
  Build(1, 5);
  EXPECT_TRUE(Fast("").empty());
  EXPECT_EQ(Fast("a"), std::vector<std::string>{"a"});
}

TEST_F(BpeMergerTest, BytesWithoutATokenAreDroppedAndNeighboursMerge) {
  tokens_ = {"a", "b", "ab"};
  merges_ = {"a b"};
  BuildVocabulary();
  EXPECT_EQ(Fast("xaxxbx"), std::vector<std::string>{"ab"});
  EXPECT_TRUE(Fast("xyz").empty());
}

}  // namespace
}  // namespace hunch
