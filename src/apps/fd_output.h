// An output stream buffer over a file descriptor that keeps the reason of a failed write, so that a
// reader that went away (EPIPE) is told from a full disk. Not thread safe. Does not own the
// descriptor.
#ifndef HUNCH_APPS_FD_OUTPUT_H_
#define HUNCH_APPS_FD_OUTPUT_H_

#include <array>
#include <streambuf>

namespace hunch {

class FdOutput : public std::streambuf {
 public:
  explicit FdOutput(int fd);
  ~FdOutput() override { sync(); }
  FdOutput(const FdOutput&) = delete;
  FdOutput& operator=(const FdOutput&) = delete;

  int error() const { return error_; }  // errno of the first failed write; 0: none

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  int fd_;
  int error_ = 0;
  std::array<char, 8192> buffer_;
};

}  // namespace hunch

#endif  // HUNCH_APPS_FD_OUTPUT_H_
