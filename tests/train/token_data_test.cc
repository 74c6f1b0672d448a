// Token data: what is kept, what a kill may leave, and what is no such file.
#include "train/token_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr VocabularyId kVocabulary = {11, 50};

class TokenDataTest : public testing::Test {
 protected:
  TokenDataTest() {
    TokenData data = TokenData::Open(path_, kVocabulary, 1).value();
    HUNCH_CHECK(data.Add(4, {0.5f, 2, {1, 2, 3}}).ok());
    HUNCH_CHECK(data.Add(2, {0, 1, {9, 8}}).ok());
    HUNCH_CHECK(data.Add(3, {}).ok());
  }
  Result<TokenData> Open() { return TokenData::Open(path_, kVocabulary, 1); }

  TempDir dir_;
  std::string path_ = dir_.Path("tokens");
};

TEST_F(TokenDataTest, KeepsTextsByTheirRequest) {
  const TokenData data = Open().value();
  ASSERT_EQ(data.texts().size(), 3u);
  EXPECT_EQ(data.texts().begin()->first, 2u);
  const TrainText& text = data.texts().at(4);
  EXPECT_THAT(text.tokens, ElementsAre(1, 2, 3));
  EXPECT_THAT(text.answer(), ElementsAre(3));
  EXPECT_EQ(text.temperature, 0.5f);
  EXPECT_EQ(data.answer_tokens(), 2);
  EXPECT_TRUE(data.texts().at(3).tokens.empty());
}

TEST_F(TokenDataTest, AfterAKillEveryWholeTextIsThereAndMoreCanBeAdded) {
  const std::string whole = ReadFile(path_);
  for (size_t length = 0; length < whole.size(); ++length) {
    dir_.Write("tokens", std::string_view(whole).substr(0, length));
    auto data = Open();
    ASSERT_TRUE(data.ok()) << length << " " << data.error().message;
    const size_t texts = data->texts().size();
    EXPECT_LT(texts, 3u);
    ASSERT_TRUE(data->Add(7, {0, 0, {5}}).ok());
    // Of another value, so that the lock goes.
    { const TokenData closed = std::move(data).value(); }
    EXPECT_EQ(Open()->texts().size(), texts + 1) << length;
  }
}

TEST_F(TokenDataTest, NoDamagePassesUnnoticed) {
  const std::string whole = ReadFile(path_);
  const auto texts = Open()->texts();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      dir_.Write("tokens", damaged);
      const auto data = Open();
      if (!data.ok()) continue;
      // A length that reaches past the end looks like the rest of a kill.
      EXPECT_LT(data->texts().size(), texts.size()) << at;
    }
  }
}

TEST_F(TokenDataTest, RefusesWhatWasMadeOtherwise) {
  EXPECT_THAT(TokenData::Open(path_, kVocabulary, 2).error().message,
              HasSubstr("was made with another model or other settings; delete it, or name"));
  EXPECT_FALSE(TokenData::Open(path_, {12, 50}, 1).ok());
  dir_.Write("other", "some text that is longer than any header of such a file");
  EXPECT_THAT(TokenData::Open(dir_.Path("other"), kVocabulary, 1).error().message,
              HasSubstr("is no token file"));
}

}  // namespace
}  // namespace hunch
