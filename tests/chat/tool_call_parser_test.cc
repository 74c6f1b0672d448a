// Calls of tools in the text of a model: what models write, cut at every place.
#include "chat/tool_call_parser.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace hunch {

void PrintTo(const ToolCallPiece& piece, std::ostream* out) {
  *out << static_cast<int>(piece.kind) << "/" << piece.call << " "
       << nlohmann::json(piece.text).dump();
}

namespace {

using Pieces = std::vector<ToolCallPiece>;

constexpr auto kContent = ToolCallPiece::Kind::kContent;
constexpr auto kName = ToolCallPiece::Kind::kName;
constexpr auto kArguments = ToolCallPiece::Kind::kArguments;

struct Read {
  Pieces pieces;  // neighbours of a kind joined
  bool cut = false;
};

Read ReadCut(const std::vector<std::string_view>& parts, const ToolCallOptions& options) {
  ToolCallParser parser(options);
  Read read;
  const auto add = [&](const Pieces& pieces) {
    for (const ToolCallPiece& piece : pieces) {
      EXPECT_FALSE(piece.text.empty());
      Pieces& all = read.pieces;
      if (!all.empty() && all.back().kind == piece.kind && all.back().call == piece.call) {
        EXPECT_NE(piece.kind, kName);
        all.back().text += piece.text;
      } else {
        all.push_back(piece);
      }
    }
  };
  for (const std::string_view part : parts) add(parser.Push(part));
  add(parser.Finish());
  read.cut = parser.cut();
  int names = 0;
  for (const ToolCallPiece& piece : read.pieces) names += piece.kind == kName ? 1 : 0;
  EXPECT_EQ(parser.calls(), names);
  return read;
}

// The same however it is cut.
void Expect(const std::string& text, const Pieces& expected, bool cut = false,
            const ToolCallOptions& options = {.names = {"f", "g"}}) {
  SCOPED_TRACE(text);
  const auto expect = [&](const std::vector<std::string_view>& parts) {
    const Read read = ReadCut(parts, options);
    ASSERT_EQ(read.pieces, expected) << "cut after " << parts[0].size();
    ASSERT_EQ(read.cut, cut);
  };
  const std::string_view whole = text;
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < whole.size(); ++i) bytes.push_back(whole.substr(i, 1));
  if (!bytes.empty()) expect(bytes);
  for (size_t at = 0; at <= whole.size(); ++at) expect({whole.substr(0, at), whole.substr(at)});
}

TEST(ToolCallParser, TextAloneIsContentAsItIs) {
  for (const std::string text : {"Hello", " two\n\nlines \n", "a < b <tool", "<tool_calls>", "}",
                                 "<<tool_call", "[{\"name\": \"f\"}]"}) {
    Expect(text, {{kContent, 0, text}});
  }
  Expect("", {});
}

