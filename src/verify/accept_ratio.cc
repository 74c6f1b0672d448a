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

// In eight partial sums: fast, and the same bits everywhere.
template <typename Float>
double Sum(std::span<const Float> x) {
  double lanes[8] = {};
  size_t i = 0;
  for (; i + 8 <= x.size(); i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) lanes[lane] += static_cast<double>(x[i + lane]);
  }
  for (; i < x.size(); ++i) lanes[0] += static_cast<double>(x[i]);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// out = max(0, a p - b q), q being as long as p or shorter.
template <typename Float>
void Difference(double a, std::span<const Float> p, double b, std::span<const float> q,
                std::vector<double>& out) {
  out.resize(p.size());
  for (size_t i = 0; i < q.size(); ++i) {
    out[i] = std::max(0.0, a * static_cast<double>(p[i]) - b * static_cast<double>(q[i]));
  }
  for (size_t i = q.size(); i < p.size(); ++i) out[i] = a * static_cast<double>(p[i]);
}

// Draws by weight: the first token whose weights up to it exceed `left`.
template <typename Float>
TokenId TokenAt(double left, std::span<const Float> weights) {
  constexpr size_t kPiece = 1024;
  size_t last = 0;
  for (size_t begin = 0; begin < weights.size(); begin += kPiece) {
    const size_t end = std::min(begin + kPiece, weights.size());
    const double piece = Sum(weights.subspan(begin, end - begin));
    const bool here = left < piece;
    for (size_t i = begin; i < end && (here || end == weights.size()); ++i) {
      if (!(weights[i] > 0)) continue;
      last = i;
      if ((left -= static_cast<double>(weights[i])) < 0) return static_cast<TokenId>(i);
    }
    if (here) break;  // but for rounding it was in this piece
    left -= piece;
  }
  return static_cast<TokenId>(last);
}

}  // namespace

// The prefix of the row after `path` accepted nodes. It is copied only once a node is accepted.
std::span<const TokenId> RatioAcceptor::Prefix(const Step& step, size_t path) {
  if (path == 0) return step.committed;
  return std::span(step.verdict.prefix).first(step.committed.size() + path);
}

// law_ = the target's law after `node` (-1: after the committed tokens), to which verdict.prefix
// leads.
void RatioAcceptor::LoadTarget(const Step& step, int32_t node) {
  size_t depth = 0;
  for (int32_t at = node; at >= 0; at = step.tree.parents[at]) ++depth;
  step.sampler.Law(Prefix(step, depth), step.rows.row(node + 1), law_);
  total_ = Sum(std::span<const float>(law_));
  rejected_ = false;
}

double RatioAcceptor::TargetProbability(TokenId token) const {
  return (rejected_ ? rest_[token] : static_cast<double>(law_[token])) / total_;
}

// guess_ = what the token of `node` was drawn from, given its earlier siblings. False when it
// cannot have been.
bool RatioAcceptor::LoadGuess(const Step& step, int32_t node) {
  const DraftTree& tree = step.tree;
  const int64_t vocab = static_cast<int64_t>(law_.size());
  guess_.token = tree.tokens[node];
  guess_.law = {};
  guess_.total = 1;
  guess_.taken.clear();
  if (guess_.token < 0 || guess_.token >= vocab) return false;
  if (tree.laws[node] == DraftTree::kCertain) return true;
  const int64_t width = tree.law_width;
  const int64_t first = int64_t{tree.laws[node]} * width;
  if (first < 0 || width <= 0 || first + width > static_cast<int64_t>(tree.law_rows.size())) {
    return false;
  }
  guess_.law = std::span(tree.law_rows).subspan(first, std::min(width, vocab));
  const TokenId known = static_cast<TokenId>(guess_.law.size());
  if (guess_.token >= known) return false;
  const int32_t parent = tree.parents[node];
  for (int32_t sibling = parent + 1; sibling < node; ++sibling) {
    const TokenId taken = tree.tokens[sibling];
    if (tree.parents[sibling] != parent || taken < 0 || taken >= known) continue;
    if (taken == guess_.token) return false;
    guess_.taken.push_back(taken);
  }
  std::sort(guess_.taken.begin(), guess_.taken.end());
  // Piece by piece between the taken ones: what is left may be far smaller than they are.
  guess_.total = 0;
  TokenId begin = 0;
  for (const TokenId taken : guess_.taken) {
    if (taken > begin) guess_.total += Sum(guess_.law.subspan(begin, taken - begin));
    begin = std::max(begin, taken + 1);
  }
  guess_.total += Sum(guess_.law.subspan(begin));
  return guess_.law[guess_.token] > 0 && std::isfinite(guess_.total);
}

