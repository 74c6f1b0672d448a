#include "server/json_body.h"

#include <fmt/format.h>

namespace hunch {
namespace {

// How deep brackets outside strings are nested.
int DepthOf(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> ParseBody(std::string_view text) {
  if (text.empty()) {
    return Error{ErrorCode::kInvalidArgument, "the body is empty: send a JSON object"};
  }
  if (DepthOf(text) > kMostJsonDepth) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("bad JSON: nested more than {} deep", kMostJsonDepth)};
  }
  return ParseJsonObject(text);
}

}  // namespace hunch
