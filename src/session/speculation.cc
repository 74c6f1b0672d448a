// Names, checks and figures of speculation (llm.h).
#include <fmt/format.h>

#include <array>

#include "session/llm.h"

namespace hunch {
namespace {

struct NamedMethod {
  DraftMethod method;
  std::string_view name;
};
constexpr std::array<NamedMethod, 4> kMethods = {
    {{DraftMethod::kNone, "none"},
     {DraftMethod::kNgram, "ngram"},
     {DraftMethod::kDraftModel, "draft_model"},
     {DraftMethod::kNgramDraftModel, "ngram+draft_model"}}};

// Bounds that keep a draft inside one pass's logits rows and the lookup table small.
constexpr int kMaxSpeculativeTokens = 64;
constexpr int kMaxLookup = 32;

}  // namespace

Result<DraftMethod> ParseDraftMethod(std::string_view name) {
  for (const NamedMethod& method : kMethods) {
    if (method.name == name) return method.method;
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("unknown speculation method '{}': use none, ngram, draft_model or "
                           "ngram+draft_model",
                           name)};
}

std::string_view DraftMethodName(DraftMethod method) {
  for (const NamedMethod& named : kMethods) {
    if (named.method == method) return named.name;
  }
  return "?";
}

bool NeedsDraftModel(DraftMethod method) {
  return method == DraftMethod::kDraftModel || method == DraftMethod::kNgramDraftModel;
}

Status ValidateSpeculativeConfig(const SpeculativeConfig& config) {
  const auto refuse = [](std::string message) -> Status {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  if (config.num_speculative_tokens < 1 || config.num_speculative_tokens > kMaxSpeculativeTokens) {
    return refuse(fmt::format("num_speculative_tokens is {}: it must be 1 to {}",
                              config.num_speculative_tokens, kMaxSpeculativeTokens));
  }
  if (config.prompt_lookup_min < 1 || config.prompt_lookup_max > kMaxLookup ||
      config.prompt_lookup_min > config.prompt_lookup_max) {
    return refuse(
        fmt::format("prompt_lookup_min {} and prompt_lookup_max {}: need 1 <= min <= max <= {}",
                    config.prompt_lookup_min, config.prompt_lookup_max, kMaxLookup));
  }
  return Ok{};
}

double SpeculationStats::acceptance_rate() const {
  return draft_tokens == 0 ? -1.0 : static_cast<double>(accepted_tokens) / draft_tokens;
}
double SpeculationStats::mean_accepted_length() const {
  return drafts == 0 ? 1.0 : 1.0 + static_cast<double>(accepted_tokens) / drafts;
}
double SpeculationStats::tokens_per_pass() const {
  return target_passes == 0 ? 0.0 : static_cast<double>(decode_tokens) / target_passes;
}

}  // namespace hunch
