#include "session/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/memory.h"
#include "draft/head_drafter.h"
#include "draft/medusa_model.h"
#include "model/wide_rows.h"

namespace hunch {
namespace {

// Without a wish, contexts beyond this are not worth their KV memory on the machines we run on.
constexpr int kDefaultMaxModelLen = 32768;
constexpr int kSmallestUsefulLen = 256;

int BlocksFor(int64_t slots) {
  return static_cast<int>((slots + kSlotsPerBlock - 1) / kSlotsPerBlock);
}

// Of one sequence of the target. A step may reserve slots for guesses beyond the last committed
// token.
int64_t SlotsOf(int max_model_len) {
  const int64_t slots = int64_t{max_model_len} + kTargetLimits.max_logit_rows;
  return int64_t{BlocksFor(slots)} * kSlotsPerBlock;
}

// Beside its KV.
void AddHead(const PlannedModel& head, const GgufFile& target, int max_num_seqs, int threads,
             MemoryPlan& memory) {
  const ForwardLimits limits = DraftLimits(max_num_seqs);
  if (head.head->kind == HeadKind::kMedusa) {
    memory.head_weights = MedusaModel::WeightBytes(*head.file, *head.head);
    memory.scratch += MedusaModel::ScratchBytes(*head.head, kTargetLimits.max_rows, limits);
    return;
  }
  memory.head_weights = HeadWeightBytes(*head.file, *head.head, target);
  memory.scratch +=
      HeadModel::ScratchBytes(*head.head, head.config.context_length, limits, threads) +
      max_num_seqs * HeadDrafter::FeatureBytes(*head.head);
}

// Beside its KV.
void AddDraftModel(const PlannedModel& draft, int max_num_seqs, int threads, MemoryPlan& memory) {
  const ForwardLimits limits = DraftLimits(max_num_seqs);
  memory.draft_weights = WeightBytes(*draft.file, draft.load);
  const int kept = static_cast<int>(draft.load.kept_tokens.size());
  memory.scratch += Model::ScratchBytes(draft.config, limits, threads, kept) +
                    LoadScratchBytes(*draft.file, draft.load);
  if (kept > 0) memory.scratch += WideRows::Bytes(draft.config.vocab, limits.max_logit_rows);
}

// KV blocks; its trees have rows beyond the context.
int DraftBlocks(int max_model_len, const PlannedModel& draft, const LlmOptions& options) {
  const int length = std::min(max_model_len, draft.config.context_length);
  return options.max_num_seqs * BlocksFor(length + TreeDrafter::kMostRows);
}

SizedPlan SizeFor(int max_model_len, const LlmOptions& options, const PlannedModel& target,
                  const PlannedDrafts& drafts, int threads) {
  const KvType kv = options.kv_cache_dtype;
  SizedPlan plan;
  plan.max_model_len = max_model_len;
  plan.target_blocks = options.max_num_seqs * BlocksFor(SlotsOf(max_model_len));
  plan.memory.target_weights = WeightBytes(*target.file);
  plan.memory.kv = ModelKv::Bytes(target.config, kv, plan.target_blocks);
  plan.memory.scratch = Model::ScratchBytes(target.config, kTargetLimits, threads);
  if (drafts.model != nullptr) {
    plan.draft_blocks = DraftBlocks(max_model_len, *drafts.model, options);
    plan.memory.draft_kv = ModelKv::Bytes(drafts.model->config, kv, plan.draft_blocks);
    if (!drafts.shares_weights) {
      AddDraftModel(*drafts.model, options.max_num_seqs, threads, plan.memory);
    }
  }
  if (drafts.head != nullptr) {
    plan.head_blocks = DraftBlocks(max_model_len, *drafts.head, options);
    plan.memory.head_kv = ModelKv::Bytes(drafts.head->config, kv, plan.head_blocks);
    AddHead(*drafts.head, *target.file, options.max_num_seqs, threads, plan.memory);
  }
  // Measured: 14 MiB for SmolLM2's vocabulary of 49,152, 37 MiB for Qwen's of 151,936; and a slab
  // of the file.
  plan.memory.program = (uint64_t{32} << 20) + uint64_t{200} * target.config.vocab;
  plan.memory.available = AvailableMemoryBytes();
  return plan;
}

bool Fits(const SizedPlan& plan) { return plan.memory.total() <= plan.memory.available; }

// For the context that is wanted; or for the largest one up to `most` that fits.
SizedPlan SizeToFit(int most, const LlmOptions& options, const PlannedModel& target,
                    const PlannedDrafts& drafts, int threads) {
  int length = most;
  SizedPlan plan = SizeFor(length, options, target, drafts, threads);
  if (options.max_model_len > 0) return plan;
  while (!Fits(plan) && length / 2 >= kSmallestUsefulLen) {
    plan = SizeFor(length /= 2, options, target, drafts, threads);
  }
  return plan;
}

// What could be left out.
std::string AdviceToLeaveOut(const PlannedDrafts& drafts) {
  if (drafts.model != nullptr) return "leave out the draft model, or ";
  return drafts.head != nullptr ? "leave out the head, or " : "";
}

}  // namespace

PlannedModel PlanHead(const GgufFile& file, const HeadConfig& head, const ModelConfig& target) {
  PlannedModel planned;
  planned.file = &file;
  planned.head = &head;
  if (head.kind == HeadKind::kMedusa) {
    planned.config.context_length = target.context_length;  // and no KV
  } else {
    planned.config = HeadLayerConfig(head, target.context_length);
  }
  return planned;
}

ForwardLimits DraftLimits(int max_num_seqs) {
  return {.max_rows = 256, .max_logit_rows = kDraftLeaves * std::min(max_num_seqs, 16)};
}

Result<SizedPlan> PlanMemory(const LlmOptions& options, const PlannedModel& target,
                             const PlannedDrafts& drafts, int threads) {
  const int context = target.config.context_length;
  if (options.max_model_len < 0 || options.max_model_len > context) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("max_model_len is {}, but the model's context is {}: give 1 to {}, or leave "
                    "it out",
                    options.max_model_len, context, context)};
  }
  if (options.max_num_seqs < 1 || options.max_num_seqs > 4096) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("max_num_seqs is {}: it must be 1 to 4096", options.max_num_seqs)};
  }
  const int length_asked =
      options.max_model_len > 0 ? options.max_model_len : std::min(context, kDefaultMaxModelLen);
  // Slots are numbered by ints.
  if (options.max_num_seqs * SlotsOf(length_asked) > std::numeric_limits<int>::max()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("max_num_seqs {} times max_model_len {} is more than 2^31: lower one "
                             "of them",
                             options.max_num_seqs, length_asked)};
  }
  const SizedPlan plan = SizeToFit(length_asked, options, target, drafts, threads);
  if (drafts.head == nullptr || !drafts.head_may_go) return plan;
  PlannedDrafts without = drafts;
  without.head = nullptr;
  SizedPlan plain = SizeToFit(length_asked, options, target, without, threads);
  if (Fits(plan) && plan.max_model_len == plain.max_model_len) return plan;
  plain.head_left_out = true;
  return plain;
}

