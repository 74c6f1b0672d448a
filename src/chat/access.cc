// Getting at parts of values: attributes, subscripts, slices, lengths.
#include <fmt/format.h>

#include <algorithm>

#include "chat/code_points.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

Value NoElement(Runtime& runtime, const Value& value, const Value& index) {
  if (index.is_string()) {
    return Value::Undefined(
        fmt::format("'{}' has no attribute '{}'", ObjectTypeName(value), index.AsBytes()));
  }
  return Value::Undefined(
      fmt::format("{} has no element {}", ObjectTypeName(value), ToRepr(runtime, index).bytes()));
}

// Turns an index that may count from the end into one from the start; false when outside.
bool ResolveIndex(int64_t index, size_t size, size_t* resolved) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return false;
  *resolved = static_cast<size_t>(index);
  return true;
}

Value ElementAt(Runtime& runtime, const Value& value, const Value& index) {
  size_t at = 0;
  if (value.is_list()) {
    const List& list = value.AsList();
    const bool has_order = list.kind == ListKind::kList || list.kind == ListKind::kTuple;
    if (!has_order || !ResolveIndex(index.AsInt(), list.items.size(), &at)) {
      return NoElement(runtime, value, index);
    }
    return list.items[at];
  }
  const Text& text = value.AsText();
  runtime.Spend(text.size() / 16);
  if (!ResolveIndex(index.AsInt(), CountCodePoints(text.bytes()), &at)) {
    return NoElement(runtime, value, index);
  }
  const size_t begin = OffsetOfCodePoint(text.bytes(), at);
  return runtime.MakeString(text.Slice(begin, begin + DecodeAt(text.bytes(), begin).length));
}

Value LoopAttribute(const Loop& loop, std::string_view name, bool* found) {
  const auto size = static_cast<int64_t>(loop.items->items.size());
  const auto index0 = static_cast<int64_t>(loop.index0);
  *found = true;
  if (name == "index") return Value::Int(index0 + 1);
  if (name == "index0") return Value::Int(index0);
  if (name == "revindex") return Value::Int(size - index0);
  if (name == "revindex0") return Value::Int(size - index0 - 1);
  if (name == "first") return Value::Bool(index0 == 0);
  if (name == "last") return Value::Bool(index0 + 1 >= size);
  if (name == "length") return Value::Int(size);
  if (name == "depth") return Value::Int(1);
  if (name == "depth0") return Value::Int(0);
  if (name == "previtem") {
    if (index0 == 0) return Value::Undefined("there is no previous item");
    return loop.items->items[index0 - 1];
  }
  if (name == "nextitem") {
    if (index0 + 1 >= size) return Value::Undefined("there is no next item");
    return loop.items->items[index0 + 1];
  }
  *found = false;
  return {};
}

// The range of a slice as Python resolves it.
struct Range {
  int64_t start, stop, step;
  std::vector<size_t> Indices() const {
    std::vector<size_t> indices;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
      indices.push_back(static_cast<size_t>(i));
    }
    return indices;
  }
};

int64_t ClampBound(int64_t bound, int64_t size, int64_t step) {
  if (bound < 0) bound += size;
  return step > 0 ? std::clamp<int64_t>(bound, 0, size) : std::clamp<int64_t>(bound, -1, size - 1);
}

bool ResolveRange(Runtime& runtime, int64_t size, const Value& start, const Value& stop,
                  const Value& step, Range* range) {
  for (const Value* bound : {&start, &stop, &step}) {
    if (bound->is_none() || bound->is_undefined() || bound->is_integral()) continue;
    runtime.Fail("slice indices must be integers or None");
    return false;
  }
  const auto given = [](const Value& bound) { return bound.is_integral(); };
  // A step longer than the sequence takes one element; a larger number would only overflow.
  range->step = given(step) ? std::clamp<int64_t>(step.AsInt(), -size - 1, size + 1) : 1;
  if (range->step == 0) {
    runtime.Fail("slice step cannot be zero");
    return false;
  }
  const bool forward = range->step > 0;
  range->start =
      given(start) ? ClampBound(start.AsInt(), size, range->step) : (forward ? 0 : size - 1);
  range->stop = given(stop) ? ClampBound(stop.AsInt(), size, range->step) : (forward ? size : -1);
  return true;
}

