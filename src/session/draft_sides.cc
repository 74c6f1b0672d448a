#include "session/draft_sides.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/one_line.h"
#include "draft/shipped_heads.h"

namespace hunch {
namespace {

using Opened = Result<std::shared_ptr<DraftSide>>;

Opened Open(const LlmOptions& options, const PlannedModel& target, const Tokenizer& tokenizer,
            const DraftSides& running) {
  for (const auto& side : {running.model, running.head}) {
    if (side != nullptr && side->IsFor(options)) return side;
  }
  auto side = std::make_shared<DraftSide>();
  HUNCH_RETURN_IF_ERROR(side->Open(options, target, tokenizer));
  return side;
}

// The head alone. How draft models are loaded is not its business.
LlmOptions HeadOptions(LlmOptions options, const std::string& path) {
  options.draft_model = path;
  options.draft_quantization = options.draft_vocab = "";
  return options;
}

Opened OpenHead(const LlmOptions& options, const PlannedModel& target, const Tokenizer& tokenizer,
                const DraftSides& running) {
  HUNCH_ASSIGN_OR_RETURN(auto side,
                         Open(HeadOptions(options, options.head), target, tokenizer, running));
  if (!side->is_head()) return NotAHead(options.head);
  return side;
}

// Null: none fits.
Opened OpenShipped(const LlmOptions& options, const PlannedModel& target,
                   const Tokenizer& tokenizer, const DraftSides& running) {
  const auto kind = options.head_method ? HeadOf(*options.head_method) : std::nullopt;
  const auto path = FindShippedHead(options.heads, HeadTargetOf(target.config, tokenizer), kind);
  if (path) return Open(HeadOptions(options, *path), target, tokenizer, running);
  if (!kind) return std::shared_ptr<DraftSide>();
  const std::string place = options.heads.empty() ? "" : " in " + options.heads;
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("method {} needs a head, and none of this kind is shipped for {}{}: name "
                  "one as \"head\" in --speculative-config; `hunch train` makes them",
                  DrafterKindName(*options.head_method), options.model, place)};
}

void LetGo(std::string_view why, DraftSides& sides) {
  LogWarning(OneLine(fmt::format("the head {} is not used: {}", sides.head->path(), why)));
  sides.head = nullptr;
}

}  // namespace

PlannedDrafts DraftSides::planned() const {
  return {.model = model == nullptr ? nullptr : &model->planned(),
          .shares_weights = model != nullptr && model->own(),
          .head = head == nullptr ? nullptr : &head->planned(),
          .head_may_go = head_may_go};
}

std::vector<const DraftSide*> DraftSides::all() const {
  std::vector<const DraftSide*> sides;
  for (const auto& side : {model, head}) {
    if (side != nullptr) sides.push_back(side.get());
  }
  return sides;
}

const DraftSide* DraftSides::For(DrafterKind kind) const {
  for (const DraftSide* side : all()) {
    if (side->Makes(kind)) return side;
  }
  return nullptr;
}

Result<DraftSides> OpenDraftSides(const LlmOptions& options, const PlannedModel& target,
                                  const Tokenizer& tokenizer, const DraftSides& running) {
  DraftSides sides;
  if (!options.draft_model.empty()) {
    HUNCH_ASSIGN_OR_RETURN(const auto side, Open(options, target, tokenizer, running));
    (side->is_head() ? sides.head : sides.model) = side;
  }
  const bool named = !options.head.empty() && options.head != kNoHead;
  if (sides.head != nullptr) {
    if (!named || options.head == options.draft_model) return sides;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a head, and {} is another one: name one of them",
                             options.draft_model, options.head)};
  }
  if (named) {
    HUNCH_ASSIGN_OR_RETURN(sides.head, OpenHead(options, target, tokenizer, running));
  } else if (options.head.empty()) {
    HUNCH_ASSIGN_OR_RETURN(sides.head, OpenShipped(options, target, tokenizer, running));
    sides.head_may_go = !options.head_method;
  }
  return sides;
}

Result<SizedPlan> PlanSides(const LlmOptions& options, const PlannedModel& target, int threads,
                            DraftSides& sides) {
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan plan,
                         PlanMemory(options, target, sides.planned(), threads));
  if (plan.head_left_out) LetGo("there is no memory left for it", sides);
  HUNCH_RETURN_IF_ERROR(CheckFits(options, target, sides.planned(), threads, plan));
  return plan;
}

Status LoadSides(const LlmOptions& options, const SizedPlan& plan, Model& target, ThreadPool& pool,
                 DraftSides& sides) {
  if (sides.model != nullptr) {
    HUNCH_RETURN_IF_ERROR(sides.model->Load(options, plan, target, pool));
  }
  if (sides.head == nullptr) return Ok{};
  const Status loaded = sides.head->Load(options, plan, target, pool);
  if (loaded.ok() || !sides.head_may_go) return loaded;
  LetGo(loaded.error().message, sides);
  return Ok{};
}

Status LoadSidesBeside(const LlmOptions& options, const DraftSides& running, int max_model_len,
                       Model& target, ThreadPool& pool, DraftSides& sides) {
  if (sides.model != nullptr && sides.model != running.model) {
    HUNCH_RETURN_IF_ERROR(sides.model->LoadBeside(options, max_model_len, target, pool));
  }
  if (sides.head == nullptr || sides.head == running.head) return Ok{};
  const Status loaded = sides.head->LoadBeside(options, max_model_len, target, pool);
  if (loaded.ok() || !sides.head_may_go) return loaded;
  LetGo(loaded.error().message, sides);
  return Ok{};
}

}  // namespace hunch
