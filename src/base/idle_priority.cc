#include "base/idle_priority.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hunch {

void BecomeIdle() {
  const sched_param none = {};
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
  // linux/ioprio.h, which older systems lack.
  constexpr int kWhoProcess = 1, kClassIdle = 3, kClassShift = 13;
  (void)syscall(SYS_ioprio_set, kWhoProcess, 0, kClassIdle << kClassShift);
}

}  // namespace hunch
