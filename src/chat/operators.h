// The operators of the template language with Python's meaning, on values. Failures go to the
// runtime.
#ifndef HUNCH_CHAT_OPERATORS_H_
#define HUNCH_CHAT_OPERATORS_H_

#include "chat/ast.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// + - * / // % **
Value BinaryOperation(Runtime& runtime, Op op, const Value& left, const Value& right);
Value Negate(Runtime& runtime, const Value& value);

// == != < <= > >= in, not in
bool CompareOperation(Runtime& runtime, Op op, const Value& left, const Value& right);
bool Equals(Runtime& runtime, const Value& left, const Value& right);
bool Less(Runtime& runtime, const Value& left, const Value& right);
bool Contains(Runtime& runtime, const Value& container, const Value& item);

// value[index], as jinja2's Environment.getitem: an undefined value when there is none.
Value GetItem(Runtime& runtime, const Value& value, const Value& index);
// value.name, as jinja2's Environment.getattr.
Value GetAttribute(Runtime& runtime, const Value& value, std::string_view name);
// value[start:stop:step]; none and undefined stand for what was left out.
Value GetSlice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
               const Value& step);

// The entry of `key`; null when there is none. Pays for the search.
const Value* FindKey(Runtime& runtime, const Dict& dict, const Value& key);
// Adds or changes an entry of a dict that is still being made.
void SetKey(Runtime& runtime, Dict* dict, const Value& key, Value value);
// len(value); fails for what has no length.
int64_t Length(Runtime& runtime, const Value& value);
// `text` % arguments.
Value FormatPercent(Runtime& runtime, const Text& text, const Value& arguments);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_OPERATORS_H_
