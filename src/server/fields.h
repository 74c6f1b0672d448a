// Fields: reads the fields of a JSON object into typed values and keeps the first thing that is
// wrong, by the field's name. A field that is absent or null leaves its value as it was.
// Not thread safe.
#ifndef HUNCH_SERVER_FIELDS_H_
#define HUNCH_SERVER_FIELDS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "session/json_text.h"

namespace hunch {

// least..most, or (least..most] when `open`.
struct NumberRange {
  double least = 0;
  double most = std::numeric_limits<float>::max();
  bool open = false;
};

class Fields {
 public:
  // `prefix` comes before names in messages: "speculation." for an object inside another. `object`
  // must outlive this.
  explicit Fields(const Json& object, std::string prefix = "");

  void Number(std::string_view name, const NumberRange& range, float& out);
  void Integer(std::string_view name, int64_t least, int64_t most, int& out);
  void Bool(std::string_view name, bool& out);
  void Text(std::string_view name, std::string& out);
  // Token ids, non-negative.
  void Tokens(std::string_view name, std::vector<int32_t>& out);
  // The value for a caller that reads it itself; null: absent.
  const Json* Any(std::string_view name);
  // May be there, and changes nothing.
  void Ignore(std::string_view name) { Any(name); }
  // Fails if the field is there with a value that means something.
  void Unsupported(std::string_view name, std::string_view instead);

  void Fail(std::string_view name, std::string message);
  // Any field that was not read is an error. To be called last.
  const std::optional<ApiError>& Finish();
  const std::optional<ApiError>& error() const { return error_; }

 private:
  void WrongType(std::string_view name, std::string_view wanted, const Json& value);

  const Json& object_;
  std::string prefix_;
  std::vector<std::string_view> known_;
  std::optional<ApiError> error_;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_FIELDS_H_
