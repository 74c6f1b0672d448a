#include "model/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/shrink.h"
#include "quant/quant.h"

namespace hunch {
namespace {

bool IsMatrix(const GgufTensor& tensor) { return tensor.shape.size() > 1; }

bool IsTied(const GgufFile& file) { return file.FindTensor("output.weight") == nullptr; }
std::string OutputName(const GgufFile& file) {
  return IsTied(file) ? "token_embd.weight" : "output.weight";
}

// A matrix in ModelWeights::memory: from a cache line on.
size_t MemoryOf(const GgufTensor& tensor, const MatrixForm& form) {
  return (PackedMatrix::PackedBytes(form.type, form.rows(tensor), tensor.columns()) + 63) / 64 * 64;
}

// Takes tensors by name and remembers which were taken. Without a pool it only checks them: what it
// gives is empty, and no data is read. `memory` is where the next matrix goes.
class Loader {
 public:
  Loader(const GgufFile& file, const LoadOptions& options, ThreadPool* pool, std::byte* memory)
      : file_(file), options_(options), output_(OutputName(file)), pool_(pool), memory_(memory) {}

  Result<std::vector<float>> Vector(const std::string& name, int64_t size) {
    HUNCH_ASSIGN_OR_RETURN(const GgufTensor* tensor, Take(name, size, 1));
    if (pool_ == nullptr) return std::vector<float>{};
    std::vector<float> values(size);
    Dequantize(tensor->type, tensor->data, values);
    return values;
  }
  // Empty where there is none and none is needed.
  Result<std::vector<float>> Bias(const std::string& name, int64_t size, bool needed) {
    if (!needed && file_.FindTensor(name) == nullptr) return std::vector<float>{};
    return Vector(name, size);
  }
  Result<PackedMatrix> Matrix(const std::string& name, int64_t rows, int64_t columns) {
    HUNCH_ASSIGN_OR_RETURN(const GgufTensor* tensor, Take(name, columns, rows));
    // A single row may be written without its second dimension; MatrixBytes would not count it.
    if (!IsMatrix(*tensor)) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: tensor {} has one dimension, expected {} x {}", file_.name(),
                               name, columns, rows)};
    }
    if (pool_ == nullptr) return PackedMatrix();
    const MatrixForm form = FormOf(*tensor, name == output_, options_);
    auto packed = Pack(*tensor, form);
    if (!packed.ok()) {
      return Error{packed.error().code,
                   fmt::format("{}: tensor {}: {}", file_.name(), name, packed.error().message)};
    }
    memory_ += MemoryOf(*tensor, form);
    return packed;
  }
  void Skip(const std::string& name) { taken_.insert(name); }

  Status CheckAllTaken() const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (taken_.contains(tensor.name)) continue;
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: tensor {} is not part of this architecture as Hunch knows it; "
                               "leaving it out would change the text",
                               file_.name(), tensor.name)};
    }
    return Ok{};
  }

 private:
  Result<PackedMatrix> Pack(const GgufTensor& tensor, const MatrixForm& form) {
    if (!form.changes(tensor)) {
      return PackedMatrix::Pack(tensor.type, tensor.rows(), tensor.columns(), tensor.data, *pool_,
                                memory_, [this] { file_.DropPages(); });
    }
    HUNCH_ASSIGN_OR_RETURN(const AlignedBuffer shrunk, Shrink(tensor, form, *pool_));
    file_.DropPages();
    return PackedMatrix::Pack(form.type, form.rows(tensor), tensor.columns(),
                              {shrunk.data(), shrunk.size()}, *pool_, memory_);
  }

  Result<const GgufTensor*> Take(const std::string& name, int64_t columns, int64_t rows) {
    const GgufTensor* tensor = file_.FindTensor(name);
    if (tensor == nullptr) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: tensor {} is missing", file_.name(), name)};
    }
    if (tensor->columns() != columns || tensor->rows() != rows || tensor->shape.size() > 2) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: tensor {} is {}, expected {} x {}", file_.name(), name,
                               fmt::join(tensor->shape, " x "), columns, rows)};
    }
    taken_.insert(name);
    return tensor;
  }

  const GgufFile& file_;
  const LoadOptions& options_;
  const std::string output_;
  ThreadPool* pool_;
  std::byte* memory_;
  std::set<std::string> taken_;
};

// fn(tensor, form) for every matrix that is packed.
template <typename Fn>
void EachMatrix(const GgufFile& file, const LoadOptions& options, Fn&& fn) {
  const std::string output = OutputName(file);
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.name == "token_embd.weight" && !IsTied(file)) continue;  // stays in the file
    if (IsMatrix(tensor)) fn(tensor, FormOf(tensor, tensor.name == output, options));
  }
}

// What the packed matrices take together.
uint64_t MatrixBytes(const GgufFile& file, const LoadOptions& options) {
  uint64_t bytes = 0;
  EachMatrix(file, options, [&](const GgufTensor& tensor, const MatrixForm& form) {
    bytes += MemoryOf(tensor, form);
  });
  return bytes;
}

