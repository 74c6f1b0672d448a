// Golden files that are plain arrays of little-endian structs or numbers.
#ifndef HUNCH_TESTS_SUPPORT_GOLDEN_BYTES_H_
#define HUNCH_TESTS_SUPPORT_GOLDEN_BYTES_H_

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/check.h"

namespace hunch {

// The whole of tests/golden/`path` as Ts. CHECKs that it exists and is a whole number of them.
template <typename T>
std::vector<T> ReadGolden(const std::string& path) {
  std::ifstream file(std::string(HUNCH_GOLDEN_DIR) + "/" + path, std::ios::binary);
  HUNCH_CHECK(file.good()) << path;
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  HUNCH_CHECK_EQ(bytes.size() % sizeof(T), 0u) << path;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_GOLDEN_BYTES_H_
