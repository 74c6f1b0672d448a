#include "model/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kernels/ops.h"
#include "quant/quant.h"

namespace hunch {
namespace {

struct Architecture {
  std::string_view name;
  bool rope_neox;
};
constexpr std::array<Architecture, 3> kArchitectures = {
    {{"llama", false}, {"qwen2", true}, {"qwen3", true}}};

// Bounds that no real model of these kinds comes near; they keep products inside 64 bits and a
// hostile header from asking for absurd memory.
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxContext = 1 << 24;

Result<int> Bounded(const GgufFile& file, const std::string& key, int64_t fallback, int64_t low,
                    int64_t high) {
  HUNCH_ASSIGN_OR_RETURN(const int64_t value,
                         fallback < 0 ? file.GetInt(key) : file.GetIntOr(key, fallback));
  if (value < low || value > high) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: {} = {} is outside {}..{}", file.name(), key, value, low, high)};
  }
  return static_cast<int>(value);
}

// Keys that change the arithmetic in ways that this code does not have.
Status RefuseUnknownVariants(const GgufFile& file, const std::string& arch) {
  const auto refuse = [&](std::string what) -> Status {
    return Error{ErrorCode::kUnsupported, fmt::format("{}: {}", file.name(), what)};
  };
  HUNCH_ASSIGN_OR_RETURN(const int64_t experts, file.GetIntOr(arch + ".expert_count", 0));
  if (experts > 0) return refuse("mixture-of-experts models are not supported");
  HUNCH_ASSIGN_OR_RETURN(const std::string scaling,
                         file.GetStringOr(arch + ".rope.scaling.type", "none"));
  if (scaling != "none" && scaling != "linear" && scaling != "llama3") {
    return refuse(
        fmt::format("rope scaling '{}' is not supported (known: none, linear, and Llama "
                    "3's by the tensor rope_freqs.weight)",
                    scaling));
  }
  HUNCH_ASSIGN_OR_RETURN(const int64_t window,
                         file.GetIntOr(arch + ".attention.sliding_window", 0));
  HUNCH_ASSIGN_OR_RETURN(const int64_t context, file.GetInt(arch + ".context_length"));
  if (window > 0 && window < context) return refuse("sliding-window attention is not supported");
  return Ok{};
}

Result<std::vector<double>> ReadRopeFrequencies(const GgufFile& file, const std::string& arch,
                                                int head_dim) {
  HUNCH_ASSIGN_OR_RETURN(const int dims,
                         Bounded(file, arch + ".rope.dimension_count", head_dim, 2, head_dim));
  if (dims % 2 != 0) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: {}.rope.dimension_count = {} is odd", file.name(), arch, dims)};
  }
  HUNCH_ASSIGN_OR_RETURN(const double theta, file.GetFloatOr(arch + ".rope.freq_base", 10000.0));
  if (!(theta >= 1.0 && theta <= 1e15)) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: {}.rope.freq_base = {} is not between 1 and "
                                                  "1e15",
                                                  file.name(), arch, theta)};
  }
  std::vector<double> frequencies(dims / 2);
  RopeFrequencies(theta, dims, frequencies.data());

  HUNCH_ASSIGN_OR_RETURN(const std::string scaling,
                         file.GetStringOr(arch + ".rope.scaling.type", "none"));
  if (scaling == "linear") {
    HUNCH_ASSIGN_OR_RETURN(const double factor,
                           file.GetFloatOr(arch + ".rope.scaling.factor", 1.0));
    if (!(factor > 0 && factor <= 1e6)) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: {}.rope.scaling.factor = {} is not positive", file.name(), arch,
                               factor)};
    }
    for (double& frequency : frequencies) frequency /= factor;
  }
  // Llama 3's scaling comes as a tensor of divisors, one per pair.
  if (const GgufTensor* factors = file.FindTensor("rope_freqs.weight")) {
    if (factors->type != TensorType::kF32 || factors->elements() != dims / 2) {
      return Error{ErrorCode::kBadFile, fmt::format("{}: rope_freqs.weight must hold {} F32 values",
                                                    file.name(), dims / 2)};
    }
    std::vector<float> values(dims / 2);
    Dequantize(TensorType::kF32, factors->data, values);
    for (int i = 0; i < dims / 2; ++i) {
      if (!(values[i] > 0)) {
        return Error{ErrorCode::kBadFile,
                     fmt::format("{}: rope_freqs.weight[{}] = {} is not positive", file.name(), i,
                                 values[i])};
      }
      frequencies[i] /= values[i];
    }
  }
  return frequencies;
}

}  // namespace

