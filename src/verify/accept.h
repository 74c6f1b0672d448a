// Acceptance rule `coupled`: walk the tree along the target's own choices. Pure; it sees a tree and
// logits rows and no model, cache or drafter. The argument is docs/lossless.md.
#ifndef HUNCH_VERIFY_ACCEPT_H_
#define HUNCH_VERIFY_ACCEPT_H_

#include <functional>
#include <span>
#include <vector>

#include "sampling/sampler.h"
#include "seq/types.h"

namespace hunch {

// Row r of one verify pass: row 0 follows the committed tokens, row i + 1 follows tree node i.
// [size + 1][vocab]
struct LogitsRows {
  const float* data;
  int64_t stride;
  int vocab;
  const float* maxima = nullptr;  // [size + 1][maxima_stride], as Sampler::Row has them
  int64_t maxima_stride = 0;
  Sampler::Row row(int r) const {
    return {std::span(data + r * stride, static_cast<size_t>(vocab)),
            maxima == nullptr ? nullptr : maxima + r * maxima_stride};
  }
};

struct Verdict {
  std::vector<TokenChoice> tokens;  // the accepted, then the target's own: path.size() + 1
  std::vector<int32_t> path;        // accepted nodes, from the root down
  std::vector<TokenId> prefix;      // scratch: committed and the path

  // Empty, with room for all of the tree: a step that accepts more than those before it allocates
  // nothing.
  void Reset(const DraftTree& tree) {
    tokens.clear();
    tokens.reserve(tree.tokens.size() + 1);
    path.clear();
    path.reserve(tree.tokens.size());
  }
};

// `committed` is the prefix before the step (prompt and output). Only rows on the walked path are
// evaluated. Of siblings that carry the same token the first is taken. `verdict` is overwritten;
// its memory is used again.
void AcceptCoupled(const DraftTree& tree, const LogitsRows& rows,
                   std::span<const TokenId> committed, Sampler& sampler, Verdict& verdict);

}  // namespace hunch

#endif  // HUNCH_VERIFY_ACCEPT_H_
