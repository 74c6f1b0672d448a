// Reading of the values of a GGUF file's keys. Not thread safe.
#ifndef HUNCH_WEIGHTS_GGUF_VALUES_H_
#define HUNCH_WEIGHTS_GGUF_VALUES_H_

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "weights/gguf.h"
#include "weights/gguf_source.h"

namespace hunch {

// One reader per file: it keeps count of all array elements (kMaxArrayElements).
class GgufValueReader {
 public:
  explicit GgufValueReader(GgufSource* source) : source_(*source), cursor_(source->cursor()) {}

  // The type and the value that the cursor is at. `where` names the key in messages.
  Result<GgufValue> Read(std::string_view where);

 private:
  Result<GgufValue> ReadArray(std::string_view where);
  Result<bool> ReadBool(std::string_view where);
  Status CheckCount(uint64_t count, uint64_t bytes_each, std::string_view where);
  template <typename Wire, typename Wide>
  Result<GgufValue> ReadNumber(std::string_view where);
  template <typename Wire, typename Wide>
  Result<GgufValue> ReadNumbers(uint64_t count, std::string_view where);
  Result<GgufValue> ReadBools(uint64_t count, std::string_view where);
  Result<GgufValue> ReadStrings(uint64_t count, std::string_view where);

  GgufSource& source_;
  ByteCursor& cursor_;
  uint64_t elements_ = 0;  // of all arrays so far
};

}  // namespace hunch

#endif  // HUNCH_WEIGHTS_GGUF_VALUES_H_
