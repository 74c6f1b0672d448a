#include "draft/head_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/check.h"
#include "quant/quantize.h"

namespace hunch {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"eagle3", "eagle", "medusa"};
constexpr uint64_t kFormatVersion = 1;

// Bounds that no real target comes near.
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxVocabulary = 1 << 24;

Error Bad(const GgufFile& file, std::string_view what) {
  return {ErrorCode::kBadFile, fmt::format("{}: {}", file.name(), what)};
}

Result<int> Bounded(const GgufFile& file, std::string_view key, int64_t low, int64_t high) {
  HUNCH_ASSIGN_OR_RETURN(const int64_t value, file.GetInt(key));
  if (value < low || value > high) {
    return Bad(file, fmt::format("{} = {} is outside {}..{}", key, value, low, high));
  }
  return static_cast<int>(value);
}

// Ascending whole numbers from 0 to `most`, each once.
template <typename Int>
Status TakeAscending(const GgufFile& file, std::string_view key, int64_t most,
                     std::vector<Int>& out) {
  HUNCH_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, file.GetInts(key));
  int64_t before = -1;
  for (const int64_t number : numbers) {
    if (number <= before || number > most) {
      return Bad(file, fmt::format("{} must be ascending numbers from 0 to {}, each once: {} "
                                   "follows {}",
                                   key, most, number, before));
    }
    out.push_back(static_cast<Int>(number));
    before = number;
  }
  return Ok{};
}

Result<HeadKind> ReadKind(const GgufFile& file) {
  using namespace head_keys;
  HUNCH_ASSIGN_OR_RETURN(const std::string architecture, file.GetString(kArchitecture));
  if (architecture != kArchitectureName) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: its {} is '{}', not '{}': it is no head; `hunch train` makes one",
                             file.name(), kArchitecture, architecture, kArchitectureName)};
  }
  HUNCH_ASSIGN_OR_RETURN(const int64_t version, file.GetInt(kVersion));
  if (version != static_cast<int64_t>(kFormatVersion)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: a head of version {}; this program reads version {}", file.name(),
                             version, kFormatVersion)};
  }
  HUNCH_ASSIGN_OR_RETURN(const std::string kind, file.GetString(kKind));
  const auto known = std::find(kKinds.begin(), kKinds.end(), kind);
  if (known == kKinds.end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: {} is '{}'; known kinds: {}", file.name(), kKind, kind,
                             fmt::join(kKinds, ", "))};
  }
  return static_cast<HeadKind>(known - kKinds.begin());
}

Result<HeadTarget> ReadTarget(const GgufFile& file) {
  using namespace head_keys;
  HeadTarget target;
  HUNCH_ASSIGN_OR_RETURN(target.architecture, file.GetString(kTargetArchitecture));
  HUNCH_ASSIGN_OR_RETURN(const std::string hash, file.GetString(kVocabularyHash));
  const char* const end = hash.data() + hash.size();
  const auto parsed = std::from_chars(hash.data(), end, target.vocabulary.fingerprint, 16);
  if (hash.size() != 16 || parsed.ec != std::errc() || parsed.ptr != end) {
    return Bad(file, fmt::format("{} must be 16 hexadecimal digits", kVocabularyHash));
  }
  HUNCH_ASSIGN_OR_RETURN(target.vocabulary.size, Bounded(file, kVocabularySize, 1, kMaxVocabulary));
  HUNCH_ASSIGN_OR_RETURN(target.hidden, Bounded(file, kHiddenSize, 1, kMostHeadWidth));
  HUNCH_ASSIGN_OR_RETURN(target.layers, Bounded(file, kLayers, 1, kMaxLayers));
  return target;
}

Status ReadLayer(const GgufFile& file, HeadConfig& config) {
  using namespace head_keys;
  HUNCH_ASSIGN_OR_RETURN(config.heads, Bounded(file, kHeads, 1, kMostHeadHeads));
  HUNCH_ASSIGN_OR_RETURN(config.kv_heads, Bounded(file, kKvHeads, 1, config.heads));
  HUNCH_ASSIGN_OR_RETURN(config.head_dim, Bounded(file, kHeadDim, 16, 256));
  HUNCH_ASSIGN_OR_RETURN(config.ffn, Bounded(file, kFeedForward, 1, kMostHeadWidth));
  if (config.heads % config.kv_heads != 0 || config.head_dim % 16 != 0) {
    return Bad(file, fmt::format("{} heads, {} of keys and values, of {} each: the first must be a "
                                 "multiple of the second, and the third of 16",
                                 config.heads, config.kv_heads, config.head_dim));
  }
  HUNCH_ASSIGN_OR_RETURN(config.rope_theta, file.GetFloat(kRopeTheta));
  if (!(config.rope_theta >= 1 && config.rope_theta <= 1e15)) {
    return Bad(file,
               fmt::format("{} = {} is not between 1 and 1e15", kRopeTheta, config.rope_theta));
  }
  HUNCH_ASSIGN_OR_RETURN(const double eps, file.GetFloat(kNormEps));
  if (!(eps >= 0 && eps < 1)) {
    return Bad(file, fmt::format("{} = {} is not between 0 and 1", kNormEps, eps));
  }
  config.norm_eps = static_cast<float>(eps);
  return Ok{};
}

