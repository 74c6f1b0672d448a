#include "convert/published_head.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "convert/published_config.h"

namespace hunch {
namespace {

using Names = std::pair<std::string_view, std::string_view>;  // ours, theirs
// Behind the name of the layer.
constexpr Names kLayerNames[] = {
    {head_tensors::kAttnNorm, "input_layernorm.weight"},
    {head_tensors::kHiddenNorm, "hidden_norm.weight"},
    {head_tensors::kQ, "self_attn.q_proj.weight"},
    {head_tensors::kK, "self_attn.k_proj.weight"},
    {head_tensors::kV, "self_attn.v_proj.weight"},
    {head_tensors::kAttnOutput, "self_attn.o_proj.weight"},
    {head_tensors::kFfnNorm, "post_attention_layernorm.weight"},
    {head_tensors::kFfnGate, "mlp.gate_proj.weight"},
    {head_tensors::kFfnUp, "mlp.up_proj.weight"},
    {head_tensors::kFfnDown, "mlp.down_proj.weight"},
};
constexpr Names kOtherNames[] = {
    {head_tensors::kFc, "fc.weight"},
    {head_tensors::kFcBias, "fc.bias"},
    {head_tensors::kOutputNorm, "norm.weight"},
    {head_tensors::kOutput, "lm_head.weight"},
};
constexpr std::string_view kDraftToTarget = "d2t";  // [rows]: token minus row
constexpr std::string_view kTargetToDraft = "t2d";  // [tokens]: whether it has a row
constexpr std::string_view kEmbedding = "embed_tokens.weight";
constexpr std::string_view kRopeBuffer = "self_attn.rotary_emb.inv_freq";  // older transformers'

// How a file names its tensors.
struct Naming {
  HeadKind kind = HeadKind::kEagle3;
  std::string prefix;  // eagles: of the layer; medusa: of all
  bool vllm = false;   // medusa: as vLLM has it
};

std::string TheirName(const Naming& naming, std::string_view ours) {
  for (const auto& [own, theirs] : kLayerNames) {
    if (own == ours) return fmt::format("{}{}", naming.prefix, theirs);
  }
  for (const auto& [own, theirs] : kOtherNames) {
    if (own == ours) return std::string(theirs);
  }
  return "";
}

struct MedusaNames {
  std::string fc, bias, output;
};
MedusaNames TheirMedusaNames(const Naming& naming, int head) {
  const std::string& prefix = naming.prefix;
  if (naming.vllm) {
    return {fmt::format("{}blocks.{}.layers.0.weight", prefix, head),
            fmt::format("{}blocks.{}.layers.0.bias", prefix, head),
            fmt::format("{}lm_heads.{}.weight", prefix, head)};
  }
  return {fmt::format("{}{}.0.linear.weight", prefix, head),
          fmt::format("{}{}.0.linear.bias", prefix, head),
          fmt::format("{}{}.1.weight", prefix, head)};
}

class Reader {
 public:
  Reader(const NamedTensors& tensors, const Json& config, std::string_view name,
         const HeadTarget& target)
      : tensors_(tensors), json_(config), name_(name) {
    head_.config.target = target;
  }

  Result<PublishedHead> Read(std::span<const int> taps) {
    HUNCH_RETURN_IF_ERROR(FindNaming());
    head_.config.kind = naming_.kind;
    if (naming_.kind == HeadKind::kMedusa) {
      HUNCH_RETURN_IF_ERROR(CountMedusaHeads());
      HUNCH_RETURN_IF_ERROR(ReadTokens(TheirMedusaNames(naming_, 0).output,
                                       naming_.prefix + "token_map", /*offsets=*/false));
    } else {
      HUNCH_RETURN_IF_ERROR(ReadPublishedLayer(json_, name_, head_.config));
    }
    HUNCH_RETURN_IF_ERROR(TakeTaps(taps));
    if (naming_.kind == HeadKind::kEagle3) {
      HUNCH_RETURN_IF_ERROR(ReadTokens(TheirName(naming_, head_tensors::kOutput),
                                       std::string(kDraftToTarget), /*offsets=*/true));
      used_.emplace(kTargetToDraft);
    }
    HUNCH_RETURN_IF_ERROR(naming_.kind == HeadKind::kMedusa ? TakeMedusa() : TakeLayer());
    HUNCH_RETURN_IF_ERROR(CheckAllUsed());
    return std::move(head_);
  }

