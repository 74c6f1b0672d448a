// Filters over sequences, and the few that take any value.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "chat/code_points.h"
#include "chat/filters.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

Value LengthFilter(Runtime& runtime, const Value& value, const Arguments&) {
  return Value::Int(Length(runtime, value));
}

Value Default(Runtime&, const Value& value, const Arguments& arguments) {
  const Value* otherwise = arguments.Get(0, "default_value");
  const Value* boolean = arguments.Get(1, "boolean");
  const bool missing =
      value.is_undefined() || (boolean != nullptr && Truthy(*boolean) && !Truthy(value));
  if (!missing) return value;
  return otherwise != nullptr ? *otherwise : Value::TemplateString("");
}

Value First(Runtime& runtime, const Value& value, const Arguments&) {
  const auto items = Iterate(runtime, value);
  if (items.empty()) return Value::Undefined("No first item, sequence was empty.");
  return items.front();
}

bool IsGenerator(const Value& value) {
  return value.is_list() && value.AsList().kind == ListKind::kGenerator;
}

Value Last(Runtime& runtime, const Value& value, const Arguments&) {
  if (IsGenerator(value)) return runtime.Fail("'generator' object is not reversible");
  const auto items = Iterate(runtime, value);
  if (items.empty()) return Value::Undefined("No last item, sequence was empty.");
  return items.back();
}

Value ListFilter(Runtime& runtime, const Value& value, const Arguments&) {
  return runtime.MakeList(Iterate(runtime, value));
}

Value Reverse(Runtime& runtime, const Value& value, const Arguments&) {
  if (value.is_string()) {
    const Text& text = value.AsText();
    if (!runtime.Spend(1 + text.size())) return {};
    Text out;
    for (size_t end = text.size(); end > 0;) {
      const size_t begin = end - DecodeBefore(text.bytes(), end).length;
      out.Append(text, begin, end);
      end = begin;
    }
    return runtime.MakeString(std::move(out));
  }
  auto items = Iterate(runtime, value);
  std::reverse(items.begin(), items.end());
  return runtime.MakeList(std::move(items), ListKind::kGenerator);
}

Value Items(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (value.is_undefined()) return runtime.MakeList({}, ListKind::kGenerator);
  if (!value.is_dict()) return runtime.Fail("Can only get item pairs from a mapping.");
  const Value pairs = FindMethod(value, "items")(runtime, value, arguments);
  return runtime.MakeList(Iterate(runtime, pairs), ListKind::kGenerator);
}

// The arguments behind the first `count`, which name a filter or a test.
Arguments Behind(const Arguments& arguments, size_t count) {
  Arguments rest;
  for (size_t i = count; i < arguments.positional.size(); ++i) {
    rest.positional.push_back(arguments.positional[i]);
  }
  rest.keyword = arguments.keyword;
  return rest;
}

// jinja2's map and select take anything false, none for example, for an empty sequence.
std::vector<Value> IterateUnlessFalse(Runtime& runtime, const Value& value) {
  return Truthy(value) ? Iterate(runtime, value) : std::vector<Value>();
}

Value MapAttribute(Runtime& runtime, const Value& value, const Value& path,
                   const Value* otherwise) {
  std::vector<Value> mapped;
  for (const Value& item : IterateUnlessFalse(runtime, value)) {
    mapped.push_back(GetPath(runtime, item, path, otherwise));
    if (runtime.failed()) return {};
  }
  return runtime.MakeList(std::move(mapped), ListKind::kGenerator);
}

Value Map(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (arguments.positional.empty()) {
    const Value* attribute = arguments.Get(0, "attribute");
    if (attribute == nullptr) return runtime.Fail("map requires a filter argument");
    return MapAttribute(runtime, value, *attribute, arguments.Get(1, "default"));
  }
  if (!arguments.positional[0].is_string()) return runtime.Fail("map needs the name of a filter");
  const Arguments rest = Behind(arguments, 1);
  std::vector<Value> mapped;
  for (const Value& item : IterateUnlessFalse(runtime, value)) {
    mapped.push_back(ApplyFilter(runtime, arguments.positional[0].AsBytes(), item, rest));
    if (runtime.failed()) return {};
  }
  return runtime.MakeList(std::move(mapped), ListKind::kGenerator);
}

