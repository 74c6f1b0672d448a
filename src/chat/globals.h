// The functions that every template may call: range, dict, namespace, raise_exception,
// strftime_now.
#ifndef HUNCH_CHAT_GLOBALS_H_
#define HUNCH_CHAT_GLOBALS_H_

#include <string_view>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace hunch::chat {

// Name and function of each. The table is constant.
const std::vector<std::pair<std::string_view, BuiltinFunction>>& GlobalFunctions();

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_GLOBALS_H_
