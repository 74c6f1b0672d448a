// Ctrl-C and SIGTERM as a flag. One SignalInterrupts may be armed at a time; the flag itself is
// process-wide, because a signal handler can reach nothing else.
#ifndef HUNCH_APPS_SIGNALS_H_
#define HUNCH_APPS_SIGNALS_H_

#include "apps/context.h"

namespace hunch {

// A second signal before Clear ends the process at once with 128 + its number: the way out when a
// step takes too long. Blocking reads are interrupted.
class SignalInterrupts : public Interrupts {
 public:
  ~SignalInterrupts() override;
  void Arm() override;
  int Pending() const override;
  void Clear() override;

 private:
  bool armed_ = false;
};

}  // namespace hunch

#endif  // HUNCH_APPS_SIGNALS_H_