// select, reject, selectattr and rejectattr: keeps the items for which the test gives `wanted`.
Value Choose(Runtime& runtime, const Value& value, const Arguments& arguments, bool by_attribute,
             bool wanted) {
  const size_t test_at = by_attribute ? 1 : 0;
  if (by_attribute && arguments.positional.empty()) {
    return runtime.Fail("selectattr and rejectattr need the name of an attribute");
  }
  const bool has_test = arguments.positional.size() > test_at;
  if (has_test && !arguments.positional[test_at].is_string()) {
    return runtime.Fail("select and reject need the name of a test");
  }
  const Arguments rest = Behind(arguments, test_at + 1);
  std::vector<Value> kept;
  for (const Value& item : IterateUnlessFalse(runtime, value)) {
    const Value looked_at = by_attribute ? GetPath(runtime, item, arguments.positional[0]) : item;
    if (!runtime.Spend(1)) return {};
    const bool holds =
        has_test ? ApplyTest(runtime, arguments.positional[test_at].AsBytes(), looked_at, rest)
                 : Truthy(looked_at);
    if (runtime.failed()) return {};
    if (holds == wanted) kept.push_back(item);
  }
  return runtime.MakeList(std::move(kept), ListKind::kGenerator);
}

template <bool by_attribute, bool wanted>
Value ChooseItems(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Choose(runtime, value, arguments, by_attribute, wanted);
}

Value Sum(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* attribute = arguments.Get(0, "attribute");
  const Value* start = arguments.Get(1, "start");
  Value sum = start != nullptr ? *start : Value::Int(0);
  for (const Value& item : Iterate(runtime, value)) {
    const bool look_up = attribute != nullptr && !attribute->is_none();
    sum = BinaryOperation(runtime, Op::kAdd, sum,
                          look_up ? GetPath(runtime, item, *attribute) : item);
    if (!runtime.Spend(1)) return {};
  }
  return sum;
}

Value Batch(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* count = arguments.Get(0, "linecount");
  const Value* fill = arguments.Get(1, "fill_with");
  if (count == nullptr || !count->is_integral() || count->AsInt() < 1 ||
      count->AsInt() > RenderLimits::kRange) {
    return runtime.Fail("batch needs a whole number from 1 to 100000");
  }
  const auto size = static_cast<size_t>(count->AsInt());
  std::vector<Value> batches, batch;
  for (Value& item : Iterate(runtime, value)) {
    batch.push_back(std::move(item));
    if (batch.size() == size) batches.push_back(runtime.MakeList(std::exchange(batch, {})));
  }
  if (!batch.empty()) {
    if (fill != nullptr && !fill->is_none()) batch.resize(size, *fill);
    batches.push_back(runtime.MakeList(std::move(batch)));
  }
  return runtime.MakeList(std::move(batches), ListKind::kGenerator);
}

Value Attr(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* name = arguments.Get(0, "name");
  if (name == nullptr || !name->is_string()) return runtime.Fail("attr needs a name");
  // Only attributes count, so an entry of a dict is not found.
  if (value.is_dict() && FindMethod(value, name->AsBytes()) == nullptr) {
    return Value::Undefined(fmt::format("'dict object' has no attribute '{}'", name->AsBytes()));
  }
  return GetAttribute(runtime, value, name->AsBytes());
}

}  // namespace

BuiltinFunction FindSequenceFilter(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinFunction> kFilters = {
      {"length", LengthFilter},
      {"count", LengthFilter},
      {"default", Default},
      {"d", Default},
      {"first", First},
      {"last", Last},
      {"list", ListFilter},
      {"reverse", Reverse},
      {"items", Items},
      {"map", Map},
      {"select", ChooseItems<false, true>},
      {"reject", ChooseItems<false, false>},
      {"selectattr", ChooseItems<true, true>},
      {"rejectattr", ChooseItems<true, false>},
      {"sum", Sum},
      {"batch", Batch},
      {"attr", Attr},
  };
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace hunch::chat
