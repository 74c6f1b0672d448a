#include "session/speculation_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "session/draft_side.h"
#include "session/json_text.h"

namespace hunch {
namespace {

constexpr std::string_view kKeys =
    "method, model, head, draft_quantization, draft_vocab, num_speculative_tokens, policy, "
    "acceptance_warning, prompt_lookup_max, prompt_lookup_min, lookahead_window, lookahead_ngram, "
    "lookahead_guesses, ngram_cache, "
    "shared_store, cache_salt, suffix_store, disable_by_batch_size, max_model_len";

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

Status ReadBool(std::string_view key, const Json& value, bool& out) {
  if (!value.is_boolean()) return WrongType(key, "true or false", value);
  out = value.get<bool>();
  return Ok{};
}

Status ReadPolicy(const Json& value, SpeculationPolicy& out) {
  std::string name;
  HUNCH_RETURN_IF_ERROR(ReadString("policy", value, name));
  if (name == "goodput") {
    out = SpeculationPolicy::kGoodput;
  } else if (name == "fixed") {
    out = SpeculationPolicy::kFixed;
  } else if (name == "threshold") {
    out = SpeculationPolicy::kThreshold;
  } else {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("unknown policy '{}': use goodput, fixed or threshold", name)};
  }
  return Ok{};
}

Status ReadShare(std::string_view key, const Json& value, float& out) {
  if (!value.is_number()) return WrongType(key, "a number", value);
  const double share = value.get<double>();
  if (!(share >= 0 && share <= 1)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("\"{}\" is {}; give a number from 0 to 1", key, value.dump())};
  }
  out = static_cast<float>(share);
  return Ok{};
}

Status ReadKey(std::string_view key, const Json& value, SpeculationFlag& flag) {
  SpeculativeConfig& fields = flag.fields;
  if (key == "method") return ReadMethod(value, flag.method);
  if (key == "model") return ReadString(key, value, fields.model);
  if (key == "head") return ReadString(key, value, fields.head);
  if (key == "draft_quantization") return ReadString(key, value, fields.draft_quantization);
  if (key == "draft_vocab") return ReadString(key, value, fields.draft_vocab);
  if (key == "num_speculative_tokens") return ReadCount(key, value, fields.num_speculative_tokens);
  if (key == "policy") return ReadPolicy(value, fields.policy);
  if (key == "acceptance_warning") return ReadShare(key, value, fields.acceptance_warning);
  if (key == "lookahead_window") return ReadCount(key, value, fields.lookahead_window);
  if (key == "lookahead_ngram") return ReadCount(key, value, fields.lookahead_ngram);
  if (key == "lookahead_guesses") return ReadCount(key, value, fields.lookahead_guesses);
  if (key == "shared_store") return ReadBool(key, value, fields.shared_store);
  if (key == "cache_salt") return ReadString(key, value, fields.cache_salt);
  if (key == "suffix_store") return ReadString(key, value, fields.suffix_store);
  if (key == "ngram_cache") return ReadString(key, value, fields.ngram_cache);
  if (key == "prompt_lookup_max") return ReadCount(key, value, fields.prompt_lookup_max);
  if (key == "prompt_lookup_min") return ReadCount(key, value, fields.prompt_lookup_min);
  // vLLM's older names too, which were flags of their own.
  if (key == "disable_by_batch_size" || key == "speculative_disable_by_batch_size") {
    return ReadCount(key, value, fields.disable_by_batch_size);
  }
  if (key == "max_model_len" || key == "speculative_max_model_len") {
    return ReadCount(key, value, fields.max_model_len);
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown key \"{}\"; known keys: {}", key, kKeys)};
}

}  // namespace

SpeculativeConfig SpeculationFlag::For(const DraftMethod& chosen) const {
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
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(flag.For(DraftMethod())));
  return flag;
}

namespace {

// What would do nothing without another key, and nobody would know.
Status CheckUsed(const SpeculativeConfig& config) {
  const auto needs = [](std::string_view key, std::string_view other) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("\"{}\" needs {}", key, other)};
  };
  constexpr std::string_view kModel = "\"model\", the GGUF file of a draft model";
  if (config.model.empty() && !config.draft_vocab.empty()) return needs("draft_vocab", kModel);
  if (config.model.empty() && !config.draft_quantization.empty()) {
    return needs("draft_quantization", kModel);
  }
  if (!config.cache_salt.empty() && !config.shared_store && config.suffix_store.empty()) {
    return needs("cache_salt", "\"shared_store\": true, or a \"suffix_store\"");
  }
  return Ok{};
}

}  // namespace

Status CheckMethod(const SpeculativeConfig& config) {
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(config));
  HUNCH_RETURN_IF_ERROR(CheckUsed(config));
  if (config.method.Has(DrafterKind::kNgramCache) && config.ngram_cache.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "method ngram_cache needs \"ngram_cache\", a file that `hunch ngram build` wrote"};
  }
  if (config.NeedsDraftModel() && config.model.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("method {} needs \"model\", the GGUF file of a draft model",
                             DraftMethodName(config.method))};
  }
  if (config.HeadMethod() && config.head == kNoHead) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("method {} needs a head: leave out \"head\": \"{}\", or name the GGUF "
                             "file of one",
                             DraftMethodName(config.method), kNoHead)};
  }
  return Ok{};
}

namespace {

DraftMethod MethodOf(const SpeculationFlag& flag) {
  const SpeculativeConfig& fields = flag.fields;
  if (flag.method) return *flag.method;
  if (fields.model.empty() || !fields.head.empty()) return DraftMethod::Auto();
  return MethodOfFile(fields.model);
}

}  // namespace

Result<SpeculativeConfig> SingleMethod(const SpeculationFlag& flag) {
  const SpeculativeConfig config = flag.For(MethodOf(flag));
  HUNCH_RETURN_IF_ERROR(CheckMethod(config));
  return config;
}

namespace {

std::string_view PolicyName(SpeculationPolicy policy) {
  switch (policy) {
    case SpeculationPolicy::kGoodput:
      return "goodput";
    case SpeculationPolicy::kFixed:
      return "fixed";
    case SpeculationPolicy::kThreshold:
      return "threshold";
    case SpeculationPolicy::kDefault:
      break;
  }
  return "";
}

}  // namespace

// Its salt is a secret of those who use it.
Json SpeculativeConfigJson(const SpeculativeConfig& config) {
  Json json = {{"method", DraftMethodName(config.method)}};
  const auto text = [&](const char* key, std::string_view value) {
    if (!value.empty()) json[key] = value;
  };
  const auto count = [&](const char* key, int value) {
    if (value > 0) json[key] = value;
  };
  text("model", config.model);
  text("head", config.head);
  text("draft_quantization", config.draft_quantization);
  text("draft_vocab", config.draft_vocab);
  count("num_speculative_tokens", config.num_speculative_tokens);
  text("policy", PolicyName(config.policy));
  if (config.acceptance_warning >= 0) json["acceptance_warning"] = config.acceptance_warning;
  json["prompt_lookup_max"] = config.prompt_lookup_max;
  json["prompt_lookup_min"] = config.prompt_lookup_min;
  json["lookahead_window"] = config.lookahead_window;
  json["lookahead_ngram"] = config.lookahead_ngram;
  json["lookahead_guesses"] = config.lookahead_guesses;
  text("ngram_cache", config.ngram_cache);
  if (config.shared_store) json["shared_store"] = true;
  text("suffix_store", config.suffix_store);
  count("disable_by_batch_size", config.disable_by_batch_size);
  count("max_model_len", config.max_model_len);
  return json;
}

}  // namespace hunch
