#include "base/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace hunch {
namespace {

// A directory of the hierarchy that holds the process, or of one above it.
struct CgroupDir {
  std::string path;
  bool v2;
};

// Every directory that limits `controller`. A container may name a path of its host that is not
// mounted here: such directories simply have no files, and the walk still reaches the root.
std::vector<CgroupDir> LimitingDirs(std::string_view controller, const CgroupPaths& paths) {
  std::vector<CgroupDir> dirs;
  std::ifstream membership(paths.membership);
  for (std::string line; std::getline(membership, line);) {
    // hierarchy:controller,controller:/path - version 2 names no controllers.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    const std::string list = fmt::format(",{},", controllers);
    if (!v2 && list.find(fmt::format(",{},", controller)) == std::string::npos) continue;
    // Version 1 mounts are named after all their controllers ("cpu,cpuacct") or after one.
    std::vector<std::string> mounts;
    if (v2) {
      mounts = {paths.root};
    } else {
      mounts = {fmt::format("{}/{}", paths.root, controller)};
      if (controllers != controller)
        mounts.push_back(fmt::format("{}/{}", paths.root, controllers));
    }
    for (const std::string& mount : mounts) {
      std::string path = line.substr(second + 1);
      while (true) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        dirs.push_back({mount + path, v2});
        const size_t slash = path.rfind('/');
        if (slash == std::string::npos) break;
        path.resize(slash);
      }
    }
  }
  return dirs;
}

// The file's first number; none when it is absent or says "max".
std::optional<double> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

double CpusOf(const CgroupDir& dir) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  std::optional<double> quota, period;
  if (dir.v2) {
    std::ifstream file(dir.path + "/cpu.max");
    double first = 0, second = 0;
    if (file >> first >> second) quota = first, period = second;
  } else {
    quota = ReadNumber(dir.path + "/cpu.cfs_quota_us");
    period = ReadNumber(dir.path + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return kUnlimited;
  return *quota / *period;
}

uint64_t RoomOf(const CgroupDir& dir) {
  const auto limit = ReadNumber(dir.path + (dir.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto usage = ReadNumber(dir.path + (dir.v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  // Version 1 says "no limit" with a number near 2^63.
  if (!limit || !usage || *limit >= 0x1p62) return kNoCgroupLimit;
  const std::string stat = dir.path + "/memory.stat";
  const uint64_t cache = ReadNumberAfter(stat, dir.v2 ? "inactive_file" : "total_inactive_file");
  const double held = std::max(0.0, *usage - static_cast<double>(cache));
  return static_cast<uint64_t>(std::max(0.0, *limit - held));
}

}  // namespace

uint64_t ReadNumberAfter(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

double CgroupCpus(const CgroupPaths& paths) {
  double cpus = std::numeric_limits<double>::infinity();
  for (const CgroupDir& dir : LimitingDirs("cpu", paths)) cpus = std::min(cpus, CpusOf(dir));
  return cpus;
}

uint64_t CgroupMemoryRoom(const CgroupPaths& paths) {
  uint64_t room = kNoCgroupLimit;
  for (const CgroupDir& dir : LimitingDirs("memory", paths)) room = std::min(room, RoomOf(dir));
  return room;
}

}  // namespace hunch
