// The filters and tests of the template language. Tables are constant; all state is in the runtime.
#ifndef HUNCH_CHAT_FILTERS_H_
#define HUNCH_CHAT_FILTERS_H_

#include <string_view>

#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// value | name(arguments); an unknown name fails with kUnsupported.
Value ApplyFilter(Runtime& runtime, std::string_view name, const Value& value,
                  const Arguments& arguments);
// value is name(arguments)
bool ApplyTest(Runtime& runtime, std::string_view name, const Value& value,
               const Arguments& arguments);

// A filter has the shape of a method: the filtered value is its receiver. Null for an unknown name.
BuiltinFunction FindTextFilter(std::string_view name);      // text_filters.cc
BuiltinFunction FindNumberFilter(std::string_view name);    // number_filters.cc
BuiltinFunction FindSequenceFilter(std::string_view name);  // sequence_filters.cc
BuiltinFunction FindOrderFilter(std::string_view name);     // order_filters.cc

// item.a.b for the dotted path "a.b" (or an index), as filters with an `attribute` argument look it
// up.
// `otherwise`, where given, stands in for any step that is undefined.
Value GetPath(Runtime& runtime, const Value& item, const Value& path,
              const Value* otherwise = nullptr);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_FILTERS_H_
