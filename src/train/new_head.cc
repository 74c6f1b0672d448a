#include "train/new_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hunch {
namespace {

constexpr size_t kMostTaps = 8;  // of the file format

std::vector<int> TapsOf(const NewHead& head, int layers) {
  if (head.kind != HeadKind::kEagle3) return {layers};
  if (!head.taps.empty()) return head.taps;
  std::vector<int> taps;
  for (const int layer : {std::min(2, layers - 1), layers / 2, std::max(layers - 3, 0)}) {
    if (taps.empty() || layer > taps.back()) taps.push_back(layer);
  }
  return taps;
}

}  // namespace

Result<HeadConfig> ConfigOf(const NewHead& head, const TargetRows& target,
                            const VocabularyId& vocabulary) {
  const ModelConfig& model = target.config();
  HeadConfig config;
  config.kind = head.kind;
  config.target = target.AsHeadTarget(vocabulary);
  config.tokens = head.tokens;
  config.taps = TapsOf(head, model.layers);
  if (config.taps.back() > model.layers || config.taps.size() > kMostTaps) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("taps {} are asked for: the model has layers 0 to {}, and a head reads "
                    "at most {}",
                    fmt::join(config.taps, ", "), model.layers - 1, kMostTaps)};
  }
  if (config.kind == HeadKind::kMedusa) {
    config.medusa_heads = head.steps;
    return config;
  }
  config.heads = model.heads;
  config.kv_heads = model.kv_heads;
  config.head_dim = model.head_dim;
  config.ffn = model.ffn;
  config.norm_eps = model.norm_eps;
  HUNCH_ASSIGN_OR_RETURN(
      config.rope_theta,
      target.file()->GetFloatOr(fmt::format("{}.rope.freq_base", model.architecture), 10000));
  return config;
}

}  // namespace hunch
