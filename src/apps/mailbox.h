// Mailbox: work that other threads hand to one, which does it in order. Any thread may Post; the
// rest belongs to the one.
#ifndef HUNCH_APPS_MAILBOX_H_
#define HUNCH_APPS_MAILBOX_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace hunch {

class Mailbox {
 public:
  using Work = std::function<void()>;

  void Post(Work work) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    posted_.notify_one();
  }
  // Does all that is there by now, after waiting for some no longer than `patience`.
  void DoAll(std::chrono::milliseconds patience) {
    std::deque<Work> taken;
    {
      std::unique_lock lock(mutex_);
      posted_.wait_for(lock, patience, [this] { return !waiting_.empty(); });
      taken.swap(waiting_);
    }
    for (Work& work : taken) work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Work> waiting_;
};

}  // namespace hunch

#endif  // HUNCH_APPS_MAILBOX_H_
