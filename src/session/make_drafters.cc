#include "session/make_drafters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/isa.h"
#include "draft/ngram.h"
#include "draft/suffix.h"

namespace hunch {
namespace {

// Rows of lookahead's window and of its guesses.
int LookaheadNodes(const SpeculativeConfig& config) {
  return std::min(
      64, (config.lookahead_window + config.lookahead_guesses) * (config.lookahead_ngram - 1));
}

// What `auto` stands for: the drafters that learn from the text at hand, and a draft model where
// there is one.
std::vector<DrafterKind> KindsOf(const SpeculativeConfig& config) {
  if (!config.method.automatic()) return config.method.drafters();
  std::vector<DrafterKind> kinds = {DrafterKind::kSuffix};
  if (config.UsesDraftModel()) kinds.push_back(DrafterKind::kDraftModel);
  return kinds;
}

Error NoDraftModel(const SpeculativeConfig& config) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("method {} needs a draft model: name a GGUF of the same family as \"model\" in "
                  "--speculative-config",
                  DraftMethodName(config.method))};
}

}  // namespace

Result<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(const SpeculativeConfig& config,
                                                           const DraftSide& draft_side,
                                                           const Tokenizer& tokenizer,
                                                           int max_model_len) {
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(config));
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (const DrafterKind kind : KindsOf(config)) {
    std::unique_ptr<Drafter> drafter;
    switch (kind) {
      case DrafterKind::kDraftModel:
        drafter = draft_side.Make(tokenizer.end_tokens());
        if (drafter == nullptr) return NoDraftModel(config);
        break;
      case DrafterKind::kSuffix:
        drafter = std::make_unique<SuffixDrafter>(max_model_len);
        break;
      default:
        drafter = std::make_unique<NgramDrafter>(
            NgramOptions{config.prompt_lookup_max, config.prompt_lookup_min});
        break;
    }
    drafters.push_back(std::move(drafter));
  }
  return drafters;
}

BudgetOptions BudgetFor(const SpeculativeConfig& config) {
  BudgetOptions options;
  options.acceptance_warning = config.acceptance_warning;
  options.fixed_nodes = config.num_speculative_tokens;
  const bool lookahead = config.method.Has(DrafterKind::kLookahead);
  if (options.fixed_nodes == 0 && lookahead) options.fixed_nodes = LookaheadNodes(config);
  switch (config.policy) {
    case SpeculationPolicy::kDefault:
      // Lookahead's window is no guess that a budget could judge: it needs all its rows.
      options.policy = options.fixed_nodes > 0 ? Policy::kFixed : Policy::kGoodput;
      break;
    case SpeculationPolicy::kGoodput:
      options.policy = Policy::kGoodput;
      break;
    case SpeculationPolicy::kFixed:
      options.policy = Policy::kFixed;
      break;
    case SpeculationPolicy::kThreshold:
      options.policy = Policy::kThreshold;
      break;
  }
  return options;
}

// Measured with Qwen2.5-Coder-1.5B at 4 bit on two threads (bench/results/): Zen 5 and Emerald
// Rapids; and the same with AVX2 forced. The scalar kernels gain nothing from more rows.
std::vector<PassTime> PriorPassTimes() {
  switch (ActiveIsa()) {
    case Isa::kAvx512:
      return {{1, 1.0}, {4, 1.1}, {8, 1.4}, {16, 2.6}, {32, 5.1}, {64, 10}};
    case Isa::kAvx2:
    case Isa::kNeon:
      return {{1, 1.0}, {2, 1.05}, {4, 1.38}, {8, 2.5}, {16, 5.0}, {64, 20}};
    case Isa::kRef:
      break;
  }
  return {{1, 1.0}, {64, 64.0}};
}

}  // namespace hunch
