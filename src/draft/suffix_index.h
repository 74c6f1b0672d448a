// SuffixIndex: every substring of a text up to 64 tokens long, how often it was followed, and by
// which tokens how often. A suffix automaton cut at that length: a state stands for all substrings
// that end at the same places, so a text of n tokens has at most 2n states and 3n edges, where a
// tree of substrings with a walking finger for each of the 64 open suffixes would touch 64 nodes
// for each token. A token costs one look-up for each *different* set of places that suffixes of the
// text end at: at most 64, about six in prose or code.
//
// Counts are of places in the text (or texts: EndText begins another, no substring spans two).
// Where the same counts can be told in two ways they are told the same: everything follows from
// the order of the tokens alone. A token id may be any number. Not thread safe.
//
// Memory: BytesFor(n) after Reserve(n), which holds whatever the n tokens are.
//
// Invariants, for substrings s shorter than depth: the state of s holds the longest substring with
// the places of s (cut at depth); its link is the state of the longest suffix of s that has more
// places; followed = the number of places of s that have a token after them; the edge with token t
// has as count the places of s followed by t, and leads to the state of s t. Two states may lead to
// the same one.
#ifndef HUNCH_DRAFT_SUFFIX_INDEX_H_
#define HUNCH_DRAFT_SUFFIX_INDEX_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

class SuffixIndex {
 public:
  static constexpr int kDepth = 64;    // the longest substring
  static constexpr int kBranches = 4;  // the most frequent continuations, which a state has at hand

  using State = int32_t;
  static constexpr State kRoot = 0;  // of the empty string
  static constexpr State kNone = -1;

  struct Branch {
    TokenId token = 0;
    int32_t count = 0;
  };

  // The longest suffix of some tokens that the texts hold, up to depth - 1 of them.
  struct Match {
    State state = kRoot;
    int length = 0;
  };

  // depth >= 2.
  explicit SuffixIndex(int depth = kDepth);

  static size_t BytesFor(size_t tokens);
  // Room for a text of so many tokens: Append allocates nothing until then.
  void Reserve(size_t tokens);
  void Clear();
  void Append(TokenId token);
  // The next token begins another text.
  void EndText();

  // The state of the longest suffix of the text that is shorter than depth.
  State context() const { return Shorter(last_); }
  // The state of the longest shorter suffix with more places; kNone after the root.
  State link(State state) const { return nodes_[state].link; }
  // Of the longest substring of a state.
  int length(State state) const { return nodes_[state].length; }
  int followed(State state) const { return nodes_[state].followed; }
  // The match of the text itself.
  Match match() const { return {context(), std::min(last_length_, depth_ - 1)}; }
  // With one more token.
  Match Advance(Match match, TokenId token) const;
  // The longest shorter suffix with more places; not of the empty one.
  Match Shorten(Match match) const { return {link(match.state), length(link(match.state))}; }
  // The most frequent continuations, most frequent first; of equals the one that was seen last.
  std::span<const Branch> branches(State state) const;
  // The state after one more token (cut to less than depth), or kNone.
  State Next(State state, TokenId token) const;
  // How often `token` followed.
  int Count(State state, TokenId token) const;

  size_t states() const { return nodes_.size(); }
  size_t edges() const { return edges_used_; }

 private:
  struct Node {
    int32_t length = 0;
    State link = kNone;
    int32_t followed = 0;
    int32_t first_edge = kNone;
    std::array<Branch, kBranches> branches;
  };
  struct Edge {
    State from = kNone;  // kNone: a free slot
    TokenId token = 0;
    State target = 0;
    int32_t count = 0;
    int32_t next = kNone;  // of the same state
  };

  State Shorter(State state) const;
  size_t Probe(State from, TokenId token) const;
  int32_t FindEdge(State from, TokenId token) const;
  void AddEdge(State from, TokenId token, State target, int32_t count);
  void Grow(size_t slots);
  State Extend(State from, int length, TokenId token);
  State Split(State state, int length, State from, TokenId token);
  void CountOne(State from, TokenId token);

  int depth_;
  State last_ = kRoot;       // the state of the longest suffix of the text, up to depth
  int last_length_ = 0;      // of that suffix
  std::vector<Node> nodes_;  // nodes_[kRoot] is the root
  std::vector<Edge> edges_;  // a power of two, at most 3/4 full; linear probing
  size_t edges_used_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_SUFFIX_INDEX_H_
