// From a published head to a head file (docs/formats.md).
#ifndef HUNCH_CONVERT_CONVERT_HEAD_H_
#define HUNCH_CONVERT_CONVERT_HEAD_H_

#include <functional>
#include <string_view>

#include "base/result.h"
#include "convert/published_head.h"
#include "quant/types.h"
#include "weights/gguf.h"

namespace hunch {

// Writes the target's embedding of a token, [hidden] numbers.
using EmbeddingOf = std::function<void(TokenId token, float* out)>;

// Published heads bring the embeddings that they were trained on, which are the target's; the head
// file has none. kInvalidArgument unless those of this target are about the same: whatever it was
// quantised to, they point the same way.
Status CheckEmbedding(const PublishedHead& head, std::string_view name, const EmbeddingOf& target);

// Matrices become `type` (q8_0, q4_0, f16 or f32), or f16 where its blocks do not divide their
// columns. kBadFile: a number is not finite.
Result<GgufWriter> ConvertHead(const PublishedHead& head, std::string_view name, TensorType type);

}  // namespace hunch

#endif  // HUNCH_CONVERT_CONVERT_HEAD_H_