 private:
  Error Bad(std::string_view what) const {
    return {ErrorCode::kBadFile, fmt::format("{}: {}", name_, what)};
  }
  Error Unsupported(std::string_view what) const {
    return {ErrorCode::kUnsupported, fmt::format("{}: {}", name_, what)};
  }
  bool Has(std::string_view tensor) const { return tensors_.contains(tensor); }
  // Null: not there.
  const NamedTensor* Use(const std::string& tensor) {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end()) return nullptr;
    used_.insert(tensor);
    return &found->second;
  }

  Status FindNaming() {
    for (const char* const layer : {"midlayer.", "layers.0."}) {
      if (!Has(fmt::format("{}self_attn.q_proj.weight", layer))) continue;
      const bool eagle3 = Has(fmt::format("{}hidden_norm.weight", layer));
      naming_ = {eagle3 ? HeadKind::kEagle3 : HeadKind::kEagle, layer};
      return Ok{};
    }
    for (const char* const prefix : {"", "medusa_head.", "medusa_heads."}) {
      for (const bool vllm : {false, true}) {
        naming_ = {HeadKind::kMedusa, prefix, vllm};
        if (Has(TheirMedusaNames(naming_, 0).fc)) return Ok{};
      }
    }
    return Unsupported(fmt::format(
        "it has {} tensors ({}), and none that the heads of EAGLE, EAGLE-3 or Medusa have",
        tensors_.size(), tensors_.empty() ? "" : tensors_.begin()->first));
  }

  Status CountMedusaHeads() {
    int& heads = head_.config.medusa_heads;
    while (heads <= kMostMedusaHeads && Has(TheirMedusaNames(naming_, heads).fc)) ++heads;
    if (heads <= kMostMedusaHeads) return Ok{};
    return Unsupported(fmt::format("more than {} Medusa heads", kMostMedusaHeads));
  }

