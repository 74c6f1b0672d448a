// Numbers as flags give them: the whole text, finite, in range. Pure functions.
#ifndef HUNCH_APPS_NUMBERS_H_
#define HUNCH_APPS_NUMBERS_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/result.h"

namespace hunch {

// least..most, or (least..most] when `open`.
struct FloatRange {
  double least = 0;
  double most = std::numeric_limits<float>::max();
  bool open = false;
};

Status ReadFloat(std::string_view text, FloatRange range, float& out);
Status ReadInt(std::string_view text, int least, int most, int& out);
Status ReadUnsigned(std::string_view text, uint64_t& out);

}  // namespace hunch

#endif  // HUNCH_APPS_NUMBERS_H_
