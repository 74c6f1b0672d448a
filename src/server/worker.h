// Worker: one thread that does what it is given, in order: for work that would keep the I/O thread
// from everybody else. Any thread may Post; Stop and the destructor are for one thread.
#ifndef HUNCH_SERVER_WORKER_H_
#define HUNCH_SERVER_WORKER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hunch {

class Worker {
 public:
  Worker() : thread_([this] { Run(); }) {}
  ~Worker() { Stop(); }
  void Post(std::function<void()> work);
  // Ends after the work under way; what waits is dropped.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hunch

#endif  // HUNCH_SERVER_WORKER_H_
