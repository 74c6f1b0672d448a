// One conversion of str.format ("{:>8.2f}") or of the % operator ("%-8.2f").
#ifndef HUNCH_CHAT_FORMAT_SPEC_H_
#define HUNCH_CHAT_FORMAT_SPEC_H_

#include <optional>
#include <string>
#include <string_view>

#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // < > ^ =, or none given
  char sign = '-';    // - + or a space
  bool alternate = false;
  bool thousands = false;
  int width = 0;
  int precision = -1;
  char type = '\0';  // s d x X o b c e E f F g G % n, or none given
};

// Widths and precisions beyond this are refused: they only make text.
constexpr int kMaxFormatWidth = 10'000;

// Reads digits at `*position`; false when they exceed kMaxFormatWidth.
bool ReadFormatNumber(std::string_view text, size_t* position, int* number);
// The part of a replacement field after the colon; nothing when it is malformed.
std::optional<FormatSpec> ParseFormatSpec(std::string_view text);
Text FormatValue(Runtime& runtime, const Value& value, const FormatSpec& spec);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_FORMAT_SPEC_H_
