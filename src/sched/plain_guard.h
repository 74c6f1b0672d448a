// The promise "never slower", kept by the clock: whatever the budget believes, a sequence whose
// steps really take longer than plain ones would have goes back to the plain path, and tries again
// later. A value; not thread safe.
//
// Losses and gains are counted in plain steps, as a debt. Gains are remembered up to kCredit, so
// that an easy beginning does not pay for a long loss. The worst case over n steps:
//   kLimit + kCredit (only of what was gained before) + kForgiven n + kTrial for each return,
// and returns are so far apart that they come to less than kTrial / kFirstWait of the steps.
#ifndef HUNCH_SCHED_PLAIN_GUARD_H_
#define HUNCH_SCHED_PLAIN_GUARD_H_

#include <cstdint>

namespace hunch {

class PlainGuard {
 public:
  static constexpr double kLimit = 2;
  static constexpr double kCredit = 4;
  static constexpr double kForgiven = 0.005;                  // of each step
  static constexpr double kTrial = 0.5;                       // what it may lose after a return
  static constexpr int kFirstWait = 16, kLongestWait = 1024;  // steps; doubled by each failure

  // Whether this step must be plain.
  bool holds() const { return wait_left_ > 0; }
  // After a step: what it took beyond what plain steps would have taken for its tokens, in plain
  // steps. Not counted while the guard holds.
  void Count(double excess);

  int64_t fallbacks() const { return fallbacks_; }
  int64_t returns() const { return returns_; }

 private:
  double debt_ = 0;
  int wait_ = kFirstWait;
  int wait_left_ = 0;
  int64_t fallbacks_ = 0, returns_ = 0;
};

}  // namespace hunch

#endif  // HUNCH_SCHED_PLAIN_GUARD_H_
