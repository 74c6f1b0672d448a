// Result<T>: a value or an Error. Everything that the outside world (a file, a request, a flag, the
// machine's memory) can get wrong is returned this way; bugs are CHECKs (check.h).
// A message names what was wrong, where, and what to do about it.
#ifndef HUNCH_BASE_RESULT_H_
#define HUNCH_BASE_RESULT_H_

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace hunch {

enum class ErrorCode {
  kInvalidArgument,    // a flag, a parameter or a request is wrong
  kNotFound,           // a file or a name does not exist
  kBadFile,            // a file's contents are damaged or hostile
  kUnsupported,        // well formed, but not something Hunch can do
  kResourceExhausted,  // does not fit in memory or in a stated limit
  kIo,                 // the operating system refused
  kInternal,           // a library failed in a way that is not ours to explain
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  const Error& error() const {
    HUNCH_CHECK(!ok());
    return std::get<1>(state_);
  }
  T& value() & {
    HUNCH_CHECK(ok()) << error().message;
    return std::get<0>(state_);
  }
  const T& value() const& {
    HUNCH_CHECK(ok()) << error().message;
    return std::get<0>(state_);
  }
  T&& value() && {
    HUNCH_CHECK(ok()) << error().message;
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace hunch

// Evaluates an expression of type Result<...> and returns its error from the enclosing function.
#define HUNCH_RETURN_IF_ERROR(expression)                  \
  do {                                                     \
    auto hunch_status_ = (expression);                     \
    if (!hunch_status_.ok()) return hunch_status_.error(); \
  } while (false)

#define HUNCH_CONCAT_INNER_(a, b) a##b
#define HUNCH_CONCAT_(a, b) HUNCH_CONCAT_INNER_(a, b)

// HUNCH_ASSIGN_OR_RETURN(auto x, Make()): x is the value, or the error is returned.
#define HUNCH_ASSIGN_OR_RETURN(declaration, expression) \
  HUNCH_ASSIGN_OR_RETURN_IMPL_(HUNCH_CONCAT_(hunch_result_, __LINE__), declaration, expression)
#define HUNCH_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return result.error();                            \
  declaration = std::move(result).value()

#endif  // HUNCH_BASE_RESULT_H_
