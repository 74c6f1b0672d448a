#include "support/fake_drafters.h"

#include <algorithm>

#include "base/check.h"

namespace hunch {
namespace {

constexpr float kBelief = 0.5f;

// The token at `position` of `whole`, or some token beyond its end.
TokenId TruthAt(const std::vector<TokenId>& whole, size_t position) {
  return position < whole.size() ? whole[position] : 0;
}

}  // namespace

DraftTree ChainOf(std::span<const TokenId> tokens) {
  DraftTree tree;
  for (const TokenId token : tokens) tree.Add(token, tree.size() - 1, kBelief);
  return tree;
}

Status ScriptedDrafter::Start(std::span<const TokenId>, const SamplingParams&) {
  ++starts;
  if (fail_start_) return Error{ErrorCode::kInternal, "scripted start failure"};
  return Ok{};
}

Status ScriptedDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                                DraftTree& tree) {
  tree = script_(committed, limits);
  if (fail_from_ && proposals >= *fail_from_) {
    return Error{ErrorCode::kInternal, "scripted failure"};
  }
  ++proposals;
  return Ok{};
}

void ScriptedDrafter::Observe(const Observation& step) {
  HUNCH_CHECK_LE(step.path.size(), step.tree.tokens.size());
  ++observations;
}

ScriptedDrafter::Script TrueContinuation(std::vector<TokenId> whole, int vocab,
                                         std::function<bool(size_t)> wrong) {
  return [=](std::span<const TokenId> committed, const ProposeLimits& limits) {
    DraftTree tree;
    const size_t depth = static_cast<size_t>(std::min(limits.max_nodes, limits.max_depth));
    for (size_t at = committed.size(); at < std::min(whole.size(), committed.size() + depth);
         ++at) {
      const TokenId token = wrong && wrong(at) ? (whole[at] + 1) % vocab : whole[at];
      tree.Add(token, tree.size() - 1, kBelief);
    }
    return tree;
  };
}

Status RandomDrafter::Propose(std::span<const TokenId>, const ProposeLimits& limits,
                              DraftTree& tree) {
  tree.clear();
  const int nodes = static_cast<int>(random_() % static_cast<uint32_t>(limits.max_nodes + 1));
  for (int node = 0; node < nodes; ++node) {
    // Half of the nodes are roots: that is where a random token is most likely to be tried.
    const int parent =
        random_() % 2 == 0 ? -1 : static_cast<int>(random_() % static_cast<uint32_t>(node + 1)) - 1;
    tree.Add(static_cast<TokenId>(random_() % static_cast<uint32_t>(vocab_)), parent, kBelief);
  }
  return Ok{};
}

ScriptedDrafter::Script Adversary(std::vector<TokenId> whole, int vocab,
                                  std::vector<TokenId> end_tokens) {
  // Mutable state: which trick is next.
  return [=, trick = 0](std::span<const TokenId> committed, const ProposeLimits& limits) mutable {
    DraftTree tree;
    const size_t position = committed.size();
    const auto truth = [&](int depth) {
      return TruthAt(whole, position + static_cast<size_t>(depth));
    };
    switch (trick++ % 6) {
      case 0:  // right, wrong, right
        for (int i = 0; i < limits.max_nodes; ++i) {
          tree.Add(i % 2 == 0 ? truth(i) : (truth(i) + 1) % vocab, i - 1, kBelief);
        }
        break;
      case 1:  // end tokens: alone, and behind a right token
        for (const TokenId end : end_tokens) tree.Add(end, -1, kBelief);
        if (const int32_t right = tree.Add(truth(0), -1, kBelief); !end_tokens.empty()) {
          tree.Add(end_tokens[0], right, kBelief);
        }
        break;
      case 2: {  // at every depth two wrong siblings around the right one
        int32_t parent = -1;
        for (int depth = 0; tree.size() + 3 <= limits.max_nodes; ++depth) {
          tree.Add((truth(depth) + 1) % vocab, parent, kBelief);
          const int32_t right = tree.Add(truth(depth), parent, kBelief);
          tree.Add((truth(depth) + 2) % vocab, parent, kBelief);
          parent = right;
        }
        break;
      }
      case 3:  // more nodes than allowed, deeper than allowed, the same siblings twice
        for (int i = 0; i < 3 * limits.max_nodes + limits.max_depth % 100; ++i) {
          tree.Add(truth(i / 2), i < 2 ? -1 : i - 2 + i % 2, kBelief);
        }
        break;
      case 4:  // tokens that are not, parents that are not, arrays that do not fit
        tree.Add(vocab, -1, kBelief);
        tree.Add(truth(1), 0, kBelief);
        tree.Add(-7, -1, kBelief);
        tree.Add(truth(0), -1, kBelief);
        tree.Add(truth(1), 5, kBelief);
        tree.Add(truth(1), -9, kBelief);
        tree.parents.push_back(3);
        break;
      default:  // nothing
        break;
    }
    return tree;
  };
}

Status SelfDrafter::Start(std::span<const TokenId> prompt, const SamplingParams& params) {
  sampler_ = std::make_unique<Sampler>(params, target_.vocab(), prompt.size(), end_tokens_);
  return Ok{};
}

Status SelfDrafter::Propose(std::span<const TokenId> committed, const ProposeLimits& limits,
                            DraftTree& tree) {
  tree.clear();
  std::vector<TokenId> prefix(committed.begin(), committed.end());
  std::vector<float> row(static_cast<size_t>(target_.vocab()));
  std::vector<Candidate> candidates;
  int32_t parent = -1;
  for (int depth = 0; depth < limits.max_depth && tree.size() < limits.max_nodes; ++depth) {
    target_.Row(prefix, row);
    sampler_->TopPerturbed(prefix, row, siblings_, candidates);
    const int32_t best = tree.size();
    for (const Candidate& candidate : candidates) {
      if (tree.size() < limits.max_nodes) tree.Add(candidate.token, parent, candidate.probability);
    }
    parent = best;
    prefix.push_back(tree.tokens[best]);
    if (std::find(end_tokens_.begin(), end_tokens_.end(), prefix.back()) != end_tokens_.end())
      break;
  }
  return Ok{};
}

}  // namespace hunch
