// JSON of users: errors are one line, and no input takes the stack.
#include "session/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hunch {
namespace {

using ::testing::HasSubstr;

std::string Nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(JsonText, WhatIsNestedTooDeeplyIsRefused) {
  const auto deepest = ParseJson(Nested(100));
  ASSERT_TRUE(deepest.ok());
  EXPECT_EQ(DumpJson(*deepest), Nested(100));
  for (const size_t levels : {101, 1000000}) {
    const auto deeper = ParseJson(Nested(levels));
    ASSERT_FALSE(deeper.ok()) << levels;
    EXPECT_THAT(deeper.error().message, HasSubstr("nested deeper than 100 levels"));
    EXPECT_FALSE(ParseJsonObject("{\"a\": " + Nested(levels - 1) + "}").ok()) << levels;
  }
  EXPECT_THAT(ParseJson(std::string(1000000, '[')).error().message, HasSubstr("parse error"));
}

TEST(JsonText, AnythingElseComesAsItWas) {
  for (const char* text :
       {"null", "[]", "{}", R"([1,"a",{"b":[{}],"c":null},2.5])", R"({"z":1,"a":[[],[3]]})"}) {
    const auto value = ParseJson(text);
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_EQ(DumpJson(*value), text);
  }
  EXPECT_EQ(DumpJson(*ParseJson(R"({"a":1,"a":{"b":2}})")), R"({"a":{"b":2}})");
}

}  // namespace
}  // namespace hunch
