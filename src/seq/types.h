// The nouns that travel between the parts. No behaviour beyond what keeps them whole.
#ifndef HUNCH_SEQ_TYPES_H_
#define HUNCH_SEQ_TYPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hunch {

using TokenId = int32_t;

enum class FinishReason {
  kNone,
  kStop,
  kLength,
  kCancelled,
  kStuck,  // no token could follow that the request's constraint allows
};
inline constexpr size_t kFinishReasons = 5;

inline std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kStuck:
      return "error";  // vLLM's word
  }
  return "";
}

// A guess at what follows the committed tokens: a forest whose roots follow the last of them.
// It lives for one step.
//
// Invariants: the first five arrays have equal length; parents[i] < i, or -1 for a root; siblings
// carry different tokens. A chain is parents = {-1, 0, 1, ...}.
struct DraftTree {
  std::vector<TokenId> tokens;
  std::vector<int32_t> parents;
  std::vector<float> probabilities;  // the drafter's own belief in each node given its parent
  std::vector<uint8_t> sources;      // which of the request's drafters guessed it
  // What the token was drawn from, for the rule `ratio`: a row of law_rows, or kCertain where no
  // chance was in it. Siblings with one law were drawn from it in their order, without replacement.
  std::vector<int32_t> laws;
  std::vector<float> law_rows;  // [laws drawn from][law_width]: probabilities by token
  int law_width = 0;

  static constexpr int32_t kCertain = -1;

  int size() const { return static_cast<int>(tokens.size()); }
  bool empty() const { return tokens.empty(); }
  void clear() {
    tokens.clear();
    parents.clear();
    probabilities.clear();
    sources.clear();
    laws.clear();
    law_rows.clear();
  }
  static constexpr int32_t kNoNode = -2;  // -1 is the parent of roots
  // The first child of `parent` (-1: a root) that carries `token` among the first `nodes` nodes, or
  // kNoNode. Children come after their parent.
  int32_t FindChild(int32_t parent, TokenId token, int nodes) const {
    for (int32_t node = parent + 1; node < nodes; ++node) {
      if (parents[node] == parent && tokens[node] == token) return node;
    }
    return kNoNode;
  }
  int32_t FindChild(int32_t parent, TokenId token) const {
    return FindChild(parent, token, size());
  }
  // Appends a node and returns its index.
  int Add(TokenId token, int32_t parent, float probability, int32_t law = kCertain,
          uint8_t source = 0) {
    tokens.push_back(token);
    parents.push_back(parent);
    probabilities.push_back(probability);
    sources.push_back(source);
    laws.push_back(law);
    return size() - 1;
  }
};

// What one drafter did in one request.
struct DrafterStats {
  std::string name;
  int64_t trees = 0;            // proposals with at least one node
  int64_t draft_tokens = 0;     // of its guesses, how many were verified
  int64_t accepted_tokens = 0;  // of those, how many were accepted
  int64_t passes = 0;           // of a model of its own
  double seconds = 0;
  int64_t failures = 0;
};

// Guesses by their place in the tree: depth, and rank among siblings in the tree's order. The last
// depth and the last rank stand for all beyond.
struct TreeCounts {
  static constexpr int kDepths = 16, kRanks = 4;
  using Places = std::array<std::array<int64_t, kRanks>, kDepths>;
  Places verified = {}, accepted = {};
};

struct TokenLogprob {
  TokenId token;
  float logprob;
};

// What the target says after one prefix.
struct TokenChoice {
  TokenId token = -1;
  // Of `token`; only set when logprobs were asked for. NaN: of a prompt's first token, before which
  // there is nothing.
  float logprob = 0;
  std::vector<TokenLogprob> top;  // most likely first; empty unless asked for
};

}  // namespace hunch

#endif  // HUNCH_SEQ_TYPES_H_
