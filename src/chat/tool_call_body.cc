#include "chat/tool_call_body.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

// The string that a JSON string stands for; "" if it is none.
std::string Unquoted(const std::string& json) {
  const Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  return value.is_string() ? value.get<std::string>() : "";
}

bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20; }

std::string Escaped(char control) {
  switch (control) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", static_cast<unsigned>(control));
  }
}

}  // namespace

bool ToolCallBody::Put(char byte) {
  // Of the byte's place.
  const bool outer = scanner_.depth() == 1;
  const bool begins_key = outer && scanner_.before_key() && byte == '"';
  const bool was_before_value = outer && scanner_.before_value();
  const bool raw_control = scanner_.in_string() && IsControl(byte);
  if (!scanner_.Put(byte)) return false;

  if (begins_key) {
    part_ = Part::kKey;
    text_.clear();
  } else if (was_before_value && !scanner_.before_value()) {
    if (!BeginValue(byte)) return false;
  }
  if (part_ != Part::kOther) {
    std::string& text = part_ == Part::kArguments ? arguments_ : text_;
    text += raw_control ? Escaped(byte) : std::string(1, byte);
  }
  if (scanner_.over()) return EndObject();
  if (scanner_.depth() != 1) return true;
  if (part_ == Part::kKey && scanner_.after_key()) {
    key_ = Unquoted(text_);
    part_ = Part::kOther;
    return true;
  }
  return !scanner_.after_value() || EndValue();
}

// `byte`: the value's first. False: it is none that the key can have.
bool ToolCallBody::BeginValue(char byte) {
  text_.clear();
  part_ = Part::kOther;
  if (key_ == "name" && name_.empty()) {
    part_ = Part::kName;
    return byte == '"';
  }
  if ((key_ == "arguments" || key_ == "parameters") && !arguments_begun_) {
    part_ = byte == '{'   ? Part::kArguments
            : byte == '"' ? Part::kArgumentsText
                          : Part::kNoArguments;
    arguments_begun_ = part_ == Part::kArguments;
    return byte == '{' || byte == '"' || byte == 'n';
  }
  return !strict_ || key_ == "name" || key_ == "arguments" || key_ == "parameters";
}

// The value at hand is complete; nothing happens when it was before.
bool ToolCallBody::EndValue() {
  switch (std::exchange(part_, Part::kOther)) {
    case Part::kName:
      name_ = Unquoted(text_);
      return !name_.empty();
    case Part::kArguments:
      arguments_over_ = true;
      return true;
    case Part::kArgumentsText:
      return SetArguments(Unquoted(text_));
    case Part::kNoArguments:
      return SetArguments("{}");
    default:
      return true;
  }
}

bool ToolCallBody::EndObject() {
  if (name_.empty()) return false;
  return arguments_begun_ || SetArguments("{}");
}

bool ToolCallBody::SetArguments(std::string text) {
  if (!IsJsonObject(text)) return false;
  arguments_ = std::move(text);
  arguments_begun_ = arguments_over_ = true;
  return true;
}

std::string ToolCallBody::TakeArguments() { return std::exchange(arguments_, {}); }

}  // namespace hunch
