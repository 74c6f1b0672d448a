#include "support/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "quant/quantize.h"

namespace hunch {
namespace {

constexpr int kVocab = kSuccessorVocab;
constexpr float kEps = 1e-5f;
constexpr float kSure = 1.0f, kPerhaps = 0.75f;  // times 8: logits

// [rows][columns] with `value` wherever row == of(column).
std::vector<float> Mapping(int64_t rows, int64_t columns, float value,
                           const std::function<TokenId(TokenId)>& of) {
  std::vector<float> matrix(rows * columns);
  for (int64_t column = 0; column < columns; ++column) {
    const TokenId row = of(static_cast<TokenId>(column));
    if (row >= 0) matrix[row * columns + column] = value;
  }
  return matrix;
}

std::vector<float> Sum(std::vector<float> a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

std::vector<float> SuccessorOutput() {
  return Sum(Mapping(kVocab, kVocab, kSure, Successor),
             Mapping(kVocab, kVocab, kPerhaps,
                     [](TokenId token) { return (Successor(token) + 1) % kVocab; }));
}

}  // namespace

HeadConfig SmallHead(const ModelConfig& target, int vocab_size, HeadKind kind) {
  HeadConfig config = {.kind = kind,
                       .target = {.architecture = target.architecture,
                                  .vocabulary = {.fingerprint = 77, .size = vocab_size},
                                  .hidden = target.hidden,
                                  .layers = target.layers},
                       .taps = {target.layers},
                       .tokens = {},
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 16,
                       .ffn = 96,
                       .rope_theta = 10000,
                       .norm_eps = kEps,
                       .medusa_heads = 3};
  if (kind == HeadKind::kEagle3) config.taps = {0, target.layers - 1, target.layers};
  return config;
}

std::vector<std::byte> HeadBytes(const HeadConfig& config, const TensorValues& values,
                                 TensorType type) {
  GgufWriter writer;
  SetHeadConfig(config, writer);
  for (const HeadTensor& tensor : HeadTensors(config)) {
    const TensorType own = tensor.rows > 0 ? type : TensorType::kF32;
    writer.AddTensor(tensor.name, own, tensor.shape(), Encode(values(tensor), own));
  }
  return writer.Serialize();
}

TensorValues RandomValues(uint32_t seed) {
  return [random = std::mt19937(seed)](const HeadTensor& tensor) mutable {
    std::normal_distribution<float> noise(
        0, tensor.rows == 0 ? 0.1f : 1 / std::sqrt(static_cast<float>(tensor.columns)));
    std::vector<float> values(tensor.columns * std::max<int64_t>(tensor.rows, 1));
    for (float& value : values) value = noise(random) + (tensor.rows == 0 ? 1.0f : 0.0f);
    return values;
  };
}

LoadedHead::LoadedHead(std::vector<std::byte> file, const Model& target, ThreadPool& threads,
                       const ForwardLimits& limits, int kv_blocks, KvType kv)
    : bytes(std::move(file)),
      gguf(GgufFile::Parse(bytes, "head").value()),
      config(ReadHeadConfig(*gguf).value()) {
  if (config.kind == HeadKind::kMedusa) {
    const int rows = target.limits().max_rows;
    medusa = MedusaModel::Load(*gguf, config, rows, threads, limits).value();
  } else {
    model = HeadModel::Load(*gguf, config, target, threads, limits, kv, kv_blocks).value();
  }
}

std::unique_ptr<TreeDrafter> LoadedHead::Drafts(BlockPool& pool, int context,
                                                const TreeDrafterOptions& options,
                                                std::vector<TokenId> end_tokens) const {
  const int vocab = config.target.vocabulary.size;
  if (medusa != nullptr) {
    return std::make_unique<MedusaDrafter>(*medusa, pool, vocab, context, std::move(end_tokens),
                                           options);
  }
  return std::make_unique<HeadDrafter>(*model, pool, vocab, context, std::move(end_tokens),
                                       options);
}

TokenId Successor(TokenId token) { return (token * 5 + 3) % kVocab; }

std::vector<std::byte> SuccessorModel() {
  constexpr int64_t kFfn = 32, kHeadDim = 16;
  GgufWriter writer;
  writer.Set("general.architecture", std::string("llama"));
  writer.Set("llama.block_count", uint64_t{1});
  writer.Set("llama.embedding_length", uint64_t{kVocab});
  writer.Set("llama.feed_forward_length", static_cast<uint64_t>(kFfn));
  writer.Set("llama.attention.head_count", uint64_t{4});
  writer.Set("llama.attention.head_count_kv", uint64_t{2});
  writer.Set("llama.context_length", uint64_t{2048});
  writer.Set("llama.attention.layer_norm_rms_epsilon", static_cast<double>(kEps));
  const auto add = [&](const std::string& name, std::vector<int64_t> shape,
                       const std::vector<float>& values) {
    writer.AddTensor(name, TensorType::kF32, std::move(shape), Encode(values, TensorType::kF32));
  };
  const auto constant = [](int64_t count, float value) { return std::vector<float>(count, value); };
  const auto itself = [](TokenId token) { return token; };
  add("token_embd.weight", {kVocab, kVocab}, Mapping(kVocab, kVocab, 1, itself));
  add("blk.0.attn_norm.weight", {kVocab}, constant(kVocab, 1));
  add("blk.0.attn_q.weight", {kVocab, 4 * kHeadDim}, constant(kVocab * 4 * kHeadDim, 0.1f));
  add("blk.0.attn_k.weight", {kVocab, 2 * kHeadDim}, constant(kVocab * 2 * kHeadDim, 0.1f));
  add("blk.0.attn_v.weight", {kVocab, 2 * kHeadDim}, constant(kVocab * 2 * kHeadDim, 0.1f));
  add("blk.0.attn_output.weight", {4 * kHeadDim, kVocab}, constant(kVocab * 4 * kHeadDim, 0));
  add("blk.0.ffn_norm.weight", {kVocab}, constant(kVocab, 1));
  add("blk.0.ffn_gate.weight", {kVocab, kFfn}, constant(kVocab * kFfn, 0.1f));
  add("blk.0.ffn_up.weight", {kVocab, kFfn}, constant(kVocab * kFfn, 0.1f));
  add("blk.0.ffn_down.weight", {kFfn, kVocab}, constant(kVocab * kFfn, 0));
  add("output_norm.weight", {kVocab}, constant(kVocab, 1));
  add("output.weight", {kVocab, kVocab}, SuccessorOutput());
  return writer.Serialize();
}

namespace {

// Values of a tensor that does not matter, or is a vector of a norm.
std::vector<float> Constant(const HeadTensor& tensor) {
  const auto is = [&](std::string_view name) { return tensor.name == name; };
  if (tensor.rows == 0)
    return std::vector<float>(tensor.columns, is(head_tensors::kFcBias) ? 0 : 1);
  const float value = is(head_tensors::kAttnOutput) ? 0.0f : 0.1f;
  return std::vector<float>(tensor.rows * tensor.columns, value);
}

// Head i scores the token i + 2 after the one whose embedding it reads, which its block leaves
// alone.
std::vector<std::byte> SuccessorMedusa(const HeadConfig& config,
                                       const std::function<TokenId(TokenId)>& next) {
  return HeadBytes(config, [&](const HeadTensor& tensor) -> std::vector<float> {
    for (int head = 0; head < config.medusa_heads; ++head) {
      if (tensor.name != head_tensors::MedusaOutput(head)) continue;
      const auto ahead = [&](TokenId token) {
        TokenId after = next(token);
        for (int step = 0; step < head; ++step) after = Successor(after);
        return after;
      };
      return Sum(
          Mapping(kVocab, kVocab, kSure, [&](TokenId token) { return Successor(ahead(token)); }),
          Mapping(kVocab, kVocab, kPerhaps,
                  [&](TokenId token) { return (Successor(ahead(token)) + 1) % kVocab; }));
    }
    return std::vector<float>(std::max<int64_t>(tensor.rows, 1) * tensor.columns);
  });
}

}  // namespace

// The feature of a position is its token's embedding, of a length: 1, or of eagle, which reads the
// normed one, n. The feed-forward block turns it into the next token's: it adds that one and takes
// the old one away, each scaled by what silu(n) n gives of a normed unit vector. Attention adds
// nothing.
std::vector<std::byte> SuccessorHead(const ModelConfig& target,
                                     const std::function<bool(TokenId)>& wrong, HeadKind kind) {
  HeadConfig config = SmallHead(target, kVocab, kind);
  if (kind == HeadKind::kEagle3) config.taps = {0, target.layers};
  config.ffn = kVocab;
  const bool eagle3 = kind == HeadKind::kEagle3;
  const auto next = [&](TokenId token) {
    return wrong(token) ? Successor(Successor(token)) : Successor(token);
  };
  if (kind == HeadKind::kMedusa) return SuccessorMedusa(config, next);
  const auto itself = [](TokenId token) { return token; };
  // Of eagle3 the first tap, of eagle what comes after the embedding.
  const auto feature = [&](TokenId column) {
    const TokenId token = eagle3 ? column : column - kVocab;
    return token < kVocab ? token : -1;
  };
  const float n = 1 / std::sqrt(1.0f / kVocab + kEps);
  const float step = (eagle3 ? 1 : n) / (n / (1 + std::exp(-n)) * n);
  return HeadBytes(config, [&](const HeadTensor& tensor) -> std::vector<float> {
    const auto is = [&](std::string_view name) { return tensor.name == name; };
    if (is(head_tensors::kFc)) return Mapping(tensor.rows, tensor.columns, 1, feature);
    if (is(head_tensors::kFfnGate) || is(head_tensors::kFfnUp)) {
      return Mapping(kVocab, kVocab, 1, itself);
    }
    if (is(head_tensors::kFfnDown)) {
      return Sum(Mapping(kVocab, kVocab, step, next), Mapping(kVocab, kVocab, -step, itself));
    }
    return is(head_tensors::kOutput) ? SuccessorOutput() : Constant(tensor);
  });
}

}  // namespace hunch
