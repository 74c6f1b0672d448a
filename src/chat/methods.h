// The methods of strings, dicts, lists and loops that templates may call. Tables are constant.
#ifndef HUNCH_CHAT_METHODS_H_
#define HUNCH_CHAT_METHODS_H_

#include <string_view>

#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// Null when values of this kind have no such method.
BuiltinFunction FindMethod(const Value& value, std::string_view name);
BuiltinFunction FindStringMethod(std::string_view name);

// Methods that would change their value: Hugging Face's sandbox hides them, and so does Hunch.
bool IsForbiddenMethod(const Value& value, std::string_view name);

// Shared with the filters of the same names.
Value StripText(Runtime& runtime, const Text& text, const Value* characters, bool left, bool right);
Value ReplaceText(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                  int64_t count);
Value JoinTexts(Runtime& runtime, const Text& separator, const std::vector<Text>& parts);
enum class Case { kUpper, kLower, kTitle, kCapitalize };
Value ChangeCase(Runtime& runtime, const Text& text, Case to);
// str.format
Value FormatBraces(Runtime& runtime, const Value& receiver, const Arguments& arguments);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_METHODS_H_
