#include "base/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace hunch {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

std::optional<uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;  // "max" is not a number
  return std::nullopt;
}

// The number after `key` in a file of "key number" lines.
uint64_t ReadField(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// What one cgroup still allows: limit - (usage - file cache it could drop).
uint64_t RoomIn(const std::string& limit, const std::string& usage, const std::string& stat) {
  const auto most = ReadNumber(limit);
  const auto used = ReadNumber(usage);
  if (!most || !used) return kUnknown;
  const uint64_t cache = std::min(*used, ReadField(stat, "inactive_file"));
  const uint64_t held = *used - cache;
  return *most > held ? *most - held : 0;
}

// The directory of the process's cgroup below `root` and each one above it, innermost first.
template <typename Fn>
void ForEachCgroup(const std::string& root, std::string path, Fn fn) {
  while (true) {
    fn(root + path);
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.resize(slash);
  }
}

uint64_t CgroupRoom() {
  uint64_t room = kUnknown;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      ForEachCgroup("/sys/fs/cgroup", path, [&](const std::string& dir) {
        room = std::min(room,
                        RoomIn(dir + "/memory.max", dir + "/memory.current", dir + "/memory.stat"));
      });
    } else if (controllers.find(",memory,") != std::string::npos) {
      ForEachCgroup("/sys/fs/cgroup/memory", path, [&](const std::string& dir) {
        room = std::min(room, RoomIn(dir + "/memory.limit_in_bytes", dir + "/memory.usage_in_bytes",
                                     dir + "/memory.stat"));
      });
    }
  }
  return room;
}

}  // namespace

uint64_t AvailableMemoryBytes() {
  uint64_t available = kUnknown;
  if (const uint64_t kilobytes = ReadField("/proc/meminfo", "MemAvailable:"); kilobytes != 0) {
    available = kilobytes * 1024;
  }
  return std::min(available, CgroupRoom());
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace hunch