  Status TakeTaps(std::span<const int> taps) {
    HeadConfig& config = head_.config;
    if (naming_.kind != HeadKind::kEagle3) {
      config.taps = {config.target.layers};
      if (taps.empty()) return Ok{};
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{}: a head of kind {} reads the last hidden state; leave out --taps", name_,
                      HeadKindName(naming_.kind))};
    }
    if (taps.empty()) {
      HUNCH_ASSIGN_OR_RETURN(config.taps, ReadPublishedTaps(json_, name_, config.target.layers));
      return Ok{};
    }
    config.taps.assign(taps.begin(), taps.end());
    if (taps.size() <= kMostHeadTaps && taps.back() < config.target.layers) return Ok{};
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--taps {} are not at most {} layers from 0 to {}",
                             fmt::join(taps, ","), kMostHeadTaps, config.target.layers - 1)};
  }

  // Which tokens the rows of the matrix are of, and which rows are kept, in ascending tokens.
  Status ReadTokens(const std::string& matrix, const std::string& list, bool offsets) {
    const auto output = tensors_.find(matrix);
    if (output == tensors_.end()) return Bad(fmt::format("tensor {} is missing", matrix));
    const int64_t vocabulary = head_.config.target.vocabulary.size;
    const int64_t rows = output->second.shape.empty() ? 0 : output->second.shape[0];
    const NamedTensor* const listed = Use(list);
    if (listed == nullptr) {
      if (rows < vocabulary || rows > vocabulary + kMostPadding) {
        return Bad(
            fmt::format("tensor {} has {} rows and the model {} tokens, and no tensor {} "
                        "says which they are: a head for another model",
                        matrix, rows, vocabulary, list));
      }
      head_.output_rows.resize(static_cast<size_t>(vocabulary));
      std::iota(head_.output_rows.begin(), head_.output_rows.end(), 0);
      return Ok{};
    }
    const auto numbers = ReadInts(*listed);
    if (!numbers || numbers->empty() || static_cast<int64_t>(numbers->size()) != rows) {
      return Bad(fmt::format("tensor {} is not one whole number for each of the {} rows of {}",
                             list, rows, matrix));
    }
    return TakeTokens(*numbers, list, offsets);
  }

  Status TakeTokens(const std::vector<int64_t>& numbers, const std::string& list, bool offsets) {
    const int64_t vocabulary = head_.config.target.vocabulary.size;
    std::vector<std::pair<int64_t, int64_t>> by_token;  // with their rows
    for (size_t row = 0; row < numbers.size(); ++row) {
      // Neither is near the ends of 64 bits once the number is within the vocabulary.
      const int64_t number = numbers[row];
      const bool sane = number >= -kMostTokens && number <= kMostTokens;
      const int64_t token = number + (sane && offsets ? static_cast<int64_t>(row) : 0);
      if (!sane || token < 0 || token >= vocabulary) {
        return Bad(
            fmt::format("tensor {}: row {} is of no token of the model's {}: a head for "
                        "another model",
                        list, row, vocabulary));
      }
      by_token.emplace_back(token, static_cast<int64_t>(row));
    }
    std::sort(by_token.begin(), by_token.end());
    for (size_t i = 0; i < by_token.size(); ++i) {
      const auto& [token, row] = by_token[i];
      if (i > 0 && token == by_token[i - 1].first) {
        return Bad(fmt::format("tensor {}: rows {} and {} are both of token {}", list,
                               by_token[i - 1].second, row, token));
      }
      head_.config.tokens.push_back(static_cast<TokenId>(token));
      head_.output_rows.push_back(row);
    }
    return Ok{};
  }

  // `source` is of the part's shape; of an output matrix it has all rows that are kept, and as many
  // more as ReadTokens found.
  Status Take(const HeadTensor& part, const std::string& theirs, bool is_output) {
    const NamedTensor* const source = Use(theirs);
    if (source == nullptr) {
      if (part.optional) return Ok{};
      return Bad(fmt::format("tensor {} is missing", theirs));
    }
    std::vector<int64_t> wanted = {part.rows, part.columns};
    if (part.rows == 0) wanted = {part.columns};
    if (is_output) {
      wanted[0] =
          head_.config.tokens.empty() && source->shape.size() == 2 && source->shape[0] > part.rows
              ? source->shape[0]
              : part.rows;
    }
    if (source->shape != wanted) {
      return Bad(fmt::format("tensor {} is {}, expected {}", theirs,
                             fmt::join(source->shape, " x "), fmt::join(wanted, " x ")));
    }
    head_.parts.push_back({part, source, is_output});
    return Ok{};
  }

  Status TakeLayer() {
    for (const HeadTensor& part : HeadTensors(head_.config)) {
      HUNCH_RETURN_IF_ERROR(
          Take(part, TheirName(naming_, part.name), part.name == head_tensors::kOutput));
    }
    used_.insert(naming_.prefix + std::string(kRopeBuffer));
    head_.embedding = Use(std::string(kEmbedding));
    const int hidden = head_.config.target.hidden;
    if (head_.embedding == nullptr ||
        (head_.embedding->shape.size() == 2 && head_.embedding->shape[1] == hidden &&
         head_.embedding->shape[0] >= head_.config.target.vocabulary.size)) {
      return Ok{};
    }
    return Bad(fmt::format("tensor {} is {}; the model has {} tokens of {}: a head for another one",
                           kEmbedding, fmt::join(head_.embedding->shape, " x "),
                           head_.config.target.vocabulary.size, hidden));
  }

  Status TakeMedusa() {
    const std::vector<HeadTensor> parts = HeadTensors(head_.config);  // three of each head
    for (int head = 0; head < head_.config.medusa_heads; ++head) {
      const MedusaNames theirs = TheirMedusaNames(naming_, head);
      const HeadTensor* const own = &parts[static_cast<size_t>(head) * 3];
      HUNCH_RETURN_IF_ERROR(Take(own[0], theirs.fc, /*is_output=*/false));
      if (naming_.vllm && !Has(theirs.bias)) {
        head_.parts.push_back({own[1]});
      } else {
        HUNCH_RETURN_IF_ERROR(Take(own[1], theirs.bias, /*is_output=*/false));
      }
      HUNCH_RETURN_IF_ERROR(Take(own[2], theirs.output, /*is_output=*/true));
    }
    return Ok{};
  }

  Status CheckAllUsed() const {
    for (const auto& [tensor, value] : tensors_) {
      if (used_.contains(tensor)) continue;
      const bool bias = tensor.find("self_attn") != tensor.npos && tensor.ends_with(".bias");
      return Unsupported(fmt::format(
          "tensor {} has no place in a head of kind {} as Hunch knows "
          "it{}",
          tensor, HeadKindName(naming_.kind), bias ? ", whose attention has no biases" : ""));
    }
    return Ok{};
  }

  static constexpr int64_t kMostTokens = int64_t{1} << 32;
  // Rows for no token that a model's matrices, and so its head's, may have at their end.
  static constexpr int64_t kMostPadding = 1024;

  const NamedTensors& tensors_;
  const Json& json_;
  const std::string_view name_;
  Naming naming_;
  PublishedHead head_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace

Result<PublishedHead> ReadPublishedHead(const NamedTensors& tensors, const Json& config,
                                        std::string_view name, const HeadTarget& target,
                                        std::span<const int> taps) {
  return Reader(tensors, config, name, target).Read(taps);
}

}  // namespace hunch
