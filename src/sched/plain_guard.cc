#include "sched/plain_guard.h"

#include <algorithm>

namespace hunch {

void PlainGuard::Count(double excess) {
  if (holds()) {
    if (--wait_left_ == 0) ++returns_;
    return;
  }
  debt_ = std::max(debt_ + excess - kForgiven, -kCredit);
  if (debt_ <= 0) wait_ = kFirstWait;  // it pays again
  if (debt_ <= kLimit) return;
  ++fallbacks_;
  wait_left_ = wait_;
  wait_ = std::min(2 * wait_, kLongestWait);
  debt_ = kLimit - kTrial;
}

}  // namespace hunch
