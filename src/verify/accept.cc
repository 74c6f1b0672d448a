#include "verify/accept.h"

#include "base/check.h"

namespace hunch {

void AcceptCoupled(const DraftTree& tree, const LogitsRows& rows,
                   std::span<const TokenId> committed, Sampler& sampler, Verdict& verdict) {
  HUNCH_CHECK_EQ(tree.tokens.size(), tree.parents.size());
  verdict.Reset(tree);
  int32_t node = -1;
  while (true) {
    // The prefix is copied only once a node is accepted.
    const std::span<const TokenId> before = verdict.path.empty() ? committed : verdict.prefix;
    verdict.tokens.push_back(sampler.Choose(before, rows.row(node + 1)));
    const TokenId token = verdict.tokens.back().token;
    node = tree.FindChild(node, token);
    if (node < 0) return;
    if (verdict.path.empty()) verdict.prefix.assign(committed.begin(), committed.end());
    verdict.path.push_back(node);
    verdict.prefix.push_back(token);
  }
}

}  // namespace hunch
