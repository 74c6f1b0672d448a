#include "base/one_line.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

TEST(OneLine, LeavesTextAlone) {
  EXPECT_EQ(OneLine(""), "");
  EXPECT_EQ(OneLine("a \"b\" \\ é 歪 😀"), "a \"b\" \\ é 歪 😀");
}

TEST(OneLine, ControlCharactersAreSpaces) {
  EXPECT_EQ(OneLine("a\n\x1b[31mb\r\t\x7f"), "a  [31mb   ");
  EXPECT_EQ(OneLine(std::string_view("a\0b", 3)), "a b");
  EXPECT_EQ(OneLine("a\xC2\x9B"
                    "31m"),
            "a 31m");  // U+009B, an escape sequence in one character
}

TEST(OneLine, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(OneLine("a\xFF"
                    "b"),
            "a\uFFFDb");
  EXPECT_EQ(OneLine("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(OneLine("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(OneLine("\xC0\x80"), "\uFFFD\uFFFD");
}

}  // namespace
}  // namespace hunch
