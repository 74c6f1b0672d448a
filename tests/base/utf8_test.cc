#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace hunch {
namespace {

TEST(Utf8, EveryScalarValueSurvives) {
  for (uint32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(code_point, &text);
    const Utf8Char character = DecodeUtf8(text, 0);
    ASSERT_EQ(character.state, Utf8State::kValid) << code_point;
    ASSERT_EQ(character.code_point, code_point);
    ASSERT_EQ(character.length, text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Char part = DecodeUtf8(std::string_view(text).substr(0, cut), 0);
      ASSERT_EQ(part.state, Utf8State::kIncomplete) << code_point;
      ASSERT_EQ(part.length, cut);
    }
  }
}

struct Invalid {
  std::string_view bytes;
  uint32_t length;  // of the first maximal invalid subpart
};

TEST(Utf8, InvalidSubpartsAreMaximal) {
  for (const Invalid& invalid : {
           Invalid{"\x80", 1},
           Invalid{"\xBF", 1},
           Invalid{"\xC0\x80", 1},
           Invalid{"\xC1\xBF", 1},
           Invalid{"\xC3g", 1},
           Invalid{"\xE0\x80\x80", 1},
           Invalid{"\xE6\xAD\x41", 2},
           Invalid{"\xED\xA0\x80", 1},  // a surrogate
           Invalid{"\xF0\x80\x80\x80", 1},
           Invalid{"\xF0\x9F\x98\x41", 3},
           Invalid{"\xF0\x9F\xC3", 2},
           Invalid{"\xF4\x90\x80\x80", 1},
           Invalid{"\xF5\x80\x80\x80", 1},
           Invalid{"\xFF", 1},
       }) {
    const Utf8Char character = DecodeUtf8(invalid.bytes, 0);
    EXPECT_EQ(character.state, Utf8State::kInvalid) << Quote(invalid.bytes);
    EXPECT_EQ(character.length, invalid.length) << Quote(invalid.bytes);
  }
}

TEST(Utf8, QuotesForMessages) {
  EXPECT_EQ(Quote(""), "\"\"");
  EXPECT_EQ(Quote("caf\xC3\xA9 \xE4\xB8\xAD"), "\"caf\xC3\xA9 \xE4\xB8\xAD\"");
  EXPECT_EQ(Quote("a\"b\\c\n\x1b[0m\x7F\xFF\xC2\x9B"),
            "\"a\\x22b\\x5cc\\x0a\\x1b[0m\\x7f\\xff\\xc2\\x9b\"");
  EXPECT_EQ(Quote(std::string(100, 'x')), "\"" + std::string(48, 'x') + "\"... (100 bytes)");
}

}  // namespace
}  // namespace hunch
