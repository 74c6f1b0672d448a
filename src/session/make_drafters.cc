#include "session/make_drafters.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

// As "model".
bool HeadIsNamed(const SpeculativeConfig& config, const DraftSides& drafts) {
  return drafts.head != nullptr && drafts.head->path() == config.model;
}

// What `auto` stands for: the drafters that learn from the text at hand, a corpus's table and a
// draft model where they are named, and a head where there is one.
std::vector<DrafterKind> KindsOf(const SpeculativeConfig& config, const DraftSides& drafts) {
  if (!config.method.automatic()) return config.method.drafters();
  std::vector<DrafterKind> kinds = {DrafterKind::kSuffix, DrafterKind::kTokenRecycling};
  if (!config.ngram_cache.empty()) kinds.push_back(DrafterKind::kNgramCache);
  // The cheaper one first: it is known what it guesses when the other is asked.
  const bool named = HeadIsNamed(config, drafts);
  if (drafts.head != nullptr && (named || config.UsesHead())) {
    kinds.push_back(drafts.head->kinds().front());
  }
  if (drafts.model != nullptr && !named && config.UsesModel()) {
    kinds.push_back(DrafterKind::kDraftModel);
  }
  return kinds;
}

Error Wrong(const SpeculativeConfig& config, std::string_view what) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("method {}{}", DraftMethodName(config.method), what)};
}

// There is no draft model, or no head that makes such a drafter.
Error NoSide(DrafterKind kind, const SpeculativeConfig& config, const DraftSides& drafts) {
  if (drafts.head != nullptr && (RunsHead(kind) || HeadIsNamed(config, drafts))) {
    return Wrong(config,
                 fmt::format(": the head {} is for the method {}, not {}", drafts.head->path(),
                             DrafterKindName(drafts.head->kinds().front()), DrafterKindName(kind)));
  }
  if (RunsHead(kind)) {
    return Wrong(config,
                 " needs a head, and none is loaded: name one for this model as \"head\" in "
                 "--speculative-config");
  }
  return Wrong(config,
               " needs a draft model: name a GGUF of the same family as \"model\" in "
               "--speculative-config");
}

Status CheckKinds(const SpeculativeConfig& config, const DraftSides& drafts) {
  for (const DrafterKind kind : config.method.drafters()) {
    if (RunsModel(kind) && drafts.For(kind) == nullptr) return NoSide(kind, config, drafts);
  }
  const bool there = drafts.model != nullptr || HeadIsNamed(config, drafts);
  if (!config.UsesModel() || there) return Ok{};
  return NoSide(DrafterKind::kDraftModel, config, drafts);
}

// The laws of a tree's guesses are all over the same tokens.
int VocabSize(const DraftSides& drafts) {
  int size = std::numeric_limits<int>::max();
  for (const DraftSide* side : drafts.all()) size = std::min(size, side->vocab_size());
  return size;
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
      const DraftSide* const side = parts.drafts.For(kind);
      if (side == nullptr) return NoSide(kind, config, parts.drafts);
      return side->Make(kind, VocabSize(parts.drafts), parts.tokenizer.end_tokens(),
                        std::make_shared<const std::string>(config.cache_salt));
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

Status CheckSpeculation(const SpeculativeConfig& config, const DraftSides& drafts) {
  HUNCH_RETURN_IF_ERROR(ValidateSpeculativeConfig(config));
  HUNCH_RETURN_IF_ERROR(LookaheadDrafter::Validate(LookaheadOptionsOf(config)));
  return CheckKinds(config, drafts);
}

Result<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(const SpeculativeConfig& config,
                                                           const DraftParts& parts) {
  HUNCH_RETURN_IF_ERROR(CheckSpeculation(config, parts.drafts));
  std::vector<std::unique_ptr<Drafter>> drafters;
  const std::vector<DrafterKind> kinds = KindsOf(config, parts.drafts);
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
