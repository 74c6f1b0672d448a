// Values as text: Python's str() and repr(), and json.dumps as Hugging Face's tojson calls it.
// Text that contains anything from the request counts as the request's as a whole.
#ifndef HUNCH_CHAT_PRINT_H_
#define HUNCH_CHAT_PRINT_H_

#include <optional>
#include <string>
#include <string_view>

#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// str(value): what {{ value }} prints.
Text ToText(Runtime& runtime, const Value& value);
// repr(value).
Text ToRepr(Runtime& runtime, const Value& value);

struct JsonStyle {
  std::optional<std::string> indent;  // the white space of one level; none: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};
Text ToJson(Runtime& runtime, const Value& value, const JsonStyle& style);

// Python's repr of a float: the shortest that reads back equal.
std::string FloatRepr(double value);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_PRINT_H_