TEST(ToolCallParser, ReadsACall) {
  Expect(
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1, {\"y\": \"z\"}]}}\n</tool_call>",
      {{kName, 0, "f"}, {kArguments, 0, R"({"x": [1, {"y": "z"}]})"}});
}

TEST(ToolCallParser, TextAroundCallsIsContentWithoutTheSpaceBetween) {
  Expect(
      "I'll look.\n\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n"
      "<tool_call>\n{\"name\":\"g\",\"arguments\":{\"a\":1}}\n</tool_call> Done. \n",
      {{kContent, 0, "I'll look."},
       {kName, 0, "f"},
       {kArguments, 0, "{}"},
       {kName, 1, "g"},
       {kArguments, 1, R"({"a":1})"},
       {kContent, 2, " Done."}});
}

TEST(ToolCallParser, TagsInStringsAreText) {
  Expect(R"(<tool_call>{"name": "f", "arguments": {"a": "</tool_call> <tool_call>{"}}</tool_call>)",
         {{kName, 0, "f"}, {kArguments, 0, R"({"a": "</tool_call> <tool_call>{"})"}});
}

TEST(ToolCallParser, ACallWithoutTheTagsMayHaveToBeMore) {
  const ToolCallOptions options = {
      .names = {"f"}, .untagged = [](std::string_view name, std::string_view arguments) {
        return name == "f" && arguments == R"({"a": 1})";
      }};
  const std::string good = R"({"name": "f", "arguments": {"a": 1}})";
  const std::string bad = R"({"name": "f", "arguments": {"a": 2}})";
  const Pieces call = {{kName, 0, "f"}, {kArguments, 0, R"({"a": 1})"}};
  Expect(good, call, false, options);
  Expect("```json\n" + good + "\n```", call, false, options);
  Expect(bad, {{kContent, 0, bad}}, false, options);
  Expect("```\n" + bad + "\n```", {{kContent, 0, "```\n" + bad + "\n```"}}, false, options);
  Expect("<tool_call>" + bad + "</tool_call>", {{kName, 0, "f"}, {kArguments, 0, R"({"a": 2})"}},
         false, options);
}

TEST(ToolCallParser, TakesWhatModelsDo) {
  const Pieces call = {{kName, 0, "f"}, {kArguments, 0, R"({"a": 1})"}};
  for (
      const std::string text : {
          R"(<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>)",
          R"(<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>)",
          R"(<tool_call>{"id": 7, "x": {"name": "no"}, "name": "f", "arguments": {"a": 1}}</tool_call>)",
          R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)",
          R"(<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>)",    // a brace forgotten
          R"(<tool_call>{"name": "f", "arguments": {"a": 1}}}</tool_call>)",  // one too many
          R"(<tool_call>{"name": "f", "arguments": {"a": 1}})",               // no closing tag
          R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool)",
          R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "arguments": {"b": 2}}</tool_call>)",
          R"({"name": "f", "arguments": {"a": 1}})",  // no tags at all
          "\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n",
      }) {
    Expect(text, call);
  }
  const Pieces without = {{kName, 0, "f"}, {kArguments, 0, "{}"}};
  Expect(R"(<tool_call>{"name": "f"}</tool_call>)", without);
  Expect(R"(<tool_call>{"name": "f", "arguments": null}</tool_call>)", without);
  const Pieces two = {
      {kName, 0, "f"}, {kArguments, 0, "{}"}, {kName, 1, "g"}, {kArguments, 1, "{}"}};
  Expect("<tool_call>{\"name\": \"f\"}\n{\"name\": \"g\"}</tool_call>", two);
  Expect("<tool_call>{\"name\": \"f\"}<tool_call>{\"name\": \"g\"}</tool_call>", two);
  Expect("{\"name\": \"f\"}\n{\"name\": \"g\"}", two);
  // A tool that there is not: the client can say so.
  Expect(R"(<tool_call>{"name": "h"}</tool_call>)", {{kName, 0, "h"}, {kArguments, 0, "{}"}});
}

// As Qwen2.5-Coder does, tags or no tags in its prompt.
TEST(ToolCallParser, ACallInAFenceIsOne) {
  const Pieces call = {{kName, 0, "f"}, {kArguments, 0, R"({"a": 1})"}};
  Expect("```json\n{\n  \"name\": \"f\",\n  \"arguments\": {\"a\": 1}\n}\n```", call);
  Expect("```\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n```\n", call);
  Expect("```json\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}", call);
  Expect(
      "Both:\n```json\n{\"name\": \"f\"}\n{\"name\": \"g\"}\n```\n```json\n{\"name\": \"f\"}``` ok",
      {{kContent, 0, "Both:"},
       {kName, 0, "f"},
       {kArguments, 0, "{}"},
       {kName, 1, "g"},
       {kArguments, 1, "{}"},
       {kName, 2, "f"},
       {kArguments, 2, "{}"},
       {kContent, 3, " ok"}});
  for (const std::string text : {"```json\n{\"name\": \"h\", \"arguments\": {}}\n```",
                                 "```json\n{\"name\": \"f\", \"age\": 7}\n```",
                                 "```json\n{\"name\": \"f\", \"arguments\": {\"a\"",
                                 "```python\nf()\n```", "````\n", "a `b` ``c`` ```\n{}\n```\n"}) {
    Expect(text, {{kContent, 0, text}});
  }
}

TEST(ToolCallParser, ControlCharactersInArgumentsAreEscaped) {
  Expect("<tool_call>{\"name\": \"f\", \"arguments\": {\"code\":\n\"a\n\tb\x01\"}}</tool_call>",
         {{kName, 0, "f"}, {kArguments, 0, "{\"code\":\n\"a\\n\\tb\\u0001\"}"}});
}

