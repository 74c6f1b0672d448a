#include "session/row_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/isa.h"
#include "engine/measure_rows.h"
#include "kernels/machine_limits.h"
#include "model/step_cost.h"
#include "session/memory_plan.h"

namespace hunch {
namespace {

static_assert(kMostBenchRows == kTargetLimits.max_rows);
constexpr int kDecodeSteps = 16;  // of each run of plain decoding

// Every length must lie within the model's context.
Status CheckLengths(const MeasurePlan& plan, int context_length) {
  const int most_rows =
      std::max(*std::max_element(plan.rows.begin(), plan.rows.end()), kDecodeSteps);
  for (const int context : plan.contexts) {
    if (int64_t{context} + most_rows <= context_length) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--context {}: with passes of {} rows after it that takes {} tokens, "
                             "but the model's context is {}",
                             context, most_rows, int64_t{context} + most_rows, context_length)};
  }
  for (const int prompt : plan.prompts) {
    if (prompt <= context_length) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--prompt {}: the model's context is {}", prompt, context_length)};
  }
  return Ok{};
}

struct MachineLimits {
  double read_bytes_per_second = 0, macs_per_second = 0;
};

// Neighbours take some of the machine away for seconds at a time, so this is asked twice, before
// and after, and the better answer counts.
Status Measure(ThreadPool& pool, MachineLimits& limits) {
  HUNCH_ASSIGN_OR_RETURN(const double read, MeasureReadBandwidth(pool));
  limits.read_bytes_per_second = std::max(limits.read_bytes_per_second, read);
  limits.macs_per_second = std::max(limits.macs_per_second, MeasureDotPeak(ActiveIsa(), pool));
  return Ok{};
}

RowLimit LimitOf(const StepCost& cost, const MachineLimits& limits) {
  const double read = cost.bytes / limits.read_bytes_per_second;
  const double macs = cost.macs / limits.macs_per_second;
  return {std::max(read, macs), read >= macs};
}

// A target whose passes may all give logits for every row.
struct LoadedTarget {
  std::unique_ptr<Model> model;
  std::unique_ptr<ModelTarget> target;
  KvType kv_type;
  int blocks;
};

Result<LoadedTarget> LoadTarget(const RowBenchOptions& options, const MeasurePlan& plan,
                                ThreadPool& pool) {
  HUNCH_ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> opened, GgufFile::Open(options.model.model));
  const std::shared_ptr<const GgufFile> file = std::move(opened);
  PlannedModel planned = {file.get(), {}};
  HUNCH_ASSIGN_OR_RETURN(planned.config, ReadModelConfig(*file));
  HUNCH_RETURN_IF_ERROR(CheckLengths(plan, planned.config.context_length));
  LlmOptions sized = options.model;
  sized.max_model_len = plan.Slots();
  HUNCH_ASSIGN_OR_RETURN(const SizedPlan memory, PlanMemory(sized, planned, {}, pool.size()));
  if (memory.memory.total() > memory.memory.available) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("{:.0f} MB are needed for a context of {} and {:.0f} MB are free: "
                             "give a shorter --context or a smaller model",
                             static_cast<double>(memory.memory.total()) / 1e6, sized.max_model_len,
                             static_cast<double>(memory.memory.available) / 1e6)};
  }
  LoadedTarget loaded;
  loaded.kv_type = options.model.kv_cache_dtype;
  loaded.blocks = memory.target_blocks;
  ForwardLimits limits = kTargetLimits;
  limits.max_logit_rows = *std::max_element(plan.rows.begin(), plan.rows.end());
  HUNCH_ASSIGN_OR_RETURN(loaded.model, Model::Load(file, pool, limits));
  HUNCH_ASSIGN_OR_RETURN(ModelKv kv,
                         ModelKv::Create(loaded.model->config(), loaded.kv_type, loaded.blocks));
  loaded.target = std::make_unique<ModelTarget>(*loaded.model, std::move(kv));
  return loaded;
}

RowBenchReport Report(const RowTimes& times, const MachineLimits& limits,
                      const LoadedTarget& loaded, int threads) {
  RowBenchReport report = {.threads = threads,
                           .read_bytes_per_second = limits.read_bytes_per_second,
                           .macs_per_second = limits.macs_per_second,
                           .contexts = {},
                           .prompts = {}};
  for (const ContextTimes& context : times.contexts) {
    RowBenchContext out = {context.context, 1 / context.decode_seconds, {}};
    for (const PassTime& pass : context.rows) {
      const StepCost cost = CostOfPass(loaded.model->config(), loaded.model->weights(),
                                       loaded.kv_type, context.context, pass.rows, pass.rows);
      out.rows.push_back({pass.rows, pass.seconds, LimitOf(cost, limits)});
    }
    report.contexts.push_back(std::move(out));
  }
  for (const PromptTime& prompt : times.prompts) {
    report.prompts.push_back({prompt.tokens, prompt.tokens / prompt.seconds});
  }
  return report;
}

}  // namespace

Result<RowBenchReport> RunRowBench(const RowBenchOptions& options, const OnRowBench& on_progress) {
  const MeasurePlan plan = {.contexts = options.contexts,
                            .rows = options.rows,
                            .prompts = options.prompts,
                            .decode_steps = kDecodeSteps,
                            .repeats = options.repeats};
  ThreadPool pool(options.model.threads > 0 ? options.model.threads : AvailableCpus());
  HUNCH_ASSIGN_OR_RETURN(const LoadedTarget loaded, LoadTarget(options, plan, pool));
  RowBenchReport stopped;
  stopped.stopped = true;
  if (!on_progress(0, plan.Pieces())) return stopped;
  MachineLimits limits;
  HUNCH_RETURN_IF_ERROR(Measure(pool, limits));
  BlockPool blocks(loaded.blocks);
  const auto times = MeasureRows(*loaded.target, blocks, plan, on_progress);
  if (!times) return stopped;
  HUNCH_RETURN_IF_ERROR(Measure(pool, limits));
  return Report(*times, limits, loaded, pool.size());
}

}  // namespace hunch
