// TemporaryFile: a file that is written beside its place and then moved there, so that the place
// never holds half a file. It replaces regular files only, keeps their permissions, and follows
// links to them. It deletes itself unless it was moved. After the first failure every call fails,
// and Failure() tells of that one. Not thread safe.
#ifndef HUNCH_WEIGHTS_TEMPORARY_FILE_H_
#define HUNCH_WEIGHTS_TEMPORARY_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace hunch {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& final_path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  void Write(std::span<const std::byte> bytes);
  // To the disk, then to its place.
  void MoveIntoPlace();
  bool ok() const { return error_ == 0; }
  Error Failure() const;

 private:
  const std::string final_path_;  // without links
  std::string path_;
  int fd_ = -1;
  int error_ = 0;
  bool not_regular_ = false;
  bool exists_ = false;  // under path_
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_TEMPORARY_FILE_H_