TEST(ToolCallParser, WhatIsNoCallStaysContent) {
  for (const std::string text : {
           "<tool_call>f(1)</tool_call>",
           "a \n<tool_call>\n{name: 'f'}\n</tool_call> b",
           R"(<tool_call>{"arguments": {"a": 1}}</tool_call>)",
           R"(<tool_call>{"name": 5, "arguments": {}}</tool_call>)",
           R"(<tool_call>{"name": "", "arguments": {}}</tool_call>)",
           R"(<tool_call>{"name": "f", "arguments": [1]}</tool_call>)",
           R"(<tool_call>{"name": "f", "arguments": "no object"}</tool_call>)",
           // Without tags it must be one of the tools, and nothing else.
           R"({"name": "h", "arguments": {"a": 1}})",
           R"({"name": "f", "age": 7})",
           R"({"name": "f", "arguments": {"a": )",
           R"(So: {"name": "f", "arguments": {}})",
           "{}",
       }) {
    Expect(text, {{kContent, 0, text}});
  }
}

TEST(ToolCallParser, ACallAfterWhatIsNoneIsFound) {
  Expect(R"(<tool_call><tool_call>{"name": "f"}</tool_call>)",
         {{kContent, 0, "<tool_call>"}, {kName, 0, "f"}, {kArguments, 0, "{}"}});
}

TEST(ToolCallParser, ACutCallIsSaidToBeCut) {
  Expect(R"(<tool_call>{"name": "f", "argum)", {{kName, 0, "f"}}, /*cut=*/true);
  Expect(R"(<tool_call>{"name": "f", "arguments": {"a": "b)",
         {{kName, 0, "f"}, {kArguments, 0, R"({"a": "b)"}}, /*cut=*/true);
  Expect(R"(<tool_call>{"name": "f", "arguments": "{\"a\)", {{kName, 0, "f"}}, /*cut=*/true);
  Expect(R"(<tool_call>{"nam)", {{kContent, 0, R"(<tool_call>{"nam)"}});
  Expect("Hm. <tool_c", {{kContent, 0, "Hm. <tool_c"}});
}

// They were given out before it was known.
TEST(ToolCallParser, ArgumentsThatBreakGoOnAsWritten) {
  Expect(R"(<tool_call>{"name": "f", "arguments": {"a": 'b', <b>}}</tool_call> so)",
         {{kName, 0, "f"}, {kArguments, 0, R"({"a": 'b', <b>}})"}, {kContent, 1, " so"}});
  Expect(R"(<tool_call>{"name": "f", "arguments": {"a": 1)"
         "\n</tool_call>",
         {{kName, 0, "f"}, {kArguments, 0, "{\"a\": 1\n"}});
  Expect(R"(<tool_call>{"name": "f", "arguments": {a </tool_)",
         {{kName, 0, "f"}, {kArguments, 0, "{a </tool_"}}, /*cut=*/true);
}

TEST(ToolCallParser, NoMoreCallsThanAreWanted) {
  const ToolCallOptions one = {.names = {"f", "g"}, .most_calls = 1};
  const Pieces first = {{kName, 0, "f"}, {kArguments, 0, "{}"}};
  Expect(R"(<tool_call>{"name": "f"}</tool_call>)", first, false, one);
  Pieces more = first;
  more.push_back({kContent, 1, R"(<tool_call>{"name": "g"}</tool_call>)"});
  Expect(R"(<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "g"}</tool_call>)", more, false,
         one);
}

TEST(ToolCallParser, GivesOutWhatIsCertain) {
  ToolCallParser parser({});
  EXPECT_EQ(parser.Push("Hi <"), (Pieces{{kContent, 0, "Hi"}}));
  EXPECT_EQ(parser.Push("b"), (Pieces{{kContent, 0, " <b"}}));
  EXPECT_EQ(parser.Push("\n<tool_call>{\"name\": \"f\", \"arguments\""), Pieces{});
  EXPECT_EQ(parser.Push(": {\"a\""), (Pieces{{kName, 0, "f"}, {kArguments, 0, "{\"a\""}}));
  EXPECT_EQ(parser.Push(": 1"), (Pieces{{kArguments, 0, ": 1"}}));
  EXPECT_EQ(parser.Push("}}\n</tool_call>"), (Pieces{{kArguments, 0, "}"}}));
  EXPECT_EQ(parser.Finish(), Pieces{});
}

TEST(ToolCallParser, ALongTextTakesTimeInProportion) {
  ToolCallParser parser({});
  size_t bytes = 0;
  for (int i = 0; i < 200'000; ++i) {
    for (const ToolCallPiece& piece : parser.Push("<tool_call>{ <tool \n\n\n")) {
      bytes += piece.text.size();
    }
  }
  for (const ToolCallPiece& piece : parser.Finish()) bytes += piece.text.size();
  EXPECT_EQ(bytes, 200'000u * 22);
}

}  // namespace
}  // namespace hunch
