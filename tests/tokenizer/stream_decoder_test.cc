#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

const std::string kReplacement(kReplacementCharacter);

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Char character = DecodeUtf8(text, i);
    if (character.state != Utf8State::kValid) return false;
    i += character.length;
  }
  return true;
}

std::string DecodeWhole(std::string_view bytes) {
  StreamDecoder decoder;
  std::string text = decoder.Push(bytes);
  return text + decoder.Flush();
}

TEST(StreamDecoder, WaitsForTheWholeCharacter) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.Push("a\xF0"), "a");
  EXPECT_EQ(decoder.pending_bytes(), 1u);
  EXPECT_EQ(decoder.Push("\x9F\x98"), "");
  EXPECT_EQ(decoder.pending_bytes(), 3u);
  EXPECT_EQ(decoder.Push("\x80!"), "\U0001f600!");
  EXPECT_EQ(decoder.pending_bytes(), 0u);
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoder, ALoneContinuationByteDoesNotStall) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.Push("\x80"), kReplacement);
  EXPECT_EQ(decoder.Push("abc"), "abc");
}

TEST(StreamDecoder, BytesThatCanNoLongerBecomeACharacterAreReplacedAtOnce) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.Push("\xE6\xAD"), "");
  EXPECT_EQ(decoder.Push("x"), kReplacement + "x");
  EXPECT_EQ(decoder.Push("\xED"), "");
  EXPECT_EQ(decoder.Push("\xA0"), kReplacement + kReplacement);  // a surrogate: ED cannot stay
  EXPECT_EQ(decoder.Push("\xF0\x9F\xF0\x9F\x98\x80"), kReplacement + "\U0001f600");
}

TEST(StreamDecoder, TheEndInsideACharacterGivesOneReplacement) {
  for (const std::string_view bytes : {"\xC3", "\xE6\xAD", "\xF0\x9F\x98"}) {
    StreamDecoder decoder;
    EXPECT_EQ(decoder.Push(bytes), "");
    EXPECT_EQ(decoder.Flush(), kReplacement);
    EXPECT_EQ(decoder.pending_bytes(), 0u);
    EXPECT_EQ(decoder.Flush(), "");
  }
}

// Expected values: the WHATWG decoder's, as Python's bytes.decode("utf-8", "replace") gives them.
TEST(StreamDecoder, OneReplacementForEachMaximalSubpart) {
  const std::string& r = kReplacement;
  EXPECT_EQ(DecodeWhole("\xC0\x80"), r + r);
  EXPECT_EQ(DecodeWhole("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(DecodeWhole("\xF0\x9F\x98\x41"), r + "A");
  EXPECT_EQ(DecodeWhole("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_EQ(DecodeWhole("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(DecodeWhole(std::string_view("\0", 1)), std::string(1, '\0'));
}

TEST(StreamDecoder, EveryCutGivesTheSameText) {
  const std::string text =
      "\U0001f469\u200d\U0001f680 \u6b6a caf\u00e9 \x80 \xE6\xAD\xF0\x9F\x98 \xFF\xC3";
  const std::string whole = DecodeWhole(text);
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      StreamDecoder decoder;
      std::string joined;
      for (const auto& part :
           {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
        const std::string delta = decoder.Push(part);
        ASSERT_TRUE(IsUtf8(delta));
        ASSERT_LE(decoder.pending_bytes(), 3u);
        joined += delta;
      }
      ASSERT_EQ(joined + decoder.Flush(), whole);
    }
  }
}

TEST(StreamDecoder, RandomBytesInRandomCuts) {
  std::mt19937 random(9);
  const std::string_view likely =
      "\xC3\xE4\xED\xF0\xF4\x80\x9F\xA0\xBF\x90"
      "a";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) {
      c = random() % 4 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    }
    StreamDecoder decoder;
    std::string joined;
    for (size_t i = 0; i < bytes.size();) {
      const size_t length = random() % 5;
      const std::string delta = decoder.Push(std::string_view(bytes).substr(i, length));
      ASSERT_TRUE(IsUtf8(delta));
      joined += delta;
      i += length;
    }
    ASSERT_EQ(joined + decoder.Flush(), DecodeWhole(bytes));
  }
}

}  // namespace
}  // namespace hunch
