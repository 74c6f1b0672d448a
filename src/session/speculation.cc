// Names, checks and figures of speculation (llm.h).
#include <fmt/format.h>

#include <array>

#include "session/llm.h"

namespace hunch {
namespace {

struct NamedKind {
  DrafterKind kind;
  std::string_view name;
};
constexpr std::array<NamedKind, 10> kKinds = {{{DrafterKind::kNgram, "ngram"},
                                               {DrafterKind::kSuffix, "suffix"},
                                               {DrafterKind::kNgramCache, "ngram_cache"},
                                               {DrafterKind::kTokenRecycling, "token_recycling"},
                                               {DrafterKind::kLookahead, "lookahead"},
                                               {DrafterKind::kDraftModel, "draft_model"},
                                               {DrafterKind::kEagle3, "eagle3"},
                                               {DrafterKind::kEagle2, "eagle2"},
                                               {DrafterKind::kEagle, "eagle"},
                                               {DrafterKind::kMedusa, "medusa"}}};

// Bounds that keep a draft inside one pass's logits rows and the lookup table small.
constexpr int kMaxSpeculativeTokens = 64;
constexpr int kMaxLookup = 32;

Error Refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<DrafterKind> ParseKind(std::string_view name) {
  for (const NamedKind& named : kKinds) {
    if (named.name == name) return named.kind;
  }
  if (name == "none" || name == "auto") {
    return Refused(fmt::format("method '{}' stands alone: name it without '+'", name));
  }
  return Refused(
      fmt::format("unknown speculation method '{}': use {}", name, DraftMethodChoices()));
}

}  // namespace

std::string DraftMethodChoices() {
  std::string names;
  for (const NamedKind& named : kKinds) {
    if (!names.empty()) names += ", ";
    names += named.name;
  }
  return fmt::format("none, auto, or one or more of {} joined by '+'", names);
}

Result<DraftMethod> ParseDraftMethod(std::string_view name) {
  if (name == "none") return DraftMethod();
  if (name == "auto") return DraftMethod::Auto();
  DraftMethod method;
  while (true) {
    const size_t plus = name.find('+');
    HUNCH_ASSIGN_OR_RETURN(const DrafterKind kind, ParseKind(name.substr(0, plus)));
    if (method.Has(kind)) {
      return Refused(
          fmt::format("'{}' is named twice: name each drafter once", DrafterKindName(kind)));
    }
    method.Add(kind);
    if (plus == std::string_view::npos) return method;
    name.remove_prefix(plus + 1);
  }
}

std::string_view DrafterKindName(DrafterKind kind) {
  return kKinds[static_cast<size_t>(kind)].name;
}

std::string DraftMethodName(const DraftMethod& method) {
  if (method.automatic()) return "auto";
  if (method.none()) return "none";
  std::string name;
  for (const DrafterKind kind : method.drafters()) {
    if (!name.empty()) name += '+';
    name += DrafterKindName(kind);
  }
  return name;
}

Status ValidateSpeculativeConfig(const SpeculativeConfig& config) {
  if (config.num_speculative_tokens < 0 || config.num_speculative_tokens > kMaxSpeculativeTokens) {
    return Refused(fmt::format("num_speculative_tokens is {}: it must be 1 to {}",
                               config.num_speculative_tokens, kMaxSpeculativeTokens));
  }
  if (config.policy == SpeculationPolicy::kFixed && config.num_speculative_tokens == 0) {
    return Refused("policy fixed needs num_speculative_tokens: give 1 to 64");
  }
  if (config.prompt_lookup_min < 1 || config.prompt_lookup_max > kMaxLookup ||
      config.prompt_lookup_min > config.prompt_lookup_max) {
    return Refused(
        fmt::format("prompt_lookup_min {} and prompt_lookup_max {}: need 1 <= min <= max <= {}",
                    config.prompt_lookup_min, config.prompt_lookup_max, kMaxLookup));
  }
  if (config.disable_by_batch_size < 0 || config.max_model_len < 0) {
    return Refused(
        fmt::format("disable_by_batch_size {} and max_model_len {}: neither can be less "
                    "than 1",
                    config.disable_by_batch_size, config.max_model_len));
  }
  return Ok{};
}

SpeculativeConfig WithCacheSalt(SpeculativeConfig config, const std::string& cache_salt) {
  if (cache_salt == config.cache_salt) return config;
  config.cache_salt = cache_salt;
  config.shared_store = config.shared_store || !config.suffix_store.empty();
  config.suffix_store.clear();
  return config;
}

std::optional<DrafterKind> SpeculativeConfig::HeadMethod() const {
  const auto& kinds = method.drafters();
  const auto head = std::find_if(kinds.begin(), kinds.end(), RunsHead);
  if (head == kinds.end()) return std::nullopt;
  return *head;
}

void NameDrafts(std::span<const SpeculativeConfig> configs, LlmOptions& options) {
  options.draft_model = options.draft_quantization = options.draft_vocab = "";
  options.head = kNoHead;
  options.head_method.reset();
  for (const SpeculativeConfig& config : configs) {
    if (config.UsesModel()) {
      options.draft_model = config.model;
      options.draft_quantization = config.draft_quantization;
      options.draft_vocab = config.draft_vocab;
    }
    if (!config.UsesHead()) continue;
    if (options.head == kNoHead) options.head = config.head;
    if (!options.head_method) options.head_method = config.HeadMethod();
  }
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

double SpeculationStats::draft_throughput() const {
  return draft_seconds > 0 ? static_cast<double>(draft_tokens) / draft_seconds : 0.0;
}
double SpeculationStats::target_throughput() const {
  return target_seconds > 0 ? static_cast<double>(decode_tokens) / target_seconds : 0.0;
}
double SpeculationStats::speedup() const {
  const double spent = target_seconds + draft_seconds;
  return spent > 0 ? plain_seconds / spent : 0.0;
}
double SpeculationStats::return_on_drafting() const {
  if (draft_seconds <= 0) return 0.0;
  return (plain_seconds - target_seconds - draft_seconds) / draft_seconds;
}

void SpeculationStats::Add(const SpeculationStats& other) {
  drafts += other.drafts;
  draft_tokens += other.draft_tokens;
  accepted_tokens += other.accepted_tokens;
  if (accepted_per_position.size() < other.accepted_per_position.size()) {
    accepted_per_position.resize(other.accepted_per_position.size());
  }
  for (size_t i = 0; i < other.accepted_per_position.size(); ++i) {
    accepted_per_position[i] += other.accepted_per_position[i];
  }
  for (int depth = 0; depth < TreeCounts::kDepths; ++depth) {
    for (int rank = 0; rank < TreeCounts::kRanks; ++rank) {
      places.verified[depth][rank] += other.places.verified[depth][rank];
      places.accepted[depth][rank] += other.places.accepted[depth][rank];
    }
  }
  target_passes += other.target_passes;
  decode_tokens += other.decode_tokens;
  drafter_errors += other.drafter_errors;
  fallbacks += other.fallbacks;
  probes += other.probes;
  draft_seconds += other.draft_seconds;
  target_seconds += other.target_seconds;
  plain_seconds += other.plain_seconds;
  for (const DrafterStats& drafter : other.drafters) {
    auto same = std::find_if(drafters.begin(), drafters.end(),
                             [&](const DrafterStats& own) { return own.name == drafter.name; });
    if (same == drafters.end()) same = drafters.insert(same, {.name = drafter.name});
    same->trees += drafter.trees;
    same->draft_tokens += drafter.draft_tokens;
    same->accepted_tokens += drafter.accepted_tokens;
    same->passes += drafter.passes;
    same->seconds += drafter.seconds;
    same->failures += drafter.failures;
  }
}

}  // namespace hunch
