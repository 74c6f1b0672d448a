// The head file (docs/formats.md): a drafter's head that reads a target's hidden states, as GGUF.
// Here is what it is called and shaped, how its configuration is written and read, and which target
// it is for. A file is hostile input: what ReadHeadConfig gives has been checked against the
// tensors' headers; their data is not looked at. Immutable values; thread safe.
#ifndef HUNCH_DRAFT_HEAD_FILE_H_
#define HUNCH_DRAFT_HEAD_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "draft/table_file.h"
#include "quant/types.h"
#include "seq/types.h"
#include "weights/gguf.h"

namespace hunch {

enum class HeadKind {
  kEagle3,  // arXiv 2503.01840
  kEagle,   // arXiv 2401.15077
  kMedusa,  // arXiv 2401.10774
};
std::string_view HeadKindName(HeadKind kind);  // "eagle3", "eagle", "medusa"

// Bounds of a configuration that no real head comes near; they keep products inside 64 bits and a
// hostile file from asking for absurd memory.
inline constexpr int kMostHeadWidth = 1 << 20;  // hidden size, feed_forward
inline constexpr int kMostHeadHeads = 4096;
inline constexpr size_t kMostHeadTaps = 8;
inline constexpr int kMostMedusaHeads = 16;

// Keys of the metadata.
namespace head_keys {
inline constexpr std::string_view kArchitecture = "general.architecture";
inline constexpr std::string_view kArchitectureName = "hunch-head";  // its value
inline constexpr std::string_view kVersion = "head.version";
inline constexpr std::string_view kKind = "head.kind";
inline constexpr std::string_view kTargetArchitecture = "head.target.architecture";
inline constexpr std::string_view kVocabularyHash = "head.target.vocabulary_hash";
inline constexpr std::string_view kVocabularySize = "head.target.vocabulary_size";
inline constexpr std::string_view kHiddenSize = "head.target.hidden_size";
inline constexpr std::string_view kLayers = "head.target.layers";
inline constexpr std::string_view kTaps = "head.taps";
inline constexpr std::string_view kTokens = "head.tokens";
inline constexpr std::string_view kHeads = "head.heads";
inline constexpr std::string_view kKvHeads = "head.kv_heads";
inline constexpr std::string_view kHeadDim = "head.head_dim";
inline constexpr std::string_view kFeedForward = "head.feed_forward";
inline constexpr std::string_view kRopeTheta = "head.rope_theta";
inline constexpr std::string_view kNormEps = "head.norm_eps";
inline constexpr std::string_view kNormedResidual = "head.normed_residual";
inline constexpr std::string_view kMedusaHeads = "head.medusa.heads";
}  // namespace head_keys

// Names of tensors.
namespace head_tensors {
inline constexpr std::string_view kFc = "fc.weight";
inline constexpr std::string_view kFcBias = "fc.bias";
inline constexpr std::string_view kAttnNorm = "attn_norm.weight";
inline constexpr std::string_view kHiddenNorm = "hidden_norm.weight";
inline constexpr std::string_view kQ = "attn_q.weight";
inline constexpr std::string_view kK = "attn_k.weight";
inline constexpr std::string_view kV = "attn_v.weight";
inline constexpr std::string_view kAttnOutput = "attn_output.weight";
inline constexpr std::string_view kFfnNorm = "ffn_norm.weight";
inline constexpr std::string_view kFfnGate = "ffn_gate.weight";
inline constexpr std::string_view kFfnUp = "ffn_up.weight";
inline constexpr std::string_view kFfnDown = "ffn_down.weight";
inline constexpr std::string_view kOutputNorm = "output_norm.weight";
inline constexpr std::string_view kOutput = "output.weight";
// Of the medusa head `index`, from 0.
std::string MedusaFc(int index);
std::string MedusaFcBias(int index);
std::string MedusaOutput(int index);
}  // namespace head_tensors

// Whose hidden states a head reads, and whose token ids it guesses.
struct HeadTarget {
  std::string architecture;  // general.architecture of the target's file
  VocabularyId vocabulary;   // of its tokenizer
  int hidden = 0;
  int layers = 0;
};

struct HeadConfig {
  HeadKind kind = HeadKind::kEagle3;
  HeadTarget target;
  // Which copies of the residual stream it reads: after these layers, from 0, ascending, each once
  // (HiddenTap, model/model.h); target.layers: after the final norm. One only, but for eagle3.
  std::vector<int> taps;
  // The target's tokens that it can guess, ascending, each once: row i of its output matrix is
  // tokens[i]. Empty: all of the vocabulary, in order.
  std::vector<TokenId> tokens;
  // Of its one layer; not of medusa.
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;  // a multiple of 16, at most 256
  int ffn = 0;
  double rope_theta = 0;
  float norm_eps = 0;
  bool normed_residual = false;  // of eagle3: its layer adds to the normed feature
  // Of medusa.
  int medusa_heads = 0;

  int tap_size() const { return static_cast<int>(taps.size()) * target.hidden; }
  int q_size() const { return heads * head_dim; }
  int kv_size() const { return kv_heads * head_dim; }
  // Rows of its output matrix.
  int output_rows() const {
    return tokens.empty() ? target.vocabulary.size : static_cast<int>(tokens.size());
  }
};

// One tensor that a head of this configuration has.
struct HeadTensor {
  std::string name;
  int64_t columns;  // of a row; the contiguous dimension
  int64_t rows;     // 0: a vector
  bool optional = false;
  std::vector<int64_t> shape() const {  // in GGUF's order
    return rows == 0 ? std::vector<int64_t>{columns} : std::vector<int64_t>{columns, rows};
  }
};
// All of them, in the order in which a file should have them (that of use). Vectors are F32.
std::vector<HeadTensor> HeadTensors(const HeadConfig& config);

// Whether a file says that it is a head.
bool IsHead(const GgufFile& file);

// To write a head: this, then AddHeadTensor for each of HeadTensors(config), then WriteFile. CHECKs
// what ReadHeadConfig would refuse.
void SetHeadConfig(const HeadConfig& config, GgufWriter& writer);
// Matrices become `type` (kHeadTypes), or F16 where its blocks do not divide their columns.
void AddHeadTensor(const HeadTensor& tensor, std::span<const float> values, TensorType type,
                   GgufWriter& writer);

// Fails with kBadFile or kUnsupported, naming the file and what is wrong, unless every key is sound
// and every tensor there, of the right shape, and known.
Result<HeadConfig> ReadHeadConfig(const GgufFile& file);

// kInvalidArgument, naming both files and what differs, unless `config`, of the file `head_name`,
// is for `target`, of the file `target_name`.
Status CheckHeadTarget(const HeadConfig& config, std::string_view head_name,
                       const HeadTarget& target, std::string_view target_name);

}  // namespace hunch

#endif  // HUNCH_DRAFT_HEAD_FILE_H_
