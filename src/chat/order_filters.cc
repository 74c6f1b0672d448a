// Filters that order or compare items: sort, unique, min, max, dictsort.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "chat/filters.h"
#include "chat/methods.h"
#include "chat/operators.h"

namespace hunch::chat {
namespace {

struct Keyed {
  Value key;
  Value item;
};

bool Flag(const Arguments& arguments, size_t index, std::string_view name) {
  const Value* value = arguments.Get(index, name);
  return value != nullptr && Truthy(*value);
}

Value FoldCase(Runtime& runtime, Value value, bool case_sensitive) {
  if (case_sensitive || !value.is_string()) return value;
  return ChangeCase(runtime, value.AsText(), Case::kLower);
}

// Every item with what it is compared by.
std::vector<Keyed> WithKeys(Runtime& runtime, const Value& value, const Value* attribute,
                            bool case_sensitive) {
  std::vector<Keyed> keyed;
  for (Value& item : Iterate(runtime, value)) {
    const bool look_up = attribute != nullptr && !attribute->is_none();
    Value key = look_up ? GetPath(runtime, item, *attribute) : item;
    if (!runtime.Spend(1)) break;
    keyed.push_back({FoldCase(runtime, std::move(key), case_sensitive), std::move(item)});
  }
  return keyed;
}

void SortByKey(Runtime& runtime, std::vector<Keyed>* keyed, bool reverse) {
  if (runtime.failed()) return;
  // After a failure every comparison says no, which any sort survives. Reversed, equal items keep
  // their order.
  std::stable_sort(keyed->begin(), keyed->end(), [&](const Keyed& a, const Keyed& b) {
    if (!runtime.Spend(1)) return false;
    return reverse ? Less(runtime, b.key, a.key) : Less(runtime, a.key, b.key);
  });
}

Value TakeItems(Runtime& runtime, std::vector<Keyed> keyed, ListKind kind) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return runtime.MakeList(std::move(items), kind);
}

Value Sort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  auto keyed =
      WithKeys(runtime, value, arguments.Get(2, "attribute"), Flag(arguments, 1, "case_sensitive"));
  SortByKey(runtime, &keyed, Flag(arguments, 0, "reverse"));
  return TakeItems(runtime, std::move(keyed), ListKind::kList);
}

Value Unique(Runtime& runtime, const Value& value, const Arguments& arguments) {
  auto keyed =
      WithKeys(runtime, value, arguments.Get(1, "attribute"), Flag(arguments, 0, "case_sensitive"));
  std::vector<Keyed> kept;
  for (Keyed& entry : keyed) {
    const bool seen = std::any_of(kept.begin(), kept.end(), [&](const Keyed& old) {
      return Equals(runtime, old.key, entry.key);
    });
    if (runtime.failed()) return {};
    if (!seen) kept.push_back(std::move(entry));
  }
  return TakeItems(runtime, std::move(kept), ListKind::kGenerator);
}

Value Extreme(Runtime& runtime, const Value& value, const Arguments& arguments, bool largest) {
  auto keyed =
      WithKeys(runtime, value, arguments.Get(1, "attribute"), Flag(arguments, 0, "case_sensitive"));
  if (keyed.empty()) return Value::Undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  for (size_t i = 1; i < keyed.size() && runtime.Spend(1); ++i) {
    const bool better = largest ? Less(runtime, keyed[best].key, keyed[i].key)
                                : Less(runtime, keyed[i].key, keyed[best].key);
    if (better) best = i;
  }
  return keyed[best].item;
}

Value Min(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Extreme(runtime, value, arguments, /*largest=*/false);
}
Value Max(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return Extreme(runtime, value, arguments, /*largest=*/true);
}

Value DictSort(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!value.is_dict()) {
    return runtime.Fail(fmt::format("dictsort needs a dict, not {}", TypeName(value)));
  }
  const bool case_sensitive = Flag(arguments, 0, "case_sensitive");
  const Value* by = arguments.Get(1, "by");
  const bool by_value = by != nullptr && by->is_string() && by->AsBytes() == "value";
  if (by != nullptr && !by_value && !(by->is_string() && by->AsBytes() == "key")) {
    return runtime.Fail("You can only sort by either \"key\" or \"value\"");
  }
  std::vector<Keyed> keyed;
  for (const auto& [key, entry] : value.AsDict().entries) {
    if (!runtime.Spend(1)) return {};
    keyed.push_back({FoldCase(runtime, by_value ? entry : key, case_sensitive),
                     runtime.MakeList({key, entry}, ListKind::kTuple)});
  }
  SortByKey(runtime, &keyed, Flag(arguments, 2, "reverse"));
  return TakeItems(runtime, std::move(keyed), ListKind::kList);
}

}  // namespace

BuiltinFunction FindOrderFilter(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinFunction> kFilters = {
      {"sort", Sort}, {"unique", Unique}, {"min", Min}, {"max", Max}, {"dictsort", DictSort}};
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace hunch::chat
