#include "chat/value.h"

#include <fmt/format.h>

namespace hunch::chat {

Value Value::Undefined(std::string reason) {
  return Value(Rep(std::in_place_index<0>, std::make_shared<const std::string>(std::move(reason))));
}

Value Value::String(Text text) {
  return Value(Rep(std::in_place_index<5>, std::make_shared<const Text>(std::move(text))));
}

Value Value::TemplateString(std::string_view text) {
  return String(Text(std::string(text), false));
}

std::string Value::Reason() const {
  const auto& reason = std::get<0>(rep_);
  return reason ? *reason : "the value is undefined";
}

int Value::depth() const {
  switch (kind()) {
    case Kind::kList:
      return AsList().depth;
    case Kind::kDict:
      return AsDict().depth;
    case Kind::kCallable:
      return AsCallable().receiver.depth() + 1;
    default:
      return 0;
  }
}

const Value* Dict::Find(std::string_view key) const {
  for (const auto& [k, value] : entries) {
    if (k.is_string() && k.AsBytes() == key) return &value;
  }
  return nullptr;
}

const Value* Namespace::Find(std::string_view name) const {
  for (const auto& [n, value] : attributes) {
    if (n == name) return &value;
  }
  return nullptr;
}

const Value* Arguments::Get(size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [n, value] : keyword) {
    if (n == name) return &value;
  }
  return nullptr;
}

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return "Undefined";
    case Value::Kind::kNone:
      return "NoneType";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
      return "int";
    case Value::Kind::kFloat:
      return "float";
    case Value::Kind::kString:
      return value.AsText().markup() ? "Markup" : "str";
    case Value::Kind::kList:
      switch (value.AsList().kind) {
        case ListKind::kList:
          return "list";
        case ListKind::kTuple:
          return "tuple";
        case ListKind::kDictView:
          return "dict_items";
        case ListKind::kGenerator:
          return "generator";
      }
      return "list";
    case Value::Kind::kDict:
      return "dict";
    case Value::Kind::kNamespace:
      return "Namespace";
    case Value::Kind::kLoop:
      return "LoopContext";
    case Value::Kind::kCallable:
      return value.AsCallable().macro != nullptr ? "Macro" : "builtin_function_or_method";
  }
  return "object";
}

std::string ObjectTypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNone:
      return "None";
    case Value::Kind::kNamespace:
      return "jinja2.utils.Namespace object";
    case Value::Kind::kLoop:
      return "jinja2.runtime.LoopContext object";
    default:
      return fmt::format("{} object", TypeName(value));
  }
}

bool Truthy(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return false;
    case Value::Kind::kBool:
      return value.AsBool();
    case Value::Kind::kInt:
      return value.AsInt() != 0;
    case Value::Kind::kFloat:
      return value.AsDouble() != 0;
    case Value::Kind::kString:
      return !value.AsText().empty();
    case Value::Kind::kList:
      return value.AsList().kind == ListKind::kGenerator || !value.AsList().items.empty();
    case Value::Kind::kDict:
      return !value.AsDict().entries.empty();
    case Value::Kind::kLoop:
      return !value.AsLoop()->items->items.empty();
    default:
      return true;
  }
}

}  // namespace hunch::chat
