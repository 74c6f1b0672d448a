// Guarded: calls a drafter, which may throw: it, or a library below it, is not ours to trust. What
// it throws is the error of the call.
#ifndef HUNCH_DRAFT_GUARDED_H_
#define HUNCH_DRAFT_GUARDED_H_

#include <exception>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace hunch {

// `call` returns a Status, or nothing.
template <typename Call>
Status Guarded(const Call& call) {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return Ok{};
    } else {
      return call();
    }
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kInternal, std::string("it threw: ") + thrown.what()};
  } catch (...) {
    return Error{ErrorCode::kInternal, "it threw something that is no std::exception"};
  }
}

}  // namespace hunch

#endif  // HUNCH_DRAFT_GUARDED_H_