// residual_ = max(0, scale p - q), and its sum.
double RatioAcceptor::Residual(double scale) {
  const double a = scale / total_, b = 1 / guess_.total;
  if (rejected_) {
    Difference(a, std::span<const double>(rest_), b, guess_.law, residual_);
  } else {
    Difference(a, std::span<const float>(law_), b, guess_.law, residual_);
  }
  if (guess_.law.empty()) {
    double& left = residual_[guess_.token];
    left = std::max(0.0, left - 1);
  }
  for (const TokenId taken : guess_.taken) residual_[taken] = scale * TargetProbability(taken);
  return Sum(std::span<const double>(residual_));
}

// The target's weights become the residual. Where rounding leaves nothing, they stay.
void RatioAcceptor::TakeResidual(double scale) {
  const double left = Residual(scale);
  if (!(left > 0)) return;
  std::swap(rest_, residual_);
  total_ = left;
  rejected_ = true;
}

// -1: the target has no token here.
TokenId RatioAcceptor::DrawToken(const Step& step) const {
  if (!(total_ > 0)) return -1;
  const double left = step.noise.Uniform() * total_;
  return rejected_ ? TokenAt(left, std::span<const double>(rest_))
                   : TokenAt(left, std::span<const float>(law_));
}

// Tries the children of `parent` in their order. The accepted one, or -1; then the target's weights
// are the residual.
int32_t RatioAcceptor::AcceptChild(const Step& step, int32_t parent) {
  const DraftTree& tree = step.tree;
  for (int32_t node = parent + 1; node < tree.size(); ++node) {
    if (tree.parents[node] != parent || !LoadGuess(step, node)) continue;
    // Exactly 1 where both are the same law.
    const double ratio = TargetProbability(guess_.token) / guess_.probability();
    if (step.noise.Uniform() < ratio) return node;
    TakeResidual(1);
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
    verdict.tokens.push_back(
        step.sampler.Describe(Prefix(step, verdict.path.size()), token, step.rows.row(node + 1)));
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
    // Where the target has no token, no guess can be one.
    if (node < guesses && (!(total_ > 0) || !LoadGuess(step, node))) guesses = node;
    const double reach = reach_.back();
    if (node == guesses) {
      accept_.push_back(reach);
      break;
    }
    const double ratio = TargetProbability(guess_.token) / guess_.probability();
    const double left = Residual(reach);
    accept_.push_back(reach < 1 || left > 0 ? left / (left + 1 - reach) : 1.0);
    reach_.push_back(std::min(1.0, reach * ratio));
    if (reach_.back() == 0) break;
    verdict.prefix.push_back(tree.tokens[node]);
  }
  int32_t accepted = 0;
  for (int32_t i = static_cast<int32_t>(accept_.size()) - 1; i > 0; --i) {
    if (step.noise.Uniform() >= accept_[i]) continue;
    accepted = i;
    break;
  }
  for (int32_t node = 0; node < accepted; ++node) {
    verdict.tokens.push_back(step.sampler.Describe(Prefix(step, static_cast<size_t>(node)),
                                                   tree.tokens[node], step.rows.row(node)));
    verdict.path.push_back(node);
  }
  verdict.prefix.resize(step.committed.size() + accepted);
  LoadTarget(step, accepted - 1);
  if (accepted < guesses && LoadGuess(step, accepted)) TakeResidual(reach_[accepted]);
  verdict.tokens.push_back(
      step.sampler.Describe(verdict.prefix, DrawToken(step), step.rows.row(accepted)));
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
