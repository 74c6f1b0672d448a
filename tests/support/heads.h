// Heads made for tests: random ones, and one that knows what its target will say.
#ifndef HUNCH_TESTS_SUPPORT_HEADS_H_
#define HUNCH_TESTS_SUPPORT_HEADS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "draft/head_drafter.h"
#include "draft/head_file.h"
#include "draft/head_model.h"
#include "draft/medusa_drafter.h"

namespace hunch {

// A head for a target of this shape: of eagle3 three taps, of both eagles 4 heads over 2 of keys
// and values, of medusa three heads.
HeadConfig SmallHead(const ModelConfig& target, int vocab_size, HeadKind kind = HeadKind::kEagle3);

// Which numbers a tensor holds, by name: row-major, columns first.
using TensorValues = std::function<std::vector<float>(const HeadTensor& tensor)>;
// A file of such a head; matrices of `type` (F32, F16 or Q4_0), vectors F32.
std::vector<std::byte> HeadBytes(const HeadConfig& config, const TensorValues& values,
                                 TensorType type = TensorType::kF32);
TensorValues RandomValues(uint32_t seed);

// Loaded, with everything that it needs. CHECKs that it is a head for the target.
struct LoadedHead {
  LoadedHead(std::vector<std::byte> file, const Model& target, ThreadPool& threads,
             const ForwardLimits& limits, int kv_blocks, KvType kv = KvType::kF16);

  // A drafter that guesses with it, over all of its tokens.
  std::unique_ptr<TreeDrafter> Drafts(BlockPool& pool, int context,
                                      const TreeDrafterOptions& options,
                                      std::vector<TokenId> end_tokens = {}) const;

  std::vector<std::byte> bytes;
  std::unique_ptr<GgufFile> gguf;
  HeadConfig config;
  std::unique_ptr<HeadModel> model;     // null of a medusa head
  std::unique_ptr<MedusaModel> medusa;  // of a medusa head
};

// A target that knows a successor of each of its 64 tokens, and what else might come (the token
// after the successor). And a head for it that is as good, but for the tokens that `wrong` names:
// after those it is mistaken. Features alone tell it: which token was the last but one.
inline constexpr int kSuccessorVocab = 64;
TokenId Successor(TokenId token);
std::vector<std::byte> SuccessorModel();
std::vector<std::byte> SuccessorHead(const ModelConfig& target,
                                     const std::function<bool(TokenId)>& wrong,
                                     HeadKind kind = HeadKind::kEagle3);

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_HEADS_H_
