// HiddenFeed: brings the target's hidden states to the drafters that read them, and to sinks.
// Before a pass it says what has to be copied; after the commit, of all sequences, it hands each
// drafter its rows, and every reader reads them at once. Between the two a reader may go, with all
// its drafters: only those that were handed something are asked to read. Kept across steps so that
// a step allocates nothing. Confined to the engine's thread.
#ifndef HUNCH_ENGINE_HIDDEN_FEED_H_
#define HUNCH_ENGINE_HIDDEN_FEED_H_

#include <span>
#include <vector>

#include "engine/speculator.h"

namespace hunch {

class HiddenFeed {
 public:
  // A pass is about to run; then Add for each sequence that takes part.
  void Begin();
  void Add(const Speculator& speculator) { speculator.AddReaders(tapped_); }
  void Add(HiddenSink& sink);
  // What the pass has to copy; empty: nobody reads anything.
  std::span<const HiddenTap> Taps();

  // After the commit: of each sequence that goes on.
  void Hand(Speculator& speculator, const HiddenRows& rows);
  void Read();

 private:
  struct Part {
    Speculator* speculator;
    int rows;
  };

  std::vector<HiddenReader*> tapped_;   // of the pass, each once
  std::vector<HiddenReader*> waiting_;  // of those, who has something to read
  std::vector<HiddenSink*> sinks_;      // of the pass, each once
  std::vector<HiddenTap> taps_;
  std::vector<Part> parts_;  // that were handed rows
  int rows_ = 0;             // of parts_
};

}  // namespace hunch

#endif  // HUNCH_ENGINE_HIDDEN_FEED_H_
