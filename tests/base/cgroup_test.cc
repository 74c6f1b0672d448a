// Limits of nested control groups, version 1 and 2, read from trees laid out by the test.
#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/files.h"

namespace hunch {
namespace {

class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { root_.Write(name, text); }

  const TempDir root_;
  const CgroupPaths paths_{root_.Path("membership"), root_.Path("fs")};
};

TEST_F(CgroupTest, NothingKnownIsNoLimit) {
  EXPECT_TRUE(std::isinf(CgroupCpus(paths_)));
  EXPECT_EQ(CgroupMemoryRoom(paths_), kNoCgroupLimit);
  Write("membership", "garbage\n0::/\n:\n");
  EXPECT_TRUE(std::isinf(CgroupCpus(paths_)));
  EXPECT_EQ(CgroupMemoryRoom(paths_), kNoCgroupLimit);
}

TEST_F(CgroupTest, Version2TakesTheTightestOnTheWayUp) {
  Write("membership", "0::/outer/inner\n");
  Write("fs/outer/cpu.max", "150000 100000\n");
  Write("fs/outer/inner/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpus(paths_), 1.5);
  Write("fs/outer/inner/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpus(paths_), 0.5);

  Write("fs/outer/memory.max", "1000000\n");
  Write("fs/outer/memory.current", "700000\n");
  Write("fs/outer/memory.stat", "anon 100\ninactive_file 200000\nactive_file 5\n");
  Write("fs/outer/inner/memory.max", "max\n");
  Write("fs/outer/inner/memory.current", "1\n");
  EXPECT_EQ(CgroupMemoryRoom(paths_), 500000u);
  Write("fs/outer/inner/memory.max", "100\n");
  EXPECT_EQ(CgroupMemoryRoom(paths_), 99u);
  Write("fs/outer/inner/memory.current", "1000\n");  // above its limit
  EXPECT_EQ(CgroupMemoryRoom(paths_), 0u);
}

TEST_F(CgroupTest, Version1ByControllerAndCombinedMount) {
  Write("membership",
        "9:name=systemd:/x\n4:memory:/job/step\n3:cpuset:/\n1:cpu,cpuacct:/job\n0::/\n");
  Write("fs/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  Write("fs/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(CgroupCpus(paths_)));
  Write("fs/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
  EXPECT_DOUBLE_EQ(CgroupCpus(paths_), 2.5);
  Write("fs/cpu/cpu.cfs_quota_us", "200000\n");
  Write("fs/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpus(paths_), 2.0);

  Write("fs/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("fs/memory/memory.usage_in_bytes", "12345\n");
  EXPECT_EQ(CgroupMemoryRoom(paths_), kNoCgroupLimit);
  Write("fs/memory/job/memory.limit_in_bytes", "5000\n");
  Write("fs/memory/job/memory.usage_in_bytes", "4000\n");
  Write("fs/memory/job/memory.stat", "inactive_file 7\ntotal_inactive_file 500\n");
  EXPECT_EQ(CgroupMemoryRoom(paths_), 1500u);
}

TEST_F(CgroupTest, PathOfTheHostThatIsNotMountedFallsBackToTheRoot) {
  Write("membership", "0::/kubepods/pod1/container2\n");
  Write("fs/cpu.max", "100000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpus(paths_), 1.0);
}

}  // namespace
}  // namespace hunch
