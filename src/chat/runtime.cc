#include "chat/runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/code_points.h"

namespace hunch::chat {

Runtime::~Runtime() {
  for (Namespace& space : namespaces_) space.attributes.clear();
}

Value Runtime::Fail(std::string_view message, ErrorCode code) {
  if (!error_) error_ = Error{code, fmt::format("chat template line {}: {}", line_, message)};
  return {};
}

bool Runtime::Spend(size_t steps) {
  steps_ += steps;
  if (steps_ > RenderLimits::kSteps) {
    Fail(fmt::format("the template does more than {} steps of work", RenderLimits::kSteps),
         ErrorCode::kResourceExhausted);
  }
  return !failed();
}

bool Runtime::SpendBytes(size_t bytes) {
  // Each addition is checked before the next, so the sum cannot wrap.
  bytes_ += std::min(bytes, RenderLimits::kBytes + 1);
  if (bytes_ > RenderLimits::kBytes) {
    bytes_ = RenderLimits::kBytes + 1;
    Fail(fmt::format("the template makes more than {} bytes of values", RenderLimits::kBytes),
         ErrorCode::kResourceExhausted);
  }
  return !failed();
}

bool Runtime::CheckDepth(int depth) {
  if (depth > RenderLimits::kValueDepth) {
    Fail(fmt::format("a value has more than {} lists and dicts inside each other",
                     RenderLimits::kValueDepth),
         ErrorCode::kResourceExhausted);
  }
  return !failed();
}

Value Runtime::MakeString(Text text) {
  if (!SpendBytes(text.size() + sizeof(Text))) return {};
  return Value::String(std::move(text));
}

Value Runtime::MakeString(std::string text, bool from_request) {
  return MakeString(Text(std::move(text), from_request));
}

Value Runtime::MakeList(std::vector<Value> items, ListKind kind) {
  auto list = std::make_shared<List>();
  for (const Value& item : items) list->depth = std::max(list->depth, item.depth() + 1);
  if (!CheckDepth(list->depth)) return {};
  if (!SpendBytes(sizeof(List) + items.size() * sizeof(Value))) return {};
  list->items = std::move(items);
  list->kind = kind;
  return Value(std::shared_ptr<const List>(std::move(list)));
}

Value Runtime::MakeDict(std::vector<std::pair<Value, Value>> entries) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, value] : entries) {
    dict->depth = std::max({dict->depth, key.depth() + 1, value.depth() + 1});
  }
  if (!CheckDepth(dict->depth)) return {};
  if (!SpendBytes(sizeof(Dict) + entries.size() * 2 * sizeof(Value))) return {};
  dict->entries = std::move(entries);
  return Value(std::shared_ptr<const Dict>(std::move(dict)));
}

Namespace* Runtime::MakeNamespace() {
  SpendBytes(sizeof(Namespace));
  return &namespaces_.emplace_back();
}

Loop* Runtime::MakeLoop() {
  SpendBytes(sizeof(Loop));
  return &loops_.emplace_back();
}

std::vector<Value> Iterate(Runtime& runtime, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return items;
    case Value::Kind::kList:
      runtime.Spend(value.AsList().items.size());
      runtime.SpendBytes(value.AsList().items.size() * sizeof(Value));
      if (!runtime.failed()) items = value.AsList().items;
      return items;
    case Value::Kind::kDict:
      runtime.Spend(value.AsDict().entries.size());
      for (const auto& [key, unused] : value.AsDict().entries) items.push_back(key);
      return items;
    case Value::Kind::kString: {
      const Text& text = value.AsText();
      for (size_t i = 0; i < text.size() && runtime.Spend(1);) {
        const size_t end = i + DecodeAt(text.bytes(), i).length;
        items.push_back(runtime.MakeString(text.Slice(i, end)));
        i = end;
      }
      return items;
    }
    case Value::Kind::kLoop: {
      const Loop& loop = *value.AsLoop();
      const auto& all = loop.items->items;
      items.assign(all.begin() + static_cast<ptrdiff_t>(std::min(loop.index0 + 1, all.size())),
                   all.end());
      return items;
    }
    default:
      runtime.Fail(fmt::format("'{}' object is not iterable", TypeName(value)));
      return items;
  }
}

}  // namespace hunch::chat