Result<ModelConfig> ReadModelConfig(const GgufFile& file) {
  ModelConfig config;
  HUNCH_ASSIGN_OR_RETURN(config.architecture, file.GetString("general.architecture"));
  const std::string& arch = config.architecture;
  const auto known = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                  [&](const Architecture& a) { return a.name == arch; });
  if (known == kArchitectures.end()) {
    std::vector<std::string_view> names;
    for (const auto& architecture : kArchitectures) names.push_back(architecture.name);
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: architecture '{}' is not supported (known: {})", file.name(),
                             arch, fmt::join(names, ", "))};
  }
  config.rope_neox = known->rope_neox;
  HUNCH_RETURN_IF_ERROR(RefuseUnknownVariants(file, arch));

  HUNCH_ASSIGN_OR_RETURN(config.layers, Bounded(file, arch + ".block_count", -1, 1, kMaxLayers));
  HUNCH_ASSIGN_OR_RETURN(config.hidden,
                         Bounded(file, arch + ".embedding_length", -1, 1, kMaxWidth));
  HUNCH_ASSIGN_OR_RETURN(config.ffn,
                         Bounded(file, arch + ".feed_forward_length", -1, 1, kMaxWidth));
  HUNCH_ASSIGN_OR_RETURN(config.heads, Bounded(file, arch + ".attention.head_count", -1, 1, 4096));
  HUNCH_ASSIGN_OR_RETURN(config.kv_heads, Bounded(file, arch + ".attention.head_count_kv",
                                                  config.heads, 1, config.heads));
  HUNCH_ASSIGN_OR_RETURN(config.context_length,
                         Bounded(file, arch + ".context_length", -1, 1, kMaxContext));
  if (config.heads % config.kv_heads != 0) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: {} query heads do not share {} KV heads evenly", file.name(),
                             config.heads, config.kv_heads)};
  }
  HUNCH_ASSIGN_OR_RETURN(config.head_dim, Bounded(file, arch + ".attention.key_length",
                                                  config.hidden / config.heads, 1, 1024));
  HUNCH_ASSIGN_OR_RETURN(const int value_dim,
                         Bounded(file, arch + ".attention.value_length", config.head_dim, 1, 1024));
  if (value_dim != config.head_dim || config.head_dim % 16 != 0 || config.head_dim > 256) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{}: heads of {} (keys) and {} (values) are not supported: both must be "
                    "the same multiple of 16, at most 256",
                    file.name(), config.head_dim, value_dim)};
  }
  HUNCH_ASSIGN_OR_RETURN(const double eps,
                         file.GetFloat(arch + ".attention.layer_norm_rms_epsilon"));
  if (!(eps >= 0 && eps < 1)) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: {}.attention.layer_norm_rms_epsilon = {} is not "
                             "in [0, 1)",
                             file.name(), arch, eps)};
  }
  config.norm_eps = static_cast<float>(eps);
  HUNCH_ASSIGN_OR_RETURN(config.rope_frequencies, ReadRopeFrequencies(file, arch, config.head_dim));

  const GgufTensor* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: tensor token_embd.weight is missing", file.name())};
  }
  if (embedding->rows() > (1 << 24)) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: token_embd.weight has {} rows", file.name(), embedding->rows())};
  }
  config.vocab = static_cast<int>(embedding->rows());
  return config;
}

}  // namespace hunch
