// Which pages of other sites may read what the server answers (the fetch standard's CORS): none
// unless they were named. Pure functions.
#ifndef HUNCH_SERVER_CORS_H_
#define HUNCH_SERVER_CORS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/http.h"

namespace hunch {

// "*" or "https://host:port" as a browser names it: in small letters, without a path.
Status CheckOrigin(std::string_view origin);

bool OriginAllowed(const std::vector<std::string>& allowed, const std::string& origin);

// What goes with every answer to a page of `origin` ("": no page asks).
HttpHeaders CorsHeaders(const std::vector<std::string>& allowed, const std::string& origin);

// The answer to the question that a browser asks before the request itself.
HttpResponse PreflightResponse();

}  // namespace hunch

#endif  // HUNCH_SERVER_CORS_H_
