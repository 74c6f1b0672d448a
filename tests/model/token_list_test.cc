// Tests of token lists: which tokens are taken, and that a file is believed only when it is whole.
#include "model/token_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hunch {
namespace {

using Ids = std::vector<TokenId>;

TEST(TokenListTest, TakesTheMostFrequent) {
  const std::vector<int64_t> counts = {5, 0, 9, 5, 7, 0, 5};
  EXPECT_EQ(MostFrequentTokens(counts, 3), (Ids{0, 2, 4}));  // of three fives the lowest id
  EXPECT_EQ(MostFrequentTokens(counts, 3, Ids{5, 99, -1}), (Ids{2, 4, 5}));
  EXPECT_EQ(MostFrequentTokens(counts, 100), (Ids{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(MostFrequentTokens(counts, 0), Ids{});
  EXPECT_EQ(MostFrequentTokens(counts, -1), Ids{});
  EXPECT_EQ(MostFrequentTokens({}, 5), Ids{});
}

TEST(TokenListTest, ReadsWhatItWrote) {
  const Ids tokens = {0, 7, 8, 151000};
  const std::string text = TokenListText(tokens, 151936);
  EXPECT_EQ(text, "hunch-vocab 1 151936 4\n0\n7\n8\n151000\n");
  const auto read = ParseTokenList(text, "list", 151936);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value(), tokens);
}

TEST(TokenListTest, AnotherVocabularysListIsRefused) {
  const auto read = ParseTokenList(TokenListText(Ids{1, 2}, 100), "list", 200);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(read.error().message.find("vocabulary of 100"), std::string::npos);
}

TEST(TokenListTest, DamagedTextsAreRefused) {
  for (const std::string bad :
       {"", "hunch", "hunch-vocab 2 100 1\n1\n", "hunch-vocab 1 100\n1\n", "hunch-vocab 1 100 0\n",
        "hunch-vocab 1 100 101\n1\n", "hunch-vocab 1 100 -1\n", "hunch-vocab 1 100 2\n1\n",
        "hunch-vocab 1 100 2\n1\n1\n", "hunch-vocab 1 100 2\n2\n1\n", "hunch-vocab 1 100 1\n100\n",
        "hunch-vocab 1 100 1\n-1\n", "hunch-vocab 1 100 1\n1", "hunch-vocab 1 100 1\n1\n2\n",
        "hunch-vocab 1 100 1\n1 \n", "hunch-vocab 1 100 1\nx\n",
        "hunch-vocab 1 100 1\n99999999999999\n", "hunch-vocab 1 99999999999 1\n1\n"}) {
    const auto read = ParseTokenList(bad, "list", 100);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::kBadFile) << bad;
    EXPECT_NE(read.error().message.find("list: line "), std::string::npos);
  }
  // Cut anywhere, and with any byte flipped: an error or another valid list, never a crash.
  const std::string whole = TokenListText(Ids{3, 14, 15, 92}, 100);
  for (size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(ParseTokenList(whole.substr(0, cut), "list", 100).ok()) << cut;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const auto read = ParseTokenList(flipped, "list", 100);
      if (!read.ok()) continue;
      for (const TokenId token : read.value()) EXPECT_TRUE(token >= 0 && token < 100);
    }
  }
}

}  // namespace
}  // namespace hunch
