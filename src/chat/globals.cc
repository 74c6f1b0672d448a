#include "chat/globals.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "chat/operators.h"
#include "chat/print.h"
#include "chat/runtime.h"

namespace hunch::chat {
namespace {

Value RangeFunction(Runtime& runtime, const Value&, const Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};  // start, stop, step
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3) return runtime.Fail("range takes 1 to 3 arguments");
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].is_undefined()) return runtime.Fail(given[i].Reason());
    if (!given[i].is_integral()) {
      return runtime.Fail(
          fmt::format("'{}' object cannot be interpreted as an integer", TypeName(given[i])));
    }
    bounds[given.size() == 1 ? 1 : i] = given[i].AsInt();
  }
  const auto [start, stop, step] = bounds;
  if (step == 0) return runtime.Fail("range() arg 3 must not be zero");
  std::vector<Value> items;
  __int128 at = start;  // cannot wrap, whatever the step
  for (; step > 0 ? at < stop : at > stop; at += step) {
    if (items.size() >= static_cast<size_t>(RenderLimits::kRange)) {
      return runtime.Fail(fmt::format("a range is limited to {} numbers", RenderLimits::kRange),
                          ErrorCode::kResourceExhausted);
    }
    items.push_back(Value::Int(static_cast<int64_t>(at)));
  }
  runtime.Spend(items.size());
  return runtime.MakeList(std::move(items));
}

// The entries that dict(...) and namespace(...) are given.
std::vector<std::pair<Value, Value>> GivenEntries(Runtime& runtime, const Arguments& arguments) {
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      runtime.Spend(source.AsDict().entries.size());
      dict.entries = source.AsDict().entries;
    } else {
      for (const Value& pair : Iterate(runtime, source)) {
        const auto items = Iterate(runtime, pair);
        if (items.size() != 2) {
          runtime.Fail("dict() needs pairs of a key and a value");
          break;
        }
        SetKey(runtime, &dict, items[0], items[1]);
        if (runtime.failed()) break;
      }
    }
  }
  for (const auto& [name, value] : arguments.keyword) {
    SetKey(runtime, &dict, Value::TemplateString(name), value);
  }
  return std::move(dict.entries);
}

Value DictFunction(Runtime& runtime, const Value&, const Arguments& arguments) {
  return runtime.MakeDict(GivenEntries(runtime, arguments));
}

Value NamespaceFunction(Runtime& runtime, const Value&, const Arguments& arguments) {
  Namespace* space = runtime.MakeNamespace();
  for (auto& [key, value] : GivenEntries(runtime, arguments)) {
    if (!key.is_string()) return runtime.Fail("the names of a namespace must be strings");
    runtime.SpendBytes(sizeof(Value) * 2 + key.AsBytes().size());
    space->attributes.emplace_back(key.AsBytes(), std::move(value));
  }
  return Value(space);
}

Value RaiseException(Runtime& runtime, const Value&, const Arguments& arguments) {
  const Value* message = arguments.Get(0, "message");
  if (message == nullptr) return runtime.Fail("raise_exception needs a message");
  return runtime.Fail(ToText(runtime, *message).bytes());
}

Value StrftimeNow(Runtime& runtime, const Value&, const Arguments& arguments) {
  const Value* format = arguments.Get(0, "format");
  if (format == nullptr || !format->is_string() || format->AsText().size() > 1000) {
    return runtime.Fail("strftime_now needs a format string of at most 1000 bytes");
  }
  const auto now = static_cast<time_t>(
      runtime.now() >= 0 ? runtime.now()
                         : std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  std::tm local{};
  if (localtime_r(&now, &local) == nullptr) return runtime.Fail("the clock is out of range");
  // The leading x tells an empty result from one that did not fit.
  const std::string marked = "x" + format->AsBytes();
  char buffer[8192];
  const size_t size = std::strftime(buffer, sizeof(buffer), marked.c_str(), &local);
  if (size == 0) return runtime.Fail("the result of strftime_now is too long");
  return runtime.MakeString(std::string(buffer + 1, size - 1), format->AsText().HasRequest());
}

}  // namespace

const std::vector<std::pair<std::string_view, BuiltinFunction>>& GlobalFunctions() {
  static const std::vector<std::pair<std::string_view, BuiltinFunction>> kFunctions = {
      {"range", RangeFunction},
      {"dict", DictFunction},
      {"namespace", NamespaceFunction},
      {"raise_exception", RaiseException},
      {"strftime_now", StrftimeNow}};
  return kFunctions;
}

}  // namespace hunch::chat
