// JSON objects a byte at a time, held against the library that reads them whole.
#include "chat/object_scanner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hunch {
namespace {

// How many bytes were taken, and whether the object was over then.
std::pair<size_t, bool> Scan(std::string_view text) {
  ObjectScanner scanner;
  size_t taken = 0;
  while (taken < text.size() && !scanner.over() && scanner.Put(text[taken])) ++taken;
  return {taken, scanner.over()};
}

const std::vector<std::string> kGood = {
    "{}",
    " { } ",
    R"({"a": 1})",
    R"({"a": "b", "c": [1, -2.5e+3, {"d": {}}, [], true, false, null]})",
    R"({"": "\"\\\/\b\f\n\r\t\u00e9"})",
    "\n{\n\t\"a\"\r:\n[ 0 , 0.1E-7 ]\n}",
    R"({"a": 0})",
};

TEST(ObjectScanner, EveryBeginningOfAnObjectIsTaken) {
  for (const std::string& text : kGood) {
    ASSERT_TRUE(nlohmann::json::accept(text)) << text;
    EXPECT_TRUE(IsJsonObject(text)) << text;
    const size_t end = text.rfind('}') + 1;
    EXPECT_EQ(Scan(text), std::pair(end, true)) << text;
    for (size_t size = 0; size < end; ++size) {
      EXPECT_EQ(Scan(text.substr(0, size)), std::pair(size, false)) << text;
      EXPECT_FALSE(IsJsonObject(text.substr(0, size)));
    }
  }
}

// It knows no UTF-8 and no surrogates.
TEST(ObjectScanner, CharactersPass) {
  for (const std::string text :
       {R"({"a": "\ud83d\ude00"})", "{\"\xc3\xa9\": \"\xf0\x9f\x98\x80\"}"}) {
    EXPECT_TRUE(Scan(text).second) << text;
    EXPECT_TRUE(IsJsonObject(text)) << text;
  }
  for (const std::string text : {R"({"a": "\ud83d"})", "{\"\xc3\": 1}"}) {
    EXPECT_TRUE(Scan(text).second) << text;
    EXPECT_FALSE(IsJsonObject(text)) << text;
  }
}

// One byte in place of another: taken to the end only if the library takes it.
TEST(ObjectScanner, TakesNoMoreThanJson) {
  int taken = 0, refused = 0;
  for (const std::string& text : kGood) {
    for (size_t at = 0; at < text.size(); ++at) {
      for (const char byte : std::string_view("{}[],:\"\\0-.e tfnx")) {
        std::string other = text;
        other[at] = byte;
        const bool is_json = nlohmann::json::accept(other);
        EXPECT_EQ(IsJsonObject(other), is_json) << other;
        const auto [end, over] = Scan(other);
        const bool rest_is_space = other.find_first_not_of(" \n\t\r", end) == std::string::npos;
        EXPECT_EQ(over && rest_is_space, is_json) << other;
        ++(is_json ? taken : refused);
      }
    }
  }
  EXPECT_GT(taken, 200);
  EXPECT_GT(refused, 1000);
}

TEST(ObjectScanner, ControlCharactersInStringsPass) {
  EXPECT_TRUE(Scan("{\"a\": \"b\nc\td\"}").second);
  EXPECT_FALSE(IsJsonObject("{\"a\": \"b\nc\"}"));
}

TEST(ObjectScanner, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += R"({"a":)";
    return text + "0" + std::string(depth, '}');
  };
  EXPECT_TRUE(Scan(nested(ObjectScanner::kMostDepth)).second);
  EXPECT_FALSE(Scan(nested(ObjectScanner::kMostDepth + 1)).second);
  EXPECT_FALSE(IsJsonObject(nested(200'000)));
}

TEST(ObjectScanner, SaysWhereItIs) {
  ObjectScanner scanner;
  const auto put = [&](std::string_view text) {
    for (const char byte : text) ASSERT_TRUE(scanner.Put(byte));
  };
  put("{");
  EXPECT_TRUE(scanner.before_key());
  put("\"a");
  EXPECT_TRUE(scanner.in_string());
  put("\"");
  EXPECT_TRUE(scanner.after_key());
  put(":");
  EXPECT_TRUE(scanner.before_value());
  EXPECT_EQ(scanner.depth(), 1u);
  put("[");
  EXPECT_EQ(scanner.depth(), 2u);
  put("]");
  EXPECT_TRUE(scanner.after_value());
  EXPECT_EQ(scanner.depth(), 1u);
  put("}");
  EXPECT_TRUE(scanner.over());
}

}  // namespace
}  // namespace hunch