Result<LayerWeights> LoadLayer(Loader& loader, const ModelConfig& c, int index) {
  const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", index, part); };
  LayerWeights layer;
  HUNCH_ASSIGN_OR_RETURN(layer.attn_norm, loader.Vector(name("attn_norm.weight"), c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.ffn_norm, loader.Vector(name("ffn_norm.weight"), c.hidden));
  if (c.architecture == "qwen3") {
    HUNCH_ASSIGN_OR_RETURN(layer.q_norm, loader.Vector(name("attn_q_norm.weight"), c.head_dim));
    HUNCH_ASSIGN_OR_RETURN(layer.k_norm, loader.Vector(name("attn_k_norm.weight"), c.head_dim));
  }
  const bool biased = c.architecture == "qwen2";  // of a llama some have them, most do not
  HUNCH_ASSIGN_OR_RETURN(layer.q_bias, loader.Bias(name("attn_q.bias"), c.q_size(), biased));
  HUNCH_ASSIGN_OR_RETURN(layer.k_bias, loader.Bias(name("attn_k.bias"), c.kv_size(), biased));
  HUNCH_ASSIGN_OR_RETURN(layer.v_bias, loader.Bias(name("attn_v.bias"), c.kv_size(), biased));
  HUNCH_ASSIGN_OR_RETURN(layer.q, loader.Matrix(name("attn_q.weight"), c.q_size(), c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.k, loader.Matrix(name("attn_k.weight"), c.kv_size(), c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.v, loader.Matrix(name("attn_v.weight"), c.kv_size(), c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.o, loader.Matrix(name("attn_output.weight"), c.hidden, c.q_size()));
  HUNCH_ASSIGN_OR_RETURN(layer.gate, loader.Matrix(name("ffn_gate.weight"), c.ffn, c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.up, loader.Matrix(name("ffn_up.weight"), c.ffn, c.hidden));
  HUNCH_ASSIGN_OR_RETURN(layer.down, loader.Matrix(name("ffn_down.weight"), c.hidden, c.ffn));
  return layer;
}

Result<ModelWeights> ReadAll(Loader& loader, const GgufFile& file, const ModelConfig& config,
                             const LoadOptions& options) {
  ModelWeights weights;
  weights.layers.reserve(config.layers);
  for (int index = 0; index < config.layers; ++index) {
    HUNCH_ASSIGN_OR_RETURN(LayerWeights layer, LoadLayer(loader, config, index));
    weights.layers.push_back(std::move(layer));
  }
  HUNCH_ASSIGN_OR_RETURN(weights.output_norm, loader.Vector("output_norm.weight", config.hidden));
  const std::string output = OutputName(file);
  HUNCH_ASSIGN_OR_RETURN(weights.output, loader.Matrix(output, config.vocab, config.hidden));
  weights.tied = IsTied(file) &&
                 !FormOf(*file.FindTensor(output), true, options).changes(*file.FindTensor(output));
  if (!weights.tied) {
    weights.embedding = file.FindTensor("token_embd.weight");
    if (weights.embedding->columns() != config.hidden || weights.embedding->shape.size() > 2) {
      return Error{ErrorCode::kBadFile,
                   fmt::format("{}: token_embd.weight has rows of {}, expected {}", file.name(),
                               weights.embedding->columns(), config.hidden)};
    }
    loader.Skip("token_embd.weight");
  }
  loader.Skip("rope_freqs.weight");  // read with the configuration
  HUNCH_RETURN_IF_ERROR(loader.CheckAllTaken());
  return weights;
}

}  // namespace

void ModelWeights::Embed(int32_t token, float* out) const {
  if (tied) return output.UnpackRow(token, out);
  const int64_t columns = embedding->columns();
  const size_t row_bytes = BytesOf(embedding->type, columns);
  Dequantize(embedding->type, embedding->data.subspan(token * row_bytes, row_bytes),
             {out, static_cast<size_t>(columns)});
}

Status CheckWeights(const GgufFile& file, const ModelConfig& config) {
  const LoadOptions as_it_is;
  Loader loader(file, as_it_is, nullptr, nullptr);
  const auto weights = ReadAll(loader, file, config, as_it_is);
  if (!weights.ok()) return weights.error();
  return Ok{};
}

Status CheckLoadOptions(const LoadOptions& options, const ModelConfig& config) {
  TokenId before = -1;
  for (const TokenId token : options.kept_tokens) {
    if (token <= before || token >= config.vocab) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("kept tokens must be ascending ids from 0 to {}, each once: {} "
                               "follows {}",
                               config.vocab - 1, token, before)};
    }
    before = token;
  }
  return Ok{};
}

Result<ModelWeights> LoadWeights(const GgufFile& file, const ModelConfig& config, ThreadPool& pool,
                                 const LoadOptions& options) {
  // First, so that a damaged file is refused before its good part was repacked.
  HUNCH_RETURN_IF_ERROR(CheckWeights(file, config));
  HUNCH_RETURN_IF_ERROR(CheckLoadOptions(options, config));
  HUNCH_ASSIGN_OR_RETURN(AlignedBuffer memory, AlignedBuffer::Create(MatrixBytes(file, options)));
  Loader loader(file, options, &pool, memory.data());
  HUNCH_ASSIGN_OR_RETURN(ModelWeights weights, ReadAll(loader, file, config, options));
  weights.memory = std::move(memory);
  return weights;
}

uint64_t WeightBytes(const GgufFile& file, const LoadOptions& options) {
  uint64_t bytes = MatrixBytes(file, options);
  for (const GgufTensor& tensor : file.tensors()) {
    if (!IsMatrix(tensor)) bytes += tensor.elements() * sizeof(float);
  }
  return bytes;
}

uint64_t LoadScratchBytes(const GgufFile& file, const LoadOptions& options) {
  uint64_t most = 0;
  EachMatrix(file, options, [&](const GgufTensor& tensor, const MatrixForm& form) {
    if (form.changes(tensor)) most = std::max(most, ShrunkBytes(tensor, form));
  });
  return most;
}

}  // namespace hunch
