// Methods of dicts, lists and loops, and the table that finds any value's methods.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/methods.h"
#include "chat/operators.h"

namespace hunch::chat {
namespace {

Value DictGet(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* key = arguments.Get(0, "key");
  if (key == nullptr) return runtime.Fail("get() needs a key");
  if (const Value* found = FindKey(runtime, self.AsDict(), *key)) return *found;
  const Value* otherwise = arguments.Get(1, "default");
  return otherwise != nullptr ? *otherwise : Value::None();
}

Value DictItems(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.AsDict().entries) {
    if (!runtime.Spend(1)) return {};
    items.push_back(runtime.MakeList({key, value}, ListKind::kTuple));
  }
  return runtime.MakeList(std::move(items), ListKind::kDictView);
}

Value DictKeys(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> keys;
  runtime.Spend(self.AsDict().entries.size());
  for (const auto& [key, value] : self.AsDict().entries) keys.push_back(key);
  return runtime.MakeList(std::move(keys), ListKind::kDictView);
}

Value DictValues(Runtime& runtime, const Value& self, const Arguments&) {
  std::vector<Value> values;
  runtime.Spend(self.AsDict().entries.size());
  for (const auto& [key, value] : self.AsDict().entries) values.push_back(value);
  return runtime.MakeList(std::move(values), ListKind::kDictView);
}

// Values cannot be changed, so a copy is the value itself.
Value Copy(Runtime&, const Value& self, const Arguments&) { return self; }

Value ListCount(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* item = arguments.Get(0, "value");
  if (item == nullptr) return runtime.Fail("count() needs a value");
  int64_t count = 0;
  for (const Value& element : self.AsList().items) count += Equals(runtime, element, *item) ? 1 : 0;
  return Value::Int(count);
}

Value ListIndex(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* item = arguments.Get(0, "value");
  if (item == nullptr) return runtime.Fail("index() needs a value");
  const auto& items = self.AsList().items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (Equals(runtime, items[i], *item)) return Value::Int(static_cast<int64_t>(i));
  }
  return runtime.Fail("the value of index() is not in the list");
}

Value LoopCycle(Runtime& runtime, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return runtime.Fail("no items for cycling given");
  return arguments.positional[self.AsLoop()->index0 % arguments.positional.size()];
}

Value LoopChanged(Runtime& runtime, const Value& self, const Arguments& arguments) {
  Loop* loop = self.AsLoop();
  const Value now = runtime.MakeList(arguments.positional, ListKind::kTuple);
  const bool changed = !loop->checked || !Equals(runtime, loop->last_checked, now);
  loop->checked = true;
  loop->last_checked = now;
  return Value::Bool(changed);
}

template <size_t size>
bool IsOneOf(std::string_view name, const std::array<std::string_view, size>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

BuiltinFunction FindMethod(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Value::Kind::kString:
      return FindStringMethod(name);
    case Value::Kind::kDict:
      if (name == "get") return DictGet;
      if (name == "items") return DictItems;
      if (name == "keys") return DictKeys;
      if (name == "values") return DictValues;
      return name == "copy" ? Copy : nullptr;
    case Value::Kind::kList:
      if (value.AsList().kind == ListKind::kDictView ||
          value.AsList().kind == ListKind::kGenerator) {
        return nullptr;
      }
      if (name == "count") return ListCount;
      if (name == "index") return ListIndex;
      return name == "copy" && value.AsList().kind == ListKind::kList ? Copy : nullptr;
    case Value::Kind::kLoop:
      if (name == "cycle") return LoopCycle;
      return name == "changed" ? LoopChanged : nullptr;
    default:
      return nullptr;
  }
}

bool IsForbiddenMethod(const Value& value, std::string_view name) {
  static constexpr std::array<std::string_view, 5> kDict = {"clear", "pop", "popitem", "setdefault",
                                                            "update"};
  static constexpr std::array<std::string_view, 8> kList = {"append", "clear", "pop",    "reverse",
                                                            "insert", "sort",  "extend", "remove"};
  if (value.is_dict()) return IsOneOf(name, kDict);
  return value.is_list() && value.AsList().kind == ListKind::kList && IsOneOf(name, kList);
}

}  // namespace hunch::chat
