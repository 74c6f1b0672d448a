// How drafters come by the target's hidden states. A pass of the target leaves copies of them
// (HiddenTap) where a reader wants them; when the step is committed, each drafter lays what became
// of its sequence's rows with its reader, which reads all of that at once. The copies are good
// until the next pass. Not thread safe.
#ifndef HUNCH_DRAFT_HIDDEN_DRAFTER_H_
#define HUNCH_DRAFT_HIDDEN_DRAFTER_H_

#include <cstdint>
#include <span>

#include "base/result.h"
#include "model/model.h"
#include "seq/types.h"

namespace hunch {

// What the drafters of one head share.
class HiddenReader {
 public:
  virtual ~HiddenReader() = default;
  // Room for the rows of the target's largest pass each.
  virtual std::span<const HiddenTap> taps() const = 0;
  // Reads what the drafters laid since the last call.
  virtual void Read() = 0;
};

// Rows of a pass that were committed, all of one sequence.
struct HiddenRows {
  std::span<const TokenId>
      committed;                  // the sequence after the step; what follows each row is there
  int first = 0;                  // position of the first row; the others follow it
  std::span<const int32_t> rows;  // which rows of the pass they are; at least one
  bool over = false;              // nothing will be proposed any more
};

class HiddenDrafter {
 public:
  virtual ~HiddenDrafter() = default;
  virtual HiddenReader& reader() = 0;
  // Positions that it has taken may come again, and some may never come (they were found in a
  // cache, or were read before the drafter was there). An error drops the drafter.
  virtual Status TakeHidden(const HiddenRows& rows) = 0;
  // Of these tokens of the sequence: so many positions, from the first, need not come.
  virtual int known(std::span<const TokenId> tokens) const {
    return static_cast<int>(tokens.size());
  }
};

// Whose rows a sink takes.
struct SinkSequence {
  int64_t id;
  int prompt;  // tokens of it
  float temperature;
};

// Who wants the rows of sequences beside their drafters: what learns while serving. It can change
// no token, and must not fail. Take is called once its pass is committed; it allocates nothing and
// never waits.
class HiddenSink {
 public:
  virtual ~HiddenSink() = default;
  // As HiddenReader's.
  virtual std::span<const HiddenTap> taps() const = 0;
  // As HiddenDrafter's.
  virtual void Take(const SinkSequence& sequence, const HiddenRows& rows) = 0;
};

}  // namespace hunch

#endif  // HUNCH_DRAFT_HIDDEN_DRAFTER_H_
