// A request's body as JSON. Pure function.
#ifndef HUNCH_SERVER_JSON_BODY_H_
#define HUNCH_SERVER_JSON_BODY_H_

#include <string_view>

#include "base/result.h"
#include "session/json_text.h"

namespace hunch {

// An object, nested no deeper than ParseJson allows: what reads it afterwards may recurse.
Result<Json> ParseBody(std::string_view text);

}  // namespace hunch

#endif  // HUNCH_SERVER_JSON_BODY_H_
