// TextAssembler: rows of many sequences, as they come out of the ring, to texts. Rows may come
// again (a sequence that was preempted is read again) and may be missing (the prefix cache had
// them, or the ring was full): a text holds one row after the other and ends where one is missing.
//
// Not thread safe. Memory: the rows of unfinished texts, at most about most_bytes; where they would
// take more, the text that has waited longest ends where it is.
#ifndef HUNCH_LEARN_TEXT_ASSEMBLER_H_
#define HUNCH_LEARN_TEXT_ASSEMBLER_H_

#include <cstddef>
#include <functional>
#include <list>
#include <span>

#include "learn/feature_rows.h"
#include "learn/learned_text.h"
#include "learn/row_ring.h"

namespace hunch {

class TextAssembler {
 public:
  // Of a text that begins in the middle, so many tokens are what a head looks back to.
  static constexpr int kLeastContext = 16;
  // A text with fewer behind its context teaches too little.
  static constexpr int kLeastAnswer = 8;

  using OnText = std::function<void(LearnedText text)>;
  TextAssembler(const FeatureLayout& layout, size_t most_bytes, OnText on_text)
      : row_bytes_(layout.row_bytes()), most_bytes_(most_bytes), on_text_(std::move(on_text)) {}

  void Add(const RowLabel& label, std::span<const std::byte> row);
  size_t bytes() const { return bytes_; }

 private:
  struct Open {
    int64_t sequence;
    int first;     // position of the first row
    int prompt;    // tokens of the sequence's prompt
    TokenId next;  // behind the last row
    LearnedText text;

    int end() const { return first + text.size(); }
  };
  using Texts = std::list<Open>;

  Texts::iterator Find(const RowLabel& label);
  void Finish(Texts::iterator open);

  const size_t row_bytes_;
  const size_t most_bytes_;
  const OnText on_text_;
  Texts open_;  // the one that a row was added to latest comes last
  size_t bytes_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_LEARN_TEXT_ASSEMBLER_H_
