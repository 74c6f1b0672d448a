#include "server/json_body.h"

namespace hunch {

Result<Json> ParseBody(std::string_view text) {
  if (text.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the body is empty: send a JSON object"};
  }
  return ParseJsonObject(text);
}

}  // namespace hunch
