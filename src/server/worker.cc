#include "server/worker.h"

#include <utility>

namespace hunch {

void Worker::Post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  waiting_.push_back(std::move(work));
  posted_.notify_one();
}

void Worker::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    posted_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  waiting_.clear();
}

void Worker::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace hunch
