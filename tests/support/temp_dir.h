// TempDir: an empty folder that is deleted, with all in it, at the end of the scope.
#ifndef HUNCH_TESTS_SUPPORT_TEMP_DIR_H_
#define HUNCH_TESTS_SUPPORT_TEMP_DIR_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace hunch {

class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "hunch-test-XXXXXX") {
    HUNCH_CHECK(mkdtemp(path_.data()) != nullptr) << path_;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_TEMP_DIR_H_
