// Strings that know where they come from, UTF-8 by code point, and floats as Python writes them.
#include "chat/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "chat/code_points.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

// One letter per byte: t from the template, r from the request.
std::string Origins(const Text& text) {
  std::string origins;
  for (size_t i = 0; i < text.size(); ++i) origins += text.FromRequestAt(i) ? 'r' : 't';
  return origins;
}

TEST(Text, AppendKeepsOriginsAndMergesRuns) {
  Text text("ab", false);
  text.Append("c", false);
  EXPECT_EQ(text.runs().size(), 1u);
  text.Append("de", true);
  text.Append("", false);
  text.Append("f", true);
  text.Append("g", false);
  EXPECT_EQ(Origins(text), "tttrrrt");
  EXPECT_EQ(text.runs().size(), 3u);
  EXPECT_TRUE(text.HasRequest());
}

TEST(Text, EverySliceKeepsOrigins) {
  Text text("ab", false);
  text.Append("cd", true);
  text.Append("e", false);
  const std::string bytes = text.bytes(), origins = Origins(text);
  for (size_t begin = 0; begin <= bytes.size(); ++begin) {
    for (size_t end = begin; end <= bytes.size(); ++end) {
      const Text slice = text.Slice(begin, end);
      EXPECT_EQ(slice.bytes(), bytes.substr(begin, end - begin));
      EXPECT_EQ(Origins(slice), origins.substr(begin, end - begin));
      EXPECT_EQ(slice.HasRequest(), Origins(slice).find('r') != std::string::npos);
      Text twice = slice;
      twice.Append(slice);
      EXPECT_EQ(Origins(twice), Origins(slice) + Origins(slice));
    }
  }
}

TEST(Text, EscapeKeepsOrigins) {
  Text text("<", false);
  text.Append("<'", true);
  const Text escaped = EscapeHtml(text);
  EXPECT_EQ(escaped.bytes(), "&lt;&lt;&#39;");
  EXPECT_EQ(Origins(escaped), "ttttrrrrrrrrr");
  EXPECT_TRUE(escaped.markup());
}

TEST(Utf8, CodePointsBothWays) {
  for (const uint32_t code : {0x24u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu, 0x10000u, 0x10ffffu}) {
    std::string text = "a";
    AppendUtf8(code, &text);
    EXPECT_EQ(DecodeAt(text, 1).code, code);
    EXPECT_EQ(DecodeAt(text, 1).length, text.size() - 1);
    EXPECT_EQ(DecodeBefore(text, text.size()).code, code);
    EXPECT_EQ(DecodeBefore(text, text.size()).length, text.size() - 1);
    EXPECT_EQ(CountCodePoints(text), 2u);
    EXPECT_EQ(OffsetOfCodePoint(text, 1), 1u);
    EXPECT_EQ(OffsetOfCodePoint(text, 9), text.size());
  }
}

TEST(Utf8, BrokenBytesCountOneEach) {
  for (const std::string broken : {"\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\x80",
                                   "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    EXPECT_EQ(CountCodePoints(broken), broken.size());
    size_t end = broken.size();
    while (end > 0) {
      EXPECT_EQ(DecodeBefore(broken, end).length, 1u);
      --end;
    }
  }
}

TEST(FloatRepr, WritesAsPythonDoes) {
  EXPECT_EQ(FloatRepr(0.0), "0.0");
  EXPECT_EQ(FloatRepr(-0.0), "-0.0");
  EXPECT_EQ(FloatRepr(1.0), "1.0");
  EXPECT_EQ(FloatRepr(0.1), "0.1");
  EXPECT_EQ(FloatRepr(123456.789), "123456.789");
  EXPECT_EQ(FloatRepr(1e15), "1000000000000000.0");
  EXPECT_EQ(FloatRepr(1e16), "1e+16");
  EXPECT_EQ(FloatRepr(1.5e-5), "1.5e-05");
  EXPECT_EQ(FloatRepr(0.0001), "0.0001");
  EXPECT_EQ(FloatRepr(-2.5e100), "-2.5e+100");
  EXPECT_EQ(FloatRepr(5e-324), "5e-324");
  EXPECT_EQ(FloatRepr(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(FloatRepr(std::nan("")), "nan");
}

}  // namespace
}  // namespace hunch::chat
