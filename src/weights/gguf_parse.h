// The parser behind GgufFile. Thread safe (pure).
#ifndef HUNCH_WEIGHTS_GGUF_PARSE_H_
#define HUNCH_WEIGHTS_GGUF_PARSE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf.h"

namespace hunch {

struct GgufContents {
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // in file order; their data points into the parsed bytes
  std::map<std::string, size_t, std::less<>> tensor_index;
};

// `name` is what messages call the file.
Result<GgufContents> ParseGguf(std::span<const std::byte> bytes, std::string_view name);

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_GGUF_PARSE_H_