Value SliceString(Runtime& runtime, const Text& text, const Value& start, const Value& stop,
                  const Value& step) {
  if (!runtime.Spend(1 + text.size() / 16)) return {};
  Range range;
  const auto size = static_cast<int64_t>(CountCodePoints(text.bytes()));
  if (!ResolveRange(runtime, size, start, stop, step, &range)) return {};
  if (range.step == 1) {
    const size_t begin = OffsetOfCodePoint(text.bytes(), range.start);
    const size_t end = OffsetOfCodePoint(text.bytes(), std::max(range.start, range.stop));
    return runtime.MakeString(text.Slice(begin, end));
  }
  if (!runtime.Spend(text.size())) return {};
  std::vector<size_t> offsets;
  for (size_t i = 0; i < text.size(); i += DecodeAt(text.bytes(), i).length) offsets.push_back(i);
  offsets.push_back(text.size());
  Text out;
  for (const size_t index : range.Indices()) out.Append(text, offsets[index], offsets[index + 1]);
  return runtime.MakeString(std::move(out));
}

}  // namespace

Value GetItem(Runtime& runtime, const Value& value, const Value& index) {
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  if (value.is_dict()) {
    if (const Value* found = FindKey(runtime, value.AsDict(), index)) return *found;
  } else if ((value.is_list() || value.is_string()) && index.is_integral()) {
    return ElementAt(runtime, value, index);
  }
  if (index.is_string()) return GetAttribute(runtime, value, index.AsBytes());
  return NoElement(runtime, value, index);
}

Value GetAttribute(Runtime& runtime, const Value& value, std::string_view name) {
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  if (value.kind() == Value::Kind::kNamespace) {
    runtime.Spend(1 + value.AsNamespace()->attributes.size() / 8);
    if (const Value* found = value.AsNamespace()->Find(name)) return *found;
  }
  if (value.kind() == Value::Kind::kLoop) {
    bool found = false;
    Value attribute = LoopAttribute(*value.AsLoop(), name, &found);
    if (found) return attribute;
  }
  if (IsForbiddenMethod(value, name)) {
    return Value::Undefined(fmt::format(
        "access to attribute '{}' of '{}' object is unsafe: templates may not change values", name,
        TypeName(value)));
  }
  if (const BuiltinFunction method = FindMethod(value, name)) {
    auto callable = std::make_shared<Callable>();
    callable->name = name;
    callable->builtin = method;
    callable->receiver = value;
    runtime.SpendBytes(sizeof(Callable));
    return Value(std::shared_ptr<const Callable>(std::move(callable)));
  }
  if (value.is_dict()) {
    runtime.Spend(1 + value.AsDict().entries.size() / 8);
    if (const Value* found = value.AsDict().Find(name)) return *found;
  }
  return Value::Undefined(fmt::format("'{}' has no attribute '{}'", ObjectTypeName(value), name));
}

Value GetSlice(Runtime& runtime, const Value& value, const Value& start, const Value& stop,
               const Value& step) {
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  if (value.is_string()) return SliceString(runtime, value.AsText(), start, stop, step);
  if (!value.is_list()) return Value::Undefined(ObjectTypeName(value) + " cannot be sliced");
  const List& list = value.AsList();
  Range range;
  if (!ResolveRange(runtime, static_cast<int64_t>(list.items.size()), start, stop, step, &range) ||
      !runtime.Spend(list.items.size())) {
    return {};
  }
  std::vector<Value> items;
  for (const size_t index : range.Indices()) items.push_back(list.items[index]);
  return runtime.MakeList(std::move(items), list.kind);
}

int64_t Length(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 0;
    case Value::Kind::kString:
      runtime.Spend(value.AsText().size() / 16);
      return static_cast<int64_t>(CountCodePoints(value.AsBytes()));
    case Value::Kind::kList:
      if (value.AsList().kind == ListKind::kGenerator) break;
      return static_cast<int64_t>(value.AsList().items.size());
    case Value::Kind::kDict:
      return static_cast<int64_t>(value.AsDict().entries.size());
    case Value::Kind::kLoop:
      return static_cast<int64_t>(value.AsLoop()->items->items.size());
    default:
      break;
  }
  runtime.Fail(fmt::format("object of type '{}' has no len()", TypeName(value)));
  return 0;
}

}  // namespace hunch::chat
