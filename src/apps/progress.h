// A progress line on the console's err: a bar that redraws itself on a terminal, else a line now
// and then. Not thread safe.
#ifndef HUNCH_APPS_PROGRESS_H_
#define HUNCH_APPS_PROGRESS_H_

#include <cstdint>
#include <string>

#include "apps/context.h"

namespace hunch {

class Progress {
 public:
  Progress(Console& console, int64_t total) : console_(console), total_(total) {}
  ~Progress() { Erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Advance(const std::string& label);
  // Prints a whole line without tearing the bar.
  void Print(const std::string& line);

 private:
  void Erase();

  Console& console_;
  const int64_t total_;
  int64_t done_ = 0;
  int64_t tenths_ = 0;  // printed so far, when there is no terminal
  bool drawn_ = false;
};

}  // namespace hunch

#endif  // HUNCH_APPS_PROGRESS_H_
