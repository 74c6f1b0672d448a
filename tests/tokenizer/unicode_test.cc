#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"
#include "tokenizer/golden_vocabulary.h"

namespace hunch {
namespace {

std::string Nfc(const std::string& text) {
  std::string normalized = "left alone";
  return NormalizeNfc(text, &normalized) ? normalized : text;
}

TEST(Unicode, Classes) {
  EXPECT_EQ(ClassOf('a'), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x4E2D), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x01C5), CharClass::kLetter);  // title case
  EXPECT_EQ(ClassOf(0x02B0), CharClass::kLetter);  // modifier
  EXPECT_EQ(ClassOf('7'), CharClass::kNumber);
  EXPECT_EQ(ClassOf(0x0661), CharClass::kNumber);
  EXPECT_EQ(ClassOf(0x2177), CharClass::kNumber);
  EXPECT_EQ(ClassOf(0x00BD), CharClass::kNumber);
  for (const uint32_t space : {0x09, 0x0B, 0x0C, 0x20, 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028,
                               0x2029, 0x202F, 0x205F, 0x3000}) {
    EXPECT_EQ(ClassOf(space), CharClass::kSpace) << space;
  }
  EXPECT_EQ(ClassOf('\r'), CharClass::kNewline);
  EXPECT_EQ(ClassOf('\n'), CharClass::kNewline);
  for (const uint32_t other : {0x00, 0x1C, 0x7F, 0x0301, 0x180E, 0x200B, 0x200D, 0xFEFF, 0xFFFD,
                               0x0378, 0xE000, 0x1F600, 0x10FFFF}) {
    EXPECT_EQ(ClassOf(other), CharClass::kOther) << other;
  }
}

// CJK extension I (15.1), Todhri, Garay digits and Egyptian hieroglyphs (16).
TEST(Unicode, ClassesNewerThanUtf8proc) {
  EXPECT_EQ(ClassOf(0x2EBEF), CharClass::kOther);
  EXPECT_EQ(ClassOf(0x2EBF0), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x2EE5D), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x2EE5E), CharClass::kOther);
  EXPECT_EQ(ClassOf(0x105C0), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x10D40), CharClass::kNumber);
  EXPECT_EQ(ClassOf(0x13460), CharClass::kLetter);
  EXPECT_EQ(ClassOf(0x1138A), CharClass::kOther);
}

TEST(Nfc, GoldenRows) {
  for (const auto& row : ReadGoldenLines("tokenizer/nfc.jsonl")) {
    EXPECT_EQ(Nfc(row["text"]), row["nfc"].get<std::string>()) << row["text"];
    EXPECT_EQ(Nfc(row["nfc"]), row["nfc"].get<std::string>());
  }
}

TEST(Nfc, ComposesAndReorders) {
  EXPECT_EQ(Nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(Nfc("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(Nfc("e\u0301\u0323"), "\u1eb9\u0301");
  EXPECT_EQ(Nfc("\u0958"), "\u0915\u093c");  // excluded from composition
  EXPECT_EQ(Nfc("\u4e2d\u0301\u0323x"), "\u4e2d\u0323\u0301x");
}

TEST(Nfc, SaysWhenNothingChanges) {
  std::string normalized = "left alone";
  for (const char* text : {"", "plain", "caf\u00e9 \u4e2d\u6587 \ud55c\uad6d \U0001f600"}) {
    EXPECT_FALSE(NormalizeNfc(text, &normalized)) << text;
  }
  EXPECT_EQ(normalized, "left alone");
}

TEST(Nfc, InvalidBytesStayAndSeparate) {
  EXPECT_EQ(Nfc("e\xFF\u0301"), "e\xFF\u0301");
  EXPECT_EQ(Nfc("e\u0301\xE6\xAD"), "\u00e9\xE6\xAD");
  EXPECT_EQ(Nfc("\x80"
                "e\u0301"),
            "\x80\u00e9");
  EXPECT_EQ(Nfc("e\u0301\xED\xA0\x80"
                "e\u0301"),
            "\u00e9\xED\xA0\x80\u00e9");
}

// utf8proc's own reordering takes minutes for this.
TEST(Nfc, LongRunsOfMarksAreNotQuadratic) {
  constexpr int kPairs = 200000;
  std::string text = "x", expected = "x";
  for (int i = 0; i < kPairs; ++i) text += "\u0301\u0323";
  for (int i = 0; i < kPairs; ++i) expected += "\u0323";
  for (int i = 0; i < kPairs; ++i) expected += "\u0301";
  EXPECT_TRUE(Nfc(text) == expected);
}

}  // namespace
}  // namespace hunch
