// What memory this process may still take, and what it holds. Thread safe.
#ifndef HUNCH_BASE_MEMORY_H_
#define HUNCH_BASE_MEMORY_H_

#include <cstdint>

namespace hunch {

// The least of the machine's available memory and what is left below the limit of the process's
// cgroup and of every cgroup above it. Page cache that a cgroup could drop counts as available.
// UINT64_MAX where the system tells neither.
uint64_t AvailableMemoryBytes();

// Resident set of this process, 0 where the system does not tell.
uint64_t ResidentBytes();

}  // namespace hunch

#endif  // HUNCH_BASE_MEMORY_H_
