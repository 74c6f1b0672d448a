#include "session/make_drafters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/isa.h"
#include "draft/lookahead.h"
#include "draft/ngram.h"
#include "draft/ngram_cache.h"
#include "draft/suffix.h"
#include "draft/token_recycling.h"

namespace hunch {
namespace {

// Rows of lookahead's window and of its guesses.
int LookaheadNodes(const SpeculativeConfig& config) {
  return std::min(
      64, (config.lookahead_window + config.lookahead_guesses) * (config.lookahead_ngram - 1));
}

LookaheadOptions LookaheadOptionsOf(const SpeculativeConfig& config) {
  return {config.lookahead_window, config.lookahead_ngram, config.lookahead_guesses};
}

// What `auto` stands for: the drafters that learn from the text at hand, and a corpus's table and a
// draft model or a head where they are named.
std::vector<DrafterKind> KindsOf(const SpeculativeConfig& config, const DraftSide& draft_side) {
  if (!config.method.automatic()) return config.method.drafters();
  std::vector<DrafterKind> kinds = {DrafterKind::kSuffix, DrafterKind::kTokenRecycling};
  if (!config.ngram_cache.empty()) kinds.push_back(DrafterKind::kNgramCache);
  if (config.UsesDraftModel()) kinds.push_back(draft_side.kinds().front());
  return kinds;
}

Error NoDraftModel(const SpeculativeConfig& config) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("method {} needs a draft model or a head: name a GGUF of the same family, or one "
                  "of a head for this model, as \"model\" in --speculative-config",
                  DraftMethodName(config.method))};
}

// The file that "model" names is of one kind.
Status CheckKind(DrafterKind kind, const SpeculativeConfig& config, const DraftSide& draft_side) {
  if (!RunsModel(kind)) return Ok{};
  if (draft_side.planned() == nullptr) return NoDraftModel(config);
  const std::vector<DrafterKind>& made = draft_side.kinds();
  if (std::find(made.begin(), made.end(), kind) != made.end()) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("method {}: the file named as \"model\" is for the method {}, not {}",
                           DraftMethodName(config.method), DrafterKindName(made.front()),
                           DrafterKindName(kind))};
}

// What requests share, where this one wants it; null: nothing.
Result<SharedStores::Set*> StoresOf(const SpeculativeConfig& config, SharedStores& stores) {
  if (!config.suffix_store.empty()) return stores.ForFile(config.cache_salt, config.suffix_store);
  return config.shared_store ? &stores.For(config.cache_salt) : nullptr;
}

Result<std::unique_ptr<Drafter>> MakeDrafter(DrafterKind kind, const SpeculativeConfig& config,
                                             const DraftParts& parts,
                                             const SharedStores::Set* shared) {
  switch (kind) {
    case DrafterKind::kNgram:
      return std::unique_ptr<Drafter>(std::make_unique<NgramDrafter>(
          NgramOptions{config.prompt_lookup_max, config.prompt_lookup_min}, parts.max_model_len));
    case DrafterKind::kSuffix:
      return std::unique_ptr<Drafter>(std::make_unique<SuffixDrafter>(
          parts.max_model_len, shared == nullptr ? nullptr : shared->suffix));
    case DrafterKind::kNgramCache: {
      std::shared_ptr<const NgramTable> table;
      if (!config.ngram_cache.empty()) {
        HUNCH_ASSIGN_OR_RETURN(table, parts.stores.Table(config.ngram_cache));
      }
      return std::unique_ptr<Drafter>(
          std::make_unique<NgramCacheDrafter>(parts.max_model_len, std::move(table)));
    }
    case DrafterKind::kDraftModel:
    case DrafterKind::kEagle3:
    case DrafterKind::kEagle2:
    case DrafterKind::kEagle:
    case DrafterKind::kMedusa: {
      auto drafter = parts.draft_side->Make(kind, parts.tokenizer.end_tokens(),
                                            std::make_shared<const std::string>(config.cache_salt));
      if (drafter == nullptr) return NoDraftModel(config);
      return drafter;
    }
    case DrafterKind::kTokenRecycling:
      return std::unique_ptr<Drafter>(std::make_unique<TokenRecyclingDrafter>(
          shared == nullptr ? nullptr : shared->successors));
    case DrafterKind::kLookahead:
      return std::unique_ptr<Drafter>(
          std::make_unique<LookaheadDrafter>(LookaheadOptionsOf(config)));
  }
  return Error{ErrorCode::kInternal, "a drafter of no kind"};
}

}  // namespace

Status CheckSpeculation(const SpeculativeConfig& config, const DraftSide& draft_side) {
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(config));
  HUNCH_RETURN_IF_ERROR(LookaheadDrafter::Validate(LookaheadOptionsOf(config)));
  if (config.UsesDraftModel() && draft_side.planned() == nullptr) return NoDraftModel(config);
  for (const DrafterKind kind : config.method.drafters()) {
    HUNCH_RETURN_IF_ERROR(CheckKind(kind, config, draft_side));
  }
  return Ok{};
}

Result<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(const SpeculativeConfig& config,
                                                           const DraftParts& parts) {
  HUNCH_RETURN_IF_ERROR(CheckSpeculation(config, *parts.draft_side));
  std::vector<std::unique_ptr<Drafter>> drafters;
  const std::vector<DrafterKind> kinds = KindsOf(config, *parts.draft_side);
  if (kinds.empty()) return drafters;
  HUNCH_ASSIGN_OR_RETURN(const SharedStores::Set* const shared, StoresOf(config, parts.stores));
  for (const DrafterKind kind : kinds) {
    HUNCH_ASSIGN_OR_RETURN(drafters.emplace_back(), MakeDrafter(kind, config, parts, shared));
  }
  return drafters;
}

BudgetOptions BudgetFor(const SpeculativeConfig& config) {
  BudgetOptions options;
  if (config.acceptance_warning >= 0) {
    options.acceptance_warning = config.acceptance_warning;
  } else if (config.method.automatic()) {
    options.acceptance_warning = 0;
  }
  options.switches = {.disable_by_batch_size = config.disable_by_batch_size,
                      .max_model_len = config.max_model_len};
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
