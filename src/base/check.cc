#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hunch::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": this is a bug in Hunch: CHECK(" << condition << ") failed ";
}

CheckFailure::~CheckFailure() {
  std::fprintf(stderr, "%s\n", stream_.str().c_str());
  std::abort();
}

}  // namespace hunch::internal