Status CheckTensors(const GgufFile& file, const HeadConfig& config) {
  std::set<std::string> known;
  for (const HeadTensor& wanted : HeadTensors(config)) {
    known.insert(wanted.name);
    const GgufTensor* const tensor = file.FindTensor(wanted.name);
    if (tensor == nullptr) {
      if (wanted.optional) continue;
      return Bad(file, fmt::format("tensor {} is missing", wanted.name));
    }
    if (tensor->shape != wanted.shape()) {
      return Bad(file,
                 fmt::format("tensor {} is {}, expected {}", wanted.name,
                             fmt::join(tensor->shape, " x "), fmt::join(wanted.shape(), " x ")));
    }
  }
  for (const GgufTensor& tensor : file.tensors()) {
    if (known.contains(tensor.name)) continue;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: tensor {} is no part of a head of kind {} as Hunch knows it",
                             file.name(), tensor.name, HeadKindName(config.kind))};
  }
  return Ok{};
}

void AddLayer(const HeadConfig& c, int64_t input, std::vector<HeadTensor>& tensors) {
  using namespace head_tensors;
  const int64_t hidden = c.target.hidden;
  const auto add = [&](std::string_view name, int64_t columns, int64_t rows) {
    tensors.push_back({std::string(name), columns, rows});
  };
  add(kQ, input, c.q_size());
  add(kK, input, c.kv_size());
  add(kV, input, c.kv_size());
  add(kAttnOutput, c.q_size(), hidden);
  add(kFfnNorm, hidden, 0);
  add(kFfnGate, hidden, c.ffn);
  add(kFfnUp, hidden, c.ffn);
  add(kFfnDown, c.ffn, hidden);
}

}  // namespace

