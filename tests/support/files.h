// Files of tests: the golden ones, and a folder to write into.
#ifndef HUNCH_TESTS_SUPPORT_FILES_H_
#define HUNCH_TESTS_SUPPORT_FILES_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/check.h"

namespace hunch {

// An empty folder that is deleted, with all in it, at the end of the scope.
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
  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file, and the folders above it, and returns its path.
  std::string Write(std::string_view name, std::string_view contents) const {
    const std::string path = Path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

 private:
  std::string path_;
};

// The whole file. CHECKs that it can be read.
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  HUNCH_CHECK(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string GoldenPath(std::string_view name) {
  return std::string(HUNCH_GOLDEN_DIR) + "/" + std::string(name);
}

// A golden file of little-endian structs or numbers. CHECKs that it is a whole number of them.
template <typename T>
std::vector<T> ReadGoldenArray(std::string_view name) {
  const std::string bytes = ReadFile(GoldenPath(name));
  HUNCH_CHECK_EQ(bytes.size() % sizeof(T), 0u) << name;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The inputs of tests/fuzz/corpus/<name>, by file name. CHECKs that there are some.
inline std::vector<std::string> ReadFuzzCorpus(const std::string& name) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::directory_iterator folder(GoldenPath("../fuzz/corpus/" + name));
  for (const auto& entry : folder) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the folder's own order is not fixed
  std::vector<std::string> corpus;
  for (const auto& path : paths) corpus.push_back(ReadFile(path));
  HUNCH_CHECK(!corpus.empty()) << name;
  return corpus;
}

// A golden file of one JSON value a line. CHECKs that there are some.
template <typename Json = nlohmann::json>
std::vector<Json> ReadGoldenLines(std::string_view name) {
  std::ifstream file(GoldenPath(name));
  HUNCH_CHECK(file.good()) << name;
  std::vector<Json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(Json::parse(line));
  HUNCH_CHECK(!rows.empty()) << name;
  return rows;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FILES_H_
