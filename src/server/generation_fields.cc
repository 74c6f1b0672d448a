#include "server/generation_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <utility>

#include "base/utf8.h"

namespace hunch {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
constexpr size_t kMostStops = 16;

void ReadSeed(Fields& fields, std::optional<uint64_t>& out) {
  const Json* value = fields.Any("seed");
  if (value == nullptr) return;
  if (!value->is_number_integer()) return fields.Fail("seed", "'seed' must be a whole number");
  // A negative one names its two's complement.
  out = value->is_number_unsigned() ? value->get<uint64_t>()
                                    : static_cast<uint64_t>(value->get<int64_t>());
}

void ReadStop(Fields& fields, std::vector<std::string>& out) {
  const Json* value = fields.Any("stop");
  if (value == nullptr) return;
  const auto add = [&](const Json& stop) {
    if (!stop.is_string()) {
      return fields.Fail("stop", "'stop' must be a string or an array of strings");
    }
    if (stop.get_ref<const std::string&>().empty()) {
      return fields.Fail("stop", "'stop' has an empty string, which would stop everything");
    }
    out.push_back(stop.get<std::string>());
  };
  if (!value->is_array()) return add(*value);
  if (value->size() > kMostStops) {
    return fields.Fail("stop", fmt::format("'stop' has {} strings: at most {} are allowed",
                                           value->size(), kMostStops));
  }
  for (const Json& stop : *value) add(stop);
}

void ReadLogitBias(Fields& fields, std::vector<std::pair<int32_t, float>>& out) {
  const Json* value = fields.Any("logit_bias");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields.Fail("logit_bias", "'logit_bias' must be an object {\"token id\": bias, ...}");
  }
  for (const auto& [key, bias] : value->items()) {
    int32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || token < 0) {
      return fields.Fail("logit_bias", fmt::format("'logit_bias': {} is no token id", Quote(key)));
    }
    if (!bias.is_number() || !(bias.get<double>() >= -100 && bias.get<double>() <= 100)) {
      return fields.Fail(
          "logit_bias",
          fmt::format("'logit_bias': the bias of token {} must be a number from -100 to 100",
                      token));
    }
    out.emplace_back(token, bias.get<float>());
  }
}

void ReadMaxTokens(Fields& fields, int& out) {
  fields.Integer("max_tokens", 1, kNoLimit, out);
  fields.Integer("max_completion_tokens", 1, kNoLimit, out);
}

void ReadAcceptance(Fields& fields, AcceptanceRule& out) {
  std::string name = "coupled";
  fields.Text("acceptance", name);
  if (name == "ratio") {
    out = AcceptanceRule::kRatio;
  } else if (name == "block") {
    out = AcceptanceRule::kBlock;
  } else if (name != "coupled") {
    fields.Fail("acceptance", "'acceptance' must be \"coupled\", \"ratio\" or \"block\"");
  }
}

void ReadStreamOptions(Fields& fields, GenerationFields& out) {
  const Json* value = fields.Any("stream_options");
  if (value == nullptr) return;
  if (!value->is_object()) {
    return fields.Fail("stream_options", "'stream_options' must be an object");
  }
  if (!out.stream) {
    return fields.Fail("stream_options", "'stream_options' needs \"stream\": true");
  }
  Fields inner(*value, "stream_options.");
  inner.Bool("include_usage", out.include_usage);
  inner.Ignore("include_obfuscation");
  if (const auto& error = inner.Finish()) fields.Fail(error->param, error->message);
}

void ReadSpeculation(Fields& fields, SpeculationFields& out) {
  const Json* value = fields.Any("speculation");
  if (value == nullptr) return;
  if (!value->is_object()) return fields.Fail("speculation", "'speculation' must be an object");
  Fields inner(*value, "speculation.");
  bool enabled = true;
  inner.Bool("enabled", enabled);
  if (value->contains("enabled")) out.enabled = enabled;
  std::string method;
  inner.Text("method", method);
  if (!method.empty()) {
    const Result<DraftMethod> parsed = ParseDraftMethod(method);
    if (parsed.ok()) {
      out.method = *parsed;
    } else {
      inner.Fail("method", parsed.error().message);
    }
  }
  int guesses = 0;
  inner.Integer("num_speculative_tokens", 1, 64, guesses);
  if (guesses > 0) out.num_speculative_tokens = guesses;
  inner.Bool("trace", out.trace);
  if (const auto& error = inner.Finish()) fields.Fail(error->param, error->message);
}

void ReadSampling(Fields& fields, SamplingParams& out) {
  out.temperature = 1;
  fields.Number("temperature", {}, out.temperature);
  fields.Number("top_p", {.most = 1, .open = true}, out.top_p);
  fields.Integer("top_k", -1, kNoLimit, out.top_k);
  fields.Number("min_p", {.most = 1}, out.min_p);
  fields.Number("typical_p", {.most = 1, .open = true}, out.typical_p);
  fields.Number("repetition_penalty", {.open = true}, out.repetition_penalty);
  fields.Number("presence_penalty", {.least = -2, .most = 2}, out.presence_penalty);
  fields.Number("frequency_penalty", {.least = -2, .most = 2}, out.frequency_penalty);
  ReadLogitBias(fields, out.logit_bias);
  ReadMaxTokens(fields, out.max_tokens);
  fields.Integer("min_tokens", 0, kNoLimit, out.min_tokens);
  ReadStop(fields, out.stop);
  fields.Tokens("stop_token_ids", out.stop_token_ids);
  fields.Bool("ignore_eos", out.ignore_eos);
  ReadAcceptance(fields, out.acceptance);
}

}  // namespace

SpeculativeConfig SpeculationFields::Over(const SpeculativeConfig& server) const {
  SpeculativeConfig config = server;
  if (method) config.method = *method;
  if (num_speculative_tokens) {
    config.num_speculative_tokens = *num_speculative_tokens;
    config.policy = SpeculationPolicy::kDefault;
  }
  if (enabled && !*enabled) config.method = DraftMethod();
  // "enabled" alone turns on what the server was started without.
  if (enabled && *enabled && config.method.none()) config.method = DraftMethod::Auto();
  return config;
}

SpeculativeConfig GenerationFields::SpeculationOver(const SpeculativeConfig& server) const {
  SpeculativeConfig config = speculation.Over(server);
  return cache_salt ? WithCacheSalt(std::move(config), *cache_salt) : config;
}

void ReadGenerationFields(Fields& fields, GenerationFields& out) {
  fields.Text("model", out.model);
  ReadSampling(fields, out.sampling);
  OutputFields output;
  ReadOutputFields(fields, output);
  out.sampling.structured_output = std::move(output.wanted);
  out.output_field = std::move(output.field);
  ReadSeed(fields, out.seed);
  fields.Integer("n", 1, GenerationFields::kMostChoices, out.n);
  fields.Bool("stream", out.stream);
  ReadStreamOptions(fields, out);
  ReadSpeculation(fields, out.speculation);
  std::string salt;
  fields.Text("cache_salt", salt);
  if (!salt.empty()) out.cache_salt = std::move(salt);
  // About accounts, storage and speed elsewhere; `prediction` is a guess, and guesses change no
  // text.
  for (const std::string_view name :
       {"user", "metadata", "store", "service_tier", "prediction", "safety_identifier",
        "prompt_cache_key", "prompt_cache_retention"}) {
    fields.Ignore(name);
  }
}

}  // namespace hunch