std::string_view HeadKindName(HeadKind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::string head_tensors::MedusaFc(int index) { return fmt::format("medusa.{}.fc.weight", index); }
std::string head_tensors::MedusaFcBias(int index) {
  return fmt::format("medusa.{}.fc.bias", index);
}
std::string head_tensors::MedusaOutput(int index) {
  return fmt::format("medusa.{}.output.weight", index);
}

std::vector<HeadTensor> HeadTensors(const HeadConfig& c) {
  using namespace head_tensors;
  const int64_t hidden = c.target.hidden;
  std::vector<HeadTensor> tensors;
  switch (c.kind) {
    case HeadKind::kEagle3:
      tensors.push_back({std::string(kFc), c.tap_size(), hidden});
      tensors.push_back({std::string(kAttnNorm), hidden, 0});
      tensors.push_back({std::string(kHiddenNorm), hidden, 0});
      AddLayer(c, 2 * hidden, tensors);
      tensors.push_back({std::string(kOutputNorm), hidden, 0});
      tensors.push_back({std::string(kOutput), hidden, c.output_rows()});
      break;
    case HeadKind::kEagle:
      tensors.push_back({std::string(kFc), 2 * hidden, hidden});
      tensors.push_back({std::string(kFcBias), hidden, 0, /*optional=*/true});
      AddLayer(c, hidden, tensors);
      break;
    case HeadKind::kMedusa:
      for (int index = 0; index < c.medusa_heads; ++index) {
        tensors.push_back({MedusaFc(index), hidden, hidden});
        tensors.push_back({MedusaFcBias(index), hidden, 0});
        tensors.push_back({MedusaOutput(index), hidden, c.output_rows()});
      }
      break;
  }
  return tensors;
}

bool IsHead(const GgufFile& file) {
  const auto architecture = file.GetStringOr(head_keys::kArchitecture, "");
  return architecture.ok() && *architecture == head_keys::kArchitectureName;
}

void SetHeadConfig(const HeadConfig& config, GgufWriter& writer) {
  using namespace head_keys;
  HUNCH_CHECK(std::is_sorted(config.taps.begin(), config.taps.end()));
  HUNCH_CHECK(std::is_sorted(config.tokens.begin(), config.tokens.end()));
  const auto set = [&](std::string_view key, GgufValue value) {
    writer.Set(std::string(key), std::move(value));
  };
  const auto set_int = [&](std::string_view key, int value) {
    HUNCH_CHECK_GT(value, 0) << key;
    set(key, static_cast<uint64_t>(value));
  };
  set(kArchitecture, std::string(kArchitectureName));
  set(kVersion, kFormatVersion);
  set(kKind, std::string(HeadKindName(config.kind)));
  set(kTargetArchitecture, config.target.architecture);
  set(kVocabularyHash, fmt::format("{:016x}", config.target.vocabulary.fingerprint));
  set_int(kVocabularySize, config.target.vocabulary.size);
  set_int(kHiddenSize, config.target.hidden);
  set_int(kLayers, config.target.layers);
  set(kTaps, std::vector<uint64_t>(config.taps.begin(), config.taps.end()));
  if (!config.tokens.empty()) {
    set(kTokens, std::vector<uint64_t>(config.tokens.begin(), config.tokens.end()));
  }
  if (config.kind == HeadKind::kMedusa) return set_int(kMedusaHeads, config.medusa_heads);
  set_int(kHeads, config.heads);
  set_int(kKvHeads, config.kv_heads);
  set_int(kHeadDim, config.head_dim);
  set_int(kFeedForward, config.ffn);
  set(kRopeTheta, config.rope_theta);
  set(kNormEps, static_cast<double>(config.norm_eps));
  if (config.normed_residual) set(kNormedResidual, true);
}

Result<HeadConfig> ReadHeadConfig(const GgufFile& file) {
  using namespace head_keys;
  HeadConfig config;
  HUNCH_ASSIGN_OR_RETURN(config.kind, ReadKind(file));
  HUNCH_ASSIGN_OR_RETURN(config.target, ReadTarget(file));
  HUNCH_RETURN_IF_ERROR(TakeAscending(file, kTaps, config.target.layers, config.taps));
  const size_t most = config.kind == HeadKind::kEagle3 ? kMostHeadTaps : 1;
  if (config.taps.empty() || config.taps.size() > most) {
    return Bad(file, fmt::format("{} has {} layers; a head of kind {} reads 1 to {}", kTaps,
                                 config.taps.size(), HeadKindName(config.kind), most));
  }
  if (file.metadata().contains(kTokens)) {
    HUNCH_RETURN_IF_ERROR(
        TakeAscending(file, kTokens, config.target.vocabulary.size - 1, config.tokens));
    if (config.tokens.empty()) return Bad(file, fmt::format("{} has no tokens", kTokens));
  }
  if (config.kind == HeadKind::kMedusa) {
    HUNCH_ASSIGN_OR_RETURN(config.medusa_heads, Bounded(file, kMedusaHeads, 1, kMostMedusaHeads));
  } else {
    HUNCH_RETURN_IF_ERROR(ReadLayer(file, config));
  }
  if (config.kind == HeadKind::kEagle3) {
    HUNCH_ASSIGN_OR_RETURN(config.normed_residual, file.GetBoolOr(kNormedResidual, false));
  }
  HUNCH_RETURN_IF_ERROR(CheckTensors(file, config));
  return config;
}

Status CheckHeadTarget(const HeadConfig& config, std::string_view head_name,
                       const HeadTarget& target, std::string_view target_name) {
  const HeadTarget& own = config.target;
  const auto refuse = [&](std::string_view what, const auto& wanted, const auto& found) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is a head for another target than {}: {} {}, not {}; use a head "
                             "that was trained for this model",
                             head_name, target_name, what, wanted, found)};
  };
  if (own.architecture != target.architecture) {
    return refuse("architecture", own.architecture, target.architecture);
  }
  if (own.hidden != target.hidden) return refuse("hidden size", own.hidden, target.hidden);
  if (own.layers != target.layers) return refuse("layers", own.layers, target.layers);
  if (own.vocabulary.size != target.vocabulary.size) {
    return refuse("tokens", own.vocabulary.size, target.vocabulary.size);
  }
  if (own.vocabulary.fingerprint != target.vocabulary.fingerprint) {
    return refuse("vocabulary", fmt::format("{:016x}", own.vocabulary.fingerprint),
                  fmt::format("{:016x}", target.vocabulary.fingerprint));
  }
  return Ok{};
}

void AddHeadTensor(const HeadTensor& tensor, std::span<const float> values, TensorType type,
                   GgufWriter& writer) {
  TensorType own = tensor.rows == 0 ? TensorType::kF32 : type;
  if (tensor.columns % GetTypeTraits(own).block_elements != 0) own = TensorType::kF16;
  writer.AddTensor(tensor.name, own, tensor.shape(), Encode(values, own));
}

}  // namespace hunch
