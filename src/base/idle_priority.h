// Work that must never be in anybody's way.
#ifndef HUNCH_BASE_IDLE_PRIORITY_H_
#define HUNCH_BASE_IDLE_PRIORITY_H_

namespace hunch {

// From now on the calling thread, and those that it starts, run and read the disk only where nobody
// else wants to. There is no way back. Such a thread may be stopped in the middle of anything for
// long: it must hold no lock that others wait for. Where the system refuses, nothing happens.
void BecomeIdle();

}  // namespace hunch

#endif  // HUNCH_BASE_IDLE_PRIORITY_H_
