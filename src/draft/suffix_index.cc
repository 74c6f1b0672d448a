#include "draft/suffix_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

constexpr size_t kFewestSlots = 64;

// Slots for so many edges, at most 3/4 full.
size_t SlotsFor(size_t edges) {
  return std::max(kFewestSlots, std::bit_ceil(edges + edges / 3 + 2));
}

}  // namespace

SuffixIndex::SuffixIndex(int depth) : depth_(depth) {
  HUNCH_CHECK_GE(depth, 2);
  Clear();
}

size_t SuffixIndex::BytesFor(size_t tokens) {
  return (2 * tokens + 2) * sizeof(Node) + SlotsFor(3 * tokens + 1) * sizeof(Edge);
}

void SuffixIndex::Reserve(size_t tokens) {
  nodes_.reserve(2 * tokens + 2);
  const size_t slots = SlotsFor(3 * tokens + 1);
  if (slots > edges_.size()) Grow(slots);
}

void SuffixIndex::Clear() {
  nodes_.assign(1, Node{});
  if (edges_used_ > 0) std::fill(edges_.begin(), edges_.end(), Edge{});
  edges_used_ = 0;
  EndText();
}

void SuffixIndex::EndText() {
  last_ = kRoot;
  last_length_ = 0;
}

// A substring of full depth is no context: what follows it would make one that is too long. Its
// suffix that is one shorter has the same state or the next.
SuffixIndex::State SuffixIndex::Shorter(State state) const {
  const Node& node = nodes_[state];
  return node.length == depth_ && nodes_[node.link].length == depth_ - 1 ? node.link : state;
}

std::span<const SuffixIndex::Branch> SuffixIndex::branches(State state) const {
  const auto& all = nodes_[state].branches;
  int size = 0;
  while (size < kBranches && all[size].count > 0) ++size;
  return std::span(all).first(size);
}

SuffixIndex::State SuffixIndex::Next(State state, TokenId token) const {
  const int32_t edge = FindEdge(state, token);
  return edge == kNone ? kNone : Shorter(edges_[edge].target);
}

SuffixIndex::Match SuffixIndex::Advance(Match match, TokenId token) const {
  State next = Next(match.state, token);
  while (next == kNone && match.state != kRoot) {
    match = Shorten(match);
    next = Next(match.state, token);
  }
  if (next == kNone) return {};
  return {next, std::min({match.length + 1, length(next), depth_ - 1})};
}

int SuffixIndex::Count(State state, TokenId token) const {
  const int32_t edge = FindEdge(state, token);
  return edge == kNone ? 0 : edges_[edge].count;
}

// The slot of that edge, or the free one where it belongs.
size_t SuffixIndex::Probe(State from, TokenId token) const {
  const uint64_t key =
      static_cast<uint64_t>(static_cast<uint32_t>(from)) << 32 | static_cast<uint32_t>(token);
  const uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15ull;
  const size_t mask = edges_.size() - 1;
  size_t slot = (mixed ^ mixed >> 32) & mask;
  while (edges_[slot].from != kNone && (edges_[slot].from != from || edges_[slot].token != token)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

int32_t SuffixIndex::FindEdge(State from, TokenId token) const {
  if (edges_.empty()) return kNone;
  const size_t slot = Probe(from, token);
  return edges_[slot].from == kNone ? kNone : static_cast<int32_t>(slot);
}

void SuffixIndex::Grow(size_t slots) {
  const std::vector<Edge> old = std::exchange(edges_, std::vector<Edge>(slots));
  for (size_t state = 0; state < nodes_.size(); ++state) {
    int32_t edge = std::exchange(nodes_[state].first_edge, kNone);
    for (; edge != kNone; edge = old[edge].next) {
      const size_t slot = Probe(old[edge].from, old[edge].token);
      edges_[slot] = old[edge];
      edges_[slot].next = std::exchange(nodes_[state].first_edge, static_cast<int32_t>(slot));
    }
  }
}

void SuffixIndex::AddEdge(State from, TokenId token, State target, int32_t count) {
  if (SlotsFor(edges_used_ + 1) > edges_.size()) Grow(SlotsFor(2 * edges_used_ + 1));
  const size_t slot = Probe(from, token);
  edges_[slot] = {from, token, target, count, nodes_[from].first_edge};
  nodes_[from].first_edge = static_cast<int32_t>(slot);
  ++edges_used_;
}

// The classic step (Blumer et al., 1985), begun at a suffix of `length` tokens whose state is
// `from` and which becomes one longer. Returns the state of the longer one.
SuffixIndex::State SuffixIndex::Extend(State from, int length, TokenId token) {
  const int32_t known = FindEdge(from, token);
  if (known != kNone) {
    const State target = edges_[known].target;
    // It is longer than what we have only where a text has just begun.
    return nodes_[target].length == length + 1 ? target : Split(target, length + 1, from, token);
  }
  const State added = static_cast<State>(nodes_.size());
  nodes_.emplace_back().length = length + 1;
  int32_t edge = kNone;
  for (; from != kNone && (edge = FindEdge(from, token)) == kNone; from = nodes_[from].link) {
    AddEdge(from, token, added, 0);
  }
  State link = kRoot;
  if (from != kNone) {
    link = edges_[edge].target;
    const int shared = nodes_[from].length + 1;
    if (nodes_[link].length != shared) link = Split(link, shared, from, token);
  }
  nodes_[added].link = link;
  return added;
}

// The substrings of `state` up to `length` are about to get a place that the longer ones do not
// have: they get a state of their own, to which `from` and those behind its links now lead.
SuffixIndex::State SuffixIndex::Split(State state, int length, State from, TokenId token) {
  const State shorter = static_cast<State>(nodes_.size());
  nodes_.push_back(nodes_[state]);
  nodes_[shorter].length = length;
  nodes_[shorter].first_edge = kNone;
  // Growing moves the edges, so not while they are walked.
  size_t copied = 0;
  for (int32_t edge = nodes_[state].first_edge; edge != kNone; edge = edges_[edge].next) ++copied;
  if (SlotsFor(edges_used_ + copied) > edges_.size()) Grow(SlotsFor(2 * edges_used_ + copied));
  for (int32_t edge = nodes_[state].first_edge; edge != kNone; edge = edges_[edge].next) {
    AddEdge(shorter, edges_[edge].token, edges_[edge].target, edges_[edge].count);
  }
  nodes_[state].link = shorter;
  for (; from != kNone; from = nodes_[from].link) {
    const int32_t edge = FindEdge(from, token);
    if (edge == kNone || edges_[edge].target != state) break;
    edges_[edge].target = shorter;
  }
  return shorter;
}

// One more place where `token` follows. Counts rise by one, so a branch that is not at hand cannot
// pass one that is without being met here.
void SuffixIndex::CountOne(State from, TokenId token) {
  Node& node = nodes_[from];
  ++node.followed;
  const int32_t count = ++edges_[FindEdge(from, token)].count;
  auto& branches = node.branches;
  int at = 0;
  while (at < kBranches && (branches[at].count == 0 || branches[at].token != token)) ++at;
  if (at == kBranches) {
    if (branches[--at].count > count) return;
  }
  for (; at > 0 && branches[at - 1].count <= count; --at) branches[at] = branches[at - 1];
  branches[at] = {token, count};
}

void SuffixIndex::Append(TokenId token) {
  const State from = context();
  const int length = std::min(last_length_, depth_ - 1);
  last_ = Extend(from, length, token);
  last_length_ = length + 1;
  for (State state = from; state != kNone; state = nodes_[state].link) CountOne(state, token);
}

}  // namespace hunch
