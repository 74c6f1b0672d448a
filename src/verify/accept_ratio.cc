#include "verify/accept_ratio.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace hunch {
namespace {

bool IsChain(const DraftTree& tree) {
  for (int32_t node = 0; node < tree.size(); ++node) {
    if (tree.parents[node] != node - 1) return false;
  }
  return true;
}

}  // namespace

void RatioAcceptor::Weights::Sum() {
  total = 0;
  for (const double weight : of) total += weight;
}

double RatioAcceptor::Subtract(double scale, const Weights& q, Weights& p) {
  const auto rest = [&](size_t i) {
    return std::max(0.0, scale * (p.of[i] / p.total) - q.of[i] / q.total);
  };
  double left = 0;
  for (size_t i = 0; i < p.of.size(); ++i) left += rest(i);
  if (!(left > 0)) return 0;
  for (size_t i = 0; i < p.of.size(); ++i) p.of[i] = rest(i);
  p.total = left;
  return left;
}

// The prefix of the row after `path` accepted nodes. It is copied only once a node is accepted.
std::span<const TokenId> RatioAcceptor::Prefix(const Step& step, size_t path) {
  if (path == 0) return step.committed;
  return std::span(step.verdict.prefix).first(step.committed.size() + path);
}

// target_ = the target's law after `node` (-1: after the committed tokens), to which
// verdict.prefix leads.
void RatioAcceptor::LoadTarget(const Step& step, int32_t node) {
  size_t depth = 0;
  for (int32_t at = node; at >= 0; at = step.tree.parents[at]) ++depth;
  step.sampler.Law(Prefix(step, depth), step.rows.row(node + 1), law_);
  target_.of.assign(law_.begin(), law_.end());
  target_.Sum();
}

// guess_ = what the token of `node` was drawn from, given its earlier siblings. False when it
// cannot have been.
bool RatioAcceptor::LoadGuess(const Step& step, int32_t node) {
  const DraftTree& tree = step.tree;
  const TokenId token = tree.tokens[node];
  const int64_t vocab = static_cast<int64_t>(target_.of.size());
  if (token < 0 || token >= vocab) return false;
  guess_.of.assign(target_.of.size(), 0.0);
  if (tree.laws[node] == DraftTree::kCertain) {
    guess_.of[token] = 1;
    guess_.total = 1;
    return true;
  }
  const int64_t width = tree.law_width;
  const int64_t first = int64_t{tree.laws[node]} * width;
  if (tree.laws[node] < 0 || width <= 0 ||
      first + width > static_cast<int64_t>(tree.law_rows.size())) {
    return false;
  }
  std::copy_n(tree.law_rows.begin() + first, std::min(width, vocab), guess_.of.begin());
  const int32_t parent = tree.parents[node];
  for (int32_t sibling = parent + 1; sibling < node; ++sibling) {
    const TokenId taken = tree.tokens[sibling];
    if (tree.parents[sibling] == parent && taken >= 0 && taken < vocab) guess_.of[taken] = 0;
  }
  guess_.Sum();
  return guess_.of[token] > 0 && std::isfinite(guess_.total);
}

TokenId RatioAcceptor::DrawToken(const Step& step) const {
  double left = step.noise.Uniform() * target_.total;
  TokenId last = 0;
  for (size_t i = 0; i < target_.of.size(); ++i) {
    if (!(target_.of[i] > 0)) continue;
    last = static_cast<TokenId>(i);
    left -= target_.of[i];
    if (left < 0) break;
  }
  return last;
}

// Tries the children of `parent` in their order. The accepted one, or -1; then target_ is the
// residual.
int32_t RatioAcceptor::AcceptChild(const Step& step, int32_t parent) {
  const DraftTree& tree = step.tree;
  for (int32_t node = parent + 1; node < tree.size(); ++node) {
    if (tree.parents[node] != parent || !LoadGuess(step, node)) continue;
    const TokenId token = tree.tokens[node];
    // At least 1 where both are the same law.
    const double ratio = target_.at(token) / guess_.at(token);
    if (step.noise.Uniform() < ratio) return node;
    Subtract(1, guess_, target_);
  }
  return -1;
}

void RatioAcceptor::AcceptTree(const Step& step) {
  Verdict& verdict = step.verdict;
  int32_t node = -1;
  while (true) {
    LoadTarget(step, node);
    const int32_t child = AcceptChild(step, node);
    const TokenId token = child < 0 ? DrawToken(step) : step.tree.tokens[child];
    verdict.tokens.push_back(step.sampler.Describe(token, step.rows.row(node + 1)));
    if (child < 0) return;
    if (verdict.path.empty()) verdict.prefix.assign(step.committed.begin(), step.committed.end());
    verdict.path.push_back(child);
    verdict.prefix.push_back(token);
    node = child;
  }
}

// reach_[i]: the probability that at least i guesses are accepted, given the first i of them:
// min(1, reach_[i - 1] p / q). It is had by accepting exactly i with probability accept_[i]
// whenever no more were.
void RatioAcceptor::AcceptChain(const Step& step) {
  const DraftTree& tree = step.tree;
  Verdict& verdict = step.verdict;
  verdict.prefix.assign(step.committed.begin(), step.committed.end());
  reach_.assign(1, 1.0);
  accept_.clear();
  int32_t guesses = tree.size();  // the first that cannot be one ends the chain
  for (int32_t node = 0;; ++node) {
    LoadTarget(step, node - 1);
    if (node < guesses && !LoadGuess(step, node)) guesses = node;
    const double reach = reach_.back();
    if (node == guesses) {
      accept_.push_back(reach);
      break;
    }
    const TokenId token = tree.tokens[node];
    const double ratio = target_.at(token) / guess_.at(token);
    const double left = Subtract(reach, guess_, target_);
    accept_.push_back(reach < 1 || left > 0 ? left / (left + 1 - reach) : 1.0);
    reach_.push_back(std::min(1.0, reach * ratio));
    if (reach_.back() == 0) break;
    verdict.prefix.push_back(token);
  }
  int32_t accepted = 0;
  for (int32_t i = static_cast<int32_t>(accept_.size()) - 1; i > 0; --i) {
    if (step.noise.Uniform() >= accept_[i]) continue;
    accepted = i;
    break;
  }
  for (int32_t node = 0; node < accepted; ++node) {
    verdict.tokens.push_back(step.sampler.Describe(tree.tokens[node], step.rows.row(node)));
    verdict.path.push_back(node);
  }
  verdict.prefix.resize(step.committed.size() + accepted);
  LoadTarget(step, accepted - 1);
  if (accepted < guesses && LoadGuess(step, accepted)) Subtract(reach_[accepted], guess_, target_);
  verdict.tokens.push_back(step.sampler.Describe(DrawToken(step), step.rows.row(accepted)));
}

void RatioAcceptor::Accept(AcceptanceRule rule, const DraftTree& tree, const LogitsRows& rows,
                           std::span<const TokenId> committed, Sampler& sampler, RatioNoise& noise,
                           Verdict& verdict) {
  HUNCH_CHECK(rule != AcceptanceRule::kCoupled);
  HUNCH_CHECK_EQ(tree.tokens.size(), tree.parents.size());
  HUNCH_CHECK_EQ(tree.tokens.size(), tree.laws.size());
  verdict.Reset(tree);
  const Step step = {tree, rows, committed, sampler, noise, verdict};
  if (rule == AcceptanceRule::kBlock && IsChain(tree)) {
    AcceptChain(step);
  } else {
    AcceptTree(step);
  }
}

}  // namespace hunch
