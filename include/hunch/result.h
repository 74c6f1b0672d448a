// Result<T>: a value, or what was wrong and what to do about it. The library throws nothing of its
// own; std::bad_alloc passes through it.
#ifndef HUNCH_RESULT_H_
#define HUNCH_RESULT_H_

#include <string>
#include <utility>
#include <variant>

namespace hunch::api {

enum class ErrorCode {
  kInvalidArgument,    // a parameter or a request is wrong
  kNotFound,           // a file or a name does not exist
  kBadFile,            // a file's contents are damaged or hostile
  kUnsupported,        // well formed, but not something Hunch can do
  kResourceExhausted,  // does not fit in memory or in a stated limit
  kIo,                 // the operating system refused
  kInternal,           // a library failed in a way that is not ours to explain
};

struct Error {
  ErrorCode code;
  std::string message;  // one line
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  // Each is there only where ok() says so; the other throws std::bad_variant_access.
  const Error& error() const { return std::get<1>(state_); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace hunch::api

#endif  // HUNCH_RESULT_H_
