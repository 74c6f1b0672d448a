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

// A string of a file, quoted for a message: control bytes and anything that is not ASCII are
// escaped (the terminal is not the file's to write to), and a long one is cut.
std::string QuoteForMessage(std::string_view text);

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_GGUF_PARSE_H_
