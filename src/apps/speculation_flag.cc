#include "apps/speculation_flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "apps/json_text.h"

namespace hunch {
namespace {

constexpr std::string_view kKeys =
    "method, model, num_speculative_tokens, prompt_lookup_max, prompt_lookup_min";

Error WrongType(std::string_view key, std::string_view expected, const Json& value) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" must be {}, not {}", key, expected, JsonKind(value))};
}

Status ReadString(std::string_view key, const Json& value, std::string& out) {
  if (!value.is_string()) return WrongType(key, "a string", value);
  out = value.get<std::string>();
  return Ok{};
}

// From 1 up; the upper bounds are ValidateSpeculativeConfig's.
Status ReadCount(std::string_view key, const Json& value, int& out) {
  if (!value.is_number()) return WrongType(key, "a whole number", value);
  if (!value.is_number_integer()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" must be a whole number, not {}", key, value.dump())};
  }
  constexpr int kMost = std::numeric_limits<int>::max();
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() >= 1 && value.get<uint64_t>() <= kMost
                        : value.get<int64_t>() >= 1 && value.get<int64_t>() <= kMost;
  if (!fits) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is {}; give a whole number from 1 up", key, value.dump())};
  }
  out = value.get<int>();
  return Ok{};
}

Status ReadMethod(const Json& value, std::optional<DraftMethod>& out) {
  std::string name;
  HUNCH_RETURN_IF_ERROR(ReadString("method", value, name));
  HUNCH_ASSIGN_OR_RETURN(out, ParseDraftMethod(name));
  return Ok{};
}

Status ReadKey(std::string_view key, const Json& value, SpeculationFlag& flag) {
  SpeculativeConfig& fields = flag.fields;
  if (key == "method") return ReadMethod(value, flag.method);
  if (key == "model") return ReadString(key, value, fields.model);
  if (key == "num_speculative_tokens") return ReadCount(key, value, fields.num_speculative_tokens);
  if (key == "prompt_lookup_max") return ReadCount(key, value, fields.prompt_lookup_max);
  if (key == "prompt_lookup_min") return ReadCount(key, value, fields.prompt_lookup_min);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown key \"{}\"; known keys: {}", key, kKeys)};
}

}  // namespace

SpeculativeConfig SpeculationFlag::For(DraftMethod chosen) const {
  SpeculativeConfig config = fields;
  config.method = chosen;
  return config;
}

Result<SpeculationFlag> ParseSpeculationFlag(std::string_view json) {
  const Result<Json> parsed = ParseJsonObject(json);
  if (!parsed.ok()) {
    return Error{parsed.error().code,
                 parsed.error().message + R"(; give an object like '{"method": "ngram"}')"};
  }
  const Json& object = *parsed;
  SpeculationFlag flag;
  for (const auto& [key, value] : object.items()) {
    HUNCH_RETURN_IF_ERROR(ReadKey(key, value, flag));
  }
  // One bound alone moves the other's default out of its way.
  SpeculativeConfig& fields = flag.fields;
  if (!object.contains("prompt_lookup_min")) {
    fields.prompt_lookup_min = std::min(fields.prompt_lookup_min, fields.prompt_lookup_max);
  }
  if (!object.contains("prompt_lookup_max")) {
    fields.prompt_lookup_max = std::max(fields.prompt_lookup_min, fields.prompt_lookup_max);
  }
  // Without a method only the numbers can be judged, which `ngram` does with no draft model.
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(flag.For(DraftMethod::kNgram)));
  return flag;
}

Status CheckMethod(const SpeculativeConfig& config) {
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(config));
  if (NeedsDraftModel(config.method) && config.model.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("method {} needs \"model\", the GGUF file of a draft model",
                             DraftMethodName(config.method))};
  }
  return Ok{};
}

Result<SpeculativeConfig> SingleMethod(const SpeculationFlag& flag) {
  if (!flag.method && flag.fields.model.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "\"method\" is missing; give none, ngram, draft_model or ngram+draft_model"};
  }
  const SpeculativeConfig config = flag.For(flag.method.value_or(DraftMethod::kDraftModel));
  HUNCH_RETURN_IF_ERROR(CheckMethod(config));
  return config;
}

}  // namespace hunch
