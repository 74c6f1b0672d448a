// Finds markers and added tokens in text: leftmost, then longest. Immutable and thread safe.
// Invariant: entries_ is sorted by text, so the entries with a common prefix are contiguous.
#ifndef HUNCH_TOKENIZER_SPECIAL_MATCHER_H_
#define HUNCH_TOKENIZER_SPECIAL_MATCHER_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "seq/types.h"
#include "tokenizer/vocabulary.h"

namespace hunch {

class SpecialMatcher {
 public:
  explicit SpecialMatcher(const Vocabulary& vocabulary);

  struct Match {
    TokenId id = -1;  // -1: nothing starts here
    size_t length = 0;
  };
  // The longest token that starts at `position`. A control token must end at or before
  // `control_end`: 0 where none may be made.
  Match At(std::string_view text, size_t position, size_t control_end) const;

 private:
  struct Entry {
    std::string_view text;  // in the vocabulary's arena
    TokenId id;
    bool control;
  };
  struct Range {
    uint32_t begin = 0, end = 0;
  };
  std::vector<Entry> entries_;
  std::array<Range, 256> by_first_byte_;  // ranges of entries_
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_SPECIAL_MATCHER_H_
