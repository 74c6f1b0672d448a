// TopList: the best few (token, score) pairs seen so far. Order: score descending, then id
// ascending, so the order of offers does not matter. Meant for a handful of entries (a draft tree's
// children). Not thread safe.
#ifndef HUNCH_SAMPLING_TOP_LIST_H_
#define HUNCH_SAMPLING_TOP_LIST_H_

#include <algorithm>
#include <limits>
#include <vector>

#include "seq/types.h"

namespace hunch {

class TopList {
 public:
  struct Entry {
    TokenId token;
    float score;
  };

  void Reset(int count) {
    count_ = count;
    entries_.clear();
  }

  // A token may be on offer more than once, with the same score.
  void Offer(TokenId token, float score) {
    const Entry entry{token, score};
    if (full() && !Before(entry, entries_.back())) return;
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), entry, Before);
    if (at != entries_.end() && at->token == token) return;
    const auto index = at - entries_.begin();
    if (full()) entries_.pop_back();
    entries_.insert(entries_.begin() + index, entry);
  }

  // A score below this changes nothing any more.
  float floor() const {
    return full() ? entries_.back().score : -std::numeric_limits<float>::infinity();
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  static bool Before(const Entry& a, const Entry& b) {
    return a.score != b.score ? a.score > b.score : a.token < b.token;
  }
  bool full() const { return static_cast<int>(entries_.size()) >= count_; }

  int count_ = 0;
  std::vector<Entry> entries_;  // best first, at most count_
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_TOP_LIST_H_