Status CheckFits(const LlmOptions& options, const PlannedModel& target, const PlannedDrafts& drafts,
                 int threads, const SizedPlan& plan) {
  if (Fits(plan)) return Ok{};
  const auto mb = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::string advice = "use a smaller model or one with fewer bits per weight";
  LlmOptions smaller = options;
  for (int length = plan.max_model_len / 2; length >= kSmallestUsefulLen; length /= 2) {
    smaller.max_model_len = length;
    if (!Fits(SizeFor(length, smaller, target, drafts, threads))) continue;
    advice = fmt::format("--max-model-len {} would fit", length);
    break;
  }
  if (!advice.starts_with("--")) advice = AdviceToLeaveOut(drafts) + advice;
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("{:.0f} MB are needed (weights {:.0f}, draft model {:.0f}, head {:.0f}, "
                           "KV {:.0f}, other {:.0f}) "
                           "and {:.0f} MB are free: {}",
                           mb(plan.memory.total()), mb(plan.memory.target_weights),
                           mb(plan.memory.draft_weights), mb(plan.memory.head_weights),
                           mb(plan.memory.kv + plan.memory.draft_kv + plan.memory.head_kv),
                           mb(plan.memory.scratch + plan.memory.program), mb(plan.memory.available),
                           advice)};
}

}  // namespace hunch
