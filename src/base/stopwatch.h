// Stopwatch: wall time since it was made. A value.
#ifndef HUNCH_BASE_STOPWATCH_H_
#define HUNCH_BASE_STOPWATCH_H_

#include <chrono>

namespace hunch {

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace hunch

#endif  // HUNCH_BASE_STOPWATCH_H_
