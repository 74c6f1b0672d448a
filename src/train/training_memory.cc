#include "train/training_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace hunch {
namespace {

constexpr uint64_t kFloat = sizeof(float);

uint64_t ParametersOf(std::span<const HeadTensor> tensors) {
  uint64_t parameters = 0;
  for (const HeadTensor& tensor : tensors) {
    parameters += static_cast<uint64_t>(tensor.columns * std::max<int64_t>(tensor.rows, 1));
  }
  return parameters;
}

}  // namespace

TrainingMemory MemoryToTrain(const HeadConfig& config, const TrainOptions& options, int longest) {
  const uint64_t parameters = ParametersOf(HeadTensors(config));
  const uint64_t rows = std::max(options.batch_tokens, longest);
  const uint64_t steps = options.steps;
  const uint64_t hidden = config.target.hidden, tokens = config.output_rows();
  // Values, gradients, two moments; bf16 copies and their gradients.
  TrainingMemory memory;
  memory.weights = parameters * (4 * kFloat + 4) + tokens * hidden * kFloat;
  // Of a row in a step: what its backward pass reads again, most of it twice (fp32 and bf16).
  const uint64_t widths = config.kind == HeadKind::kMedusa
                              ? 4 * hidden
                              : 16 * hidden + 6 * config.ffn + 4 * config.q_size();
  // Rows of attention, over the longest text: scores, shares and their gradients.
  const uint64_t attention =
      config.kind == HeadKind::kMedusa ? 0 : uint64_t{6} * config.heads * longest;
  memory.activations = rows * kFloat * (2 * config.tap_size() + steps * (widths + attention));
  // Of each step the slopes.
  memory.scores = rows * tokens * kFloat * steps;
  return memory;
}

TrainingMemory MemoryToTrain(const DraftStudent& draft, int target_hidden,
                             const TrainOptions& options, int longest) {
  const ModelConfig& config = draft.config();
  const uint64_t rows = std::max(options.batch_tokens, longest);
  const uint64_t tokens = draft.tokens(), hidden = config.hidden, ffn = config.ffn,
                 q_size = config.q_size(), heads = config.heads;
  TrainingMemory memory;
  // As of a head, and a copy of all but the gradients when a checkpoint is written.
  memory.weights = ParametersOf(draft.Tensors()) * (4 * kFloat + 4 + 3 * kFloat) +
                   tokens * target_hidden * kFloat;
  // One layer at a time, of which as much is kept as of a head's; of all others what they read.
  const uint64_t layer = 16 * hidden + 6 * ffn + 4 * q_size + 6 * heads * longest;
  memory.activations = rows * kFloat * (layer + config.layers * hidden);
  // The slopes, and the gradients of the output matrix on their way.
  memory.scores = rows * tokens * kFloat + 2 * tokens * hidden * kFloat;
  memory.smaller = "--layers";
  return memory;
}

Status CheckTrainingFits(const TrainingMemory& memory, uint64_t available) {
  if (memory.total() <= available) return Ok{};
  const auto mb = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("training needs about {:.0f} MB (weights {:.0f}, activations {:.0f}, "
                           "scores {:.0f}) and {:.0f} MB are free: lower --batch-tokens or {}",
                           mb(memory.total()), mb(memory.weights), mb(memory.activations),
                           mb(memory.scores), mb(available), memory.smaller)};
}

}  // namespace hunch
