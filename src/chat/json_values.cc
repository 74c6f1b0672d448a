#include "chat/json_values.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hunch::chat {
namespace {

using Json = nlohmann::ordered_json;

Value Convert(Runtime& runtime, const Json& json, int depth);

Value ConvertNumber(Runtime& runtime, const Json& json) {
  if (json.is_number_float()) return Value::Float(json.get<double>()).WithRequest(true);
  if (json.is_number_unsigned() &&
      json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return runtime.Fail("the request has an integer that does not fit 64 bits");
  }
  return Value::Int(json.get<int64_t>()).WithRequest(true);
}

Value ConvertObject(Runtime& runtime, const Json& json, int depth) {
  std::vector<std::pair<Value, Value>> entries;
  entries.reserve(json.size());
  for (const auto& [key, value] : json.items()) {
    if (runtime.failed()) return {};
    entries.emplace_back(runtime.MakeString(key, /*from_request=*/true),
                         Convert(runtime, value, depth + 1));
  }
  return runtime.MakeDict(std::move(entries));
}

Value Convert(Runtime& runtime, const Json& json, int depth) {
  // MakeList would refuse the finished value too, but only after the stack had held it.
  if (depth > RenderLimits::kValueDepth) {
    return runtime.Fail("the request's JSON is nested too deeply");
  }
  switch (json.type()) {
    case Json::value_t::null:
      return Value::None();
    case Json::value_t::boolean:
      return Value::Bool(json.get<bool>()).WithRequest(true);
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return ConvertNumber(runtime, json);
    case Json::value_t::string:
      return runtime.MakeString(json.get_ref<const std::string&>(), /*from_request=*/true);
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) {
        if (runtime.failed()) return {};
        items.push_back(Convert(runtime, item, depth + 1));
      }
      return runtime.MakeList(std::move(items));
    }
    case Json::value_t::object:
      return ConvertObject(runtime, json, depth);
    default:
      return runtime.Fail("the request has a value that is not JSON");
  }
}

bool IsKnownRole(const Value& role) {
  static constexpr std::array<std::string_view, 8> kRoles = {
      "system", "user", "assistant", "tool", "developer", "function", "ipython", "model"};
  return role.is_string() &&
         std::find(kRoles.begin(), kRoles.end(), role.AsBytes()) != kRoles.end();
}

}  // namespace

Value FromJson(Runtime& runtime, const Json& json) { return Convert(runtime, json, 0); }

Value MessagesFromJson(Runtime& runtime, const Json& messages) {
  const Value converted = FromJson(runtime, messages);
  if (!converted.is_list()) return converted;
  std::vector<Value> items;
  for (const Value& message : converted.AsList().items) {
    if (!message.is_dict()) {
      items.push_back(message);
      continue;
    }
    auto entries = message.AsDict().entries;
    for (auto& [key, value] : entries) {
      if (key.AsBytes() == "role" && IsKnownRole(value)) {
        value = Value::TemplateString(value.AsBytes());
      }
    }
    items.push_back(runtime.MakeDict(std::move(entries)));
  }
  return runtime.MakeList(std::move(items));
}

}  // namespace hunch::chat
