#include "draft/forced.h"

#include <algorithm>
#include <utility>

namespace hunch {
namespace {

constexpr float kBelief = 0.95f;  // that the target cuts the text into the same token

}  // namespace

Status ForcedDrafter::Start(std::span<const TokenId> prompt, const SamplingParams&) {
  if (constraint_ == nullptr) return Error{ErrorCode::kInternal, "it serves one sequence only"};
  cursor_.emplace(std::move(constraint_), vocab_size_, prompt.size());
  return Ok{};
}

Status ForcedDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                              DraftTree& tree) {
  tree.clear();
  if (!cursor_ || !cursor_->MoveTo(committed)) return Ok{};
  cursor_->Forced(tokens_);
  const size_t most =
      static_cast<size_t>(std::max(0, std::min(limits.max_nodes, limits.max_depth)));
  tokens_.resize(std::min(tokens_.size(), most));
  float path = 1;
  for (const TokenId token : tokens_) {
    path *= kBelief;
    if (path < limits.min_path_probability) break;
    tree.Add(token, tree.size() - 1, kBelief);
  }
  return Ok{};
}

}  // namespace hunch
