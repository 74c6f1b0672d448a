#include "base/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/cgroup.h"

namespace hunch {

uint64_t AvailableMemoryBytes() {
  const uint64_t kilobytes = ReadNumberAfter("/proc/meminfo", "MemAvailable:");
  const uint64_t room = CgroupMemoryRoom();
  return kilobytes == 0 ? room : std::min(room, kilobytes * 1024);
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace hunch
