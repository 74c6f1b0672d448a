// Learner: learning while serving (docs/decisions/013-learning-while-serving.md). It keeps
// committed text as segments, has a head trained on it in another process, replays that head and
// the one in use on text that neither learned from, swaps when the new one is better, and swaps
// back when it turns out worse in service. No text changes: heads only guess.
//
// Thread safety: stats() is for any thread. Start makes two threads: one keeps rows, which must not
// wait long, the other trains, compares and swaps. Without them a test calls Keep and Look itself.
#ifndef HUNCH_SESSION_LEARNER_H_
#define HUNCH_SESSION_LEARNER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/stopwatch.h"
#include "learn/row_ring.h"
#include "learn/segment_file.h"
#include "learn/swap_policy.h"
#include "learn/text_assembler.h"
#include "session/learn_source.h"
#include "session/learn_stats.h"

namespace hunch {

struct LearnOptions {
  std::string folder;
  std::string head;                 // the file of the one in use at the start
  uint64_t cap = 1'000'000'000;     // bytes of segments
  int64_t least_new_tokens = 4096;  // of answers, kept since the last round of training
  double least_pause = 60;          // seconds between the beginnings of two rounds
  SwapPolicy policy = {};
  bool idle_replays = true;  // false: tests, on a machine that has no idle moment
};

// A round of training, in a process of its own, which the destructor kills.
class LearnRound {
 public:
  virtual ~LearnRound() = default;
  // Whether it went well; none: it still runs.
  virtual std::optional<bool> Ended() = 0;
};

struct LearnHooks {
  std::function<Result<PassesNeeded>(const std::string& head, const LearnedTexts& texts,
                                     const std::atomic<bool>& stop)>
      score;
  // Begins a round that goes on from one head and writes another.
  std::function<Result<std::unique_ptr<LearnRound>>(const std::string& from, const std::string& to)>
      train;
  std::function<Status(const std::string& head)> swap;
  std::function<std::string()> in_use;   // the file of the head that guesses now
  std::function<GuessCounts()> guesses;  // of heads, since the start
};

class Learner {
 public:
  // The hooks, and what they need, must outlive it, as must the ring. Errors: SegmentWriter's.
  static Result<std::unique_ptr<Learner>> Create(LearnOptions options, LearnHooks hooks,
                                                 RowRing& ring, const SegmentKind& kind);
  ~Learner() { Stop(); }

  void Start();
  // Ends the threads and whatever is trained or compared.
  void Stop();
  LearnStats stats() const;

  // Takes what is in the ring.
  void Keep();
  // Does what is due: nothing that takes long but to load a head that is swapped in.
  void Look();

 private:
  struct Held {
    int64_t number;  // of the text
    std::shared_ptr<const LearnedText> text;
  };
  struct Comparison {
    Result<PassesNeeded> before, after;  // of the head in use before, and of the one that is newer
  };

  Learner(LearnOptions options, LearnHooks hooks, RowRing& ring, const SegmentKind& kind,
          SegmentWriter writer);
  void KeepText(LearnedText text);
  void RunEvery(std::chrono::milliseconds pause, void (Learner::*work)());

  void Gather();
  void AwaitRound();
  void Compare(const std::string& before, const std::string& after, int64_t since);
  std::optional<Comparison> Compared();
  void AwaitComparison();
  void AwaitTrial();
  void AwaitDoubt();
  void Pass();
  void RollBack();
  void SetPhase(LearnPhase phase);
  void RoundFailed(const std::string& why);
  int64_t ReplayedTokens(int64_t since) const;
  bool HeadIsOurs() const { return hooks_.in_use() == head_; }
  std::string PathOf(std::string_view name) const;
  void Remove(const std::string& head) const;

  const LearnOptions options_;
  const LearnHooks hooks_;
  RowRing& ring_;

  // Of the thread that keeps.
  SegmentWriter writer_;
  TextAssembler assembler_;
  bool warned_ = false;

  mutable std::mutex mutex_;  // of these
  LearnStats stats_;
  std::deque<Held> held_;  // the oldest first
  int64_t held_tokens_ = 0;
  int64_t new_tokens_ = 0;  // since the last round began

  // Of the thread that looks.
  LearnPhase phase_ = LearnPhase::kGathers;
  std::string head_;       // in use
  std::string previous_;   // in use before, while head_ is on trial
  std::string candidate_;  // that is compared
  int next_head_ = 1;
  std::optional<Stopwatch> since_round_;
  int failures_ = 0;  // of rounds, one after the other
  std::unique_ptr<LearnRound> round_;
  std::future<Comparison> comparison_;
  int64_t swapped_at_ = 0;      // the texts there were
  GuessCounts head_began_;      // what was guessed before head_ was in use
  GuessCounts previous_share_;  // what previous_ guessed

  std::atomic<bool> stopping_{false};
  std::thread keeps_, looks_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_LEARNER_H_
