#include "apps/fd_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ostream>
#include <string>

namespace hunch {
namespace {

TEST(FdOutput, WritesEverything) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text(20000, 'x');  // more than the buffer, less than the pipe
  {
    FdOutput buffer(ends[1]);
    std::ostream out(&buffer);
    out << "ab" << std::flush << text << 'c';
  }
  close(ends[1]);
  std::string got(30000, '\0');
  size_t size = 0;
  for (ssize_t n; (n = read(ends[0], got.data() + size, got.size() - size)) > 0;) {
    size += static_cast<size_t>(n);
  }
  close(ends[0]);
  EXPECT_EQ(got.substr(0, size), "ab" + text + "c");
}

TEST(FdOutput, TellsAReaderThatLeft) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  FdOutput buffer(ends[1]);
  std::ostream out(&buffer);
  out << "ab" << std::flush;
  EXPECT_FALSE(out.good());
  EXPECT_EQ(buffer.error(), EPIPE);
  out << std::string(100000, 'x');
  EXPECT_EQ(buffer.error(), EPIPE);
  close(ends[1]);
}

TEST(FdOutput, TellsAFullDisk) {
  const int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) GTEST_SKIP() << "no /dev/full";
  FdOutput buffer(fd);
  std::ostream out(&buffer);
  out << "ab" << std::flush;
  EXPECT_FALSE(out.good());
  EXPECT_EQ(buffer.error(), ENOSPC);
  close(fd);
}

}  // namespace
}  // namespace hunch
