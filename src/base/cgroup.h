// What the control groups of a process (version 1 or 2, nested) leave it of CPU and memory.
// The two paths are arguments so that tests can lay out a tree of their own. Thread safe.
#ifndef HUNCH_BASE_CGROUP_H_
#define HUNCH_BASE_CGROUP_H_

#include <cstdint>
#include <limits>
#include <string>

namespace hunch {

struct CgroupPaths {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// CPUs that the tightest quota on the way to the root allows, infinity without one.
double CgroupCpus(const CgroupPaths& paths = {});

// Bytes below the tightest memory limit on the way to the root; file cache that the group could
// drop counts as free. kNoCgroupLimit without one.
inline constexpr uint64_t kNoCgroupLimit = std::numeric_limits<uint64_t>::max();
uint64_t CgroupMemoryRoom(const CgroupPaths& paths = {});

// The number after `key` in a file of "key number ..." lines, 0 when absent.
uint64_t ReadNumberAfter(const std::string& path, const std::string& key);

}  // namespace hunch

#endif  // HUNCH_BASE_CGROUP_H_
