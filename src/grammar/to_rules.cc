#include "grammar/to_rules.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <variant>

#include "base/utf8.h"
#include "grammar/limits.h"

// Where the library's messages go, which its own logging header declares and its users are to
// define: an error becomes an exception, and so does what it says it ignores; the rest of what it
// wants to say of somebody's grammar is not this program's to print. In this file because every
// program that calls the library links it.
namespace {
thread_local std::string ignored;  // NOLINT: the library has no other way out; "": nothing
}  // namespace

namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);

void LogFatalImpl(const std::string& /*file*/, int /*line*/, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string& /*file*/, int /*line*/, int /*level*/,
                    const std::string& message) {
  // Of several schemas in an allOf none counts: "Support ... is still ongoing".
  const bool ignores =
      message.find("ignor") != std::string::npos || message.find("ongoing") != std::string::npos;
  if (ignored.empty() && ignores) ignored = message;
}

}  // namespace xgrammar

namespace hunch {
namespace {

using Kind = StructuredOutput::Kind;

xgrammar::Grammar FromSchema(const std::string& schema) {
  return xgrammar::Grammar::FromJSONSchema(schema, /*any_whitespace=*/true, /*indent=*/std::nullopt,
                                           /*separators=*/std::nullopt, /*strict_mode=*/true,
                                           kMostWhitespace);
}

// The text as a literal of the grammar.
std::string Literal(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    out += fmt::format("\\U{:08X}", c.code_point);
    at += c.length;
  }
  return out + '"';
}

xgrammar::Grammar FromChoices(const std::string& choices) {
  std::string rules = "root ::= ";
  std::string_view between = "";
  for (const auto& choice : nlohmann::json::parse(choices)) {
    rules += between;
    rules += Literal(choice.get_ref<const std::string&>());
    between = " | ";
  }
  return xgrammar::Grammar::FromEBNF(rules);
}

xgrammar::Grammar FromTag(const std::string& tag) {
  auto grammar = xgrammar::Grammar::FromStructuralTag(tag);
  if (auto* rules = std::get_if<xgrammar::Grammar>(&grammar)) return *rules;
  const auto& error = std::get<xgrammar::StructuralTagError>(grammar);
  throw std::runtime_error(
      std::visit([](const auto& kind) { return std::string(kind.what()); }, error));
}

xgrammar::Grammar RulesOf(const StructuredOutput& wanted) {
  switch (wanted.kind) {
    case Kind::kJsonObject:
      return FromSchema(R"({"type": "object", "additionalProperties": true})");
    case Kind::kJsonSchema:
      return FromSchema(wanted.text);
    case Kind::kRegex:
      return xgrammar::Grammar::FromRegex(wanted.text);
    case Kind::kChoice:
      return FromChoices(wanted.text);
    case Kind::kGrammar:
      return xgrammar::Grammar::FromEBNF(wanted.text);
    case Kind::kStructuralTag:
      return FromTag(wanted.text);
  }
  throw std::logic_error("unknown kind");
}

}  // namespace

xgrammar::Grammar ToRules(const StructuredOutput& wanted) {
  ignored.clear();
  xgrammar::Grammar rules = RulesOf(wanted);
  if (!ignored.empty()) throw std::runtime_error(ignored);
  return rules;
}

std::string ReasonIn(const std::string& message) {
  std::string reason = message;
  constexpr std::string_view kFailed = " is false: ";
  if (const size_t at = reason.find(kFailed); at != std::string::npos) {
    reason.erase(0, at + kFailed.size());
  }
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  constexpr size_t kMost = 300;
  if (reason.size() > kMost) reason = reason.substr(0, kMost) + "...";
  return reason.empty() ? "it cannot be read" : reason;
}

}  // namespace hunch
