#include "grammar/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "grammar/schema_keywords.h"

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;

Error Wrong(Kind kind, std::string_view reason) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{} {}", WhatItIs(kind), reason)};
}

Error TooDeep(Kind kind) {
  return Wrong(kind, fmt::format("is nested deeper than {} levels", kMostGrammarDepth));
}

Status CheckJson(Kind kind, std::string_view text) {
  bool deep = false;
  const auto look = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deep = deep || depth > kMostGrammarDepth;
    return !deep;  // what lies deeper is parsed and dropped
  };
  const auto json = nlohmann::json::parse(text, look, /*allow_exceptions=*/false);
  if (deep) return TooDeep(kind);
  if (json.is_discarded()) return Wrong(kind, "is no JSON");
  if (kind == Kind::kJsonSchema && !json.is_object() && !json.is_boolean()) {
    return Wrong(kind, "must be an object");
  }
  if (kind == Kind::kStructuralTag && !json.is_object()) return Wrong(kind, "must be an object");
  const std::string passed_over = kind == Kind::kJsonSchema      ? PassedOverKeyword(json)
                                  : kind == Kind::kStructuralTag ? PassedOverKeywordInTag(json)
                                                                 : "";
  if (!passed_over.empty()) {
    return Wrong(kind, fmt::format("has {}, which answers cannot be held to", passed_over));
  }
  if (kind != Kind::kChoice) return Ok{};
  const auto is_text = [](const nlohmann::json& choice) { return choice.is_string(); };
  if (!json.is_array() || json.empty() || !std::all_of(json.begin(), json.end(), is_text)) {
    return Wrong(kind, "must be an array of at least one string");
  }
  return Ok{};
}

// Brackets that are escaped or inside a class count too: nobody nests 64 of those either.
Status CheckBrackets(Kind kind, std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && depth > 0) --depth;
    if (depth > kMostGrammarDepth) return TooDeep(kind);
  }
  return Ok{};
}

}  // namespace

std::string_view WhatItIs(Kind kind) {
  switch (kind) {
    case Kind::kJsonObject:
      return "the JSON object";
    case Kind::kJsonSchema:
      return "the JSON schema";
    case Kind::kRegex:
      return "the regular expression";
    case Kind::kChoice:
      return "the list of choices";
    case Kind::kGrammar:
      return "the grammar";
    case Kind::kStructuralTag:
      return "the structural tag";
  }
  return "the structured output";
}

Status CheckLimits(const StructuredOutput& wanted) {
  const std::string_view text = wanted.text;
  if (wanted.kind == Kind::kJsonObject) return Ok{};
  if (text.empty()) return Wrong(wanted.kind, "is empty");
  if (text.size() > kMostGrammarBytes) {
    return Wrong(wanted.kind,
                 fmt::format("has {} bytes: at most {} are taken", text.size(), kMostGrammarBytes));
  }
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (c.state != Utf8State::kValid) return Wrong(wanted.kind, "is not UTF-8");
    at += c.length;
  }
  if (wanted.kind == Kind::kRegex || wanted.kind == Kind::kGrammar) {
    return CheckBrackets(wanted.kind, text);
  }
  return CheckJson(wanted.kind, text);
}

}  // namespace hunch
