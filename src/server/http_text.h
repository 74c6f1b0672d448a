// The text of HTTP/1.1 responses. Pure functions.
#ifndef HUNCH_SERVER_HTTP_TEXT_H_
#define HUNCH_SERVER_HTTP_TEXT_H_

#include <ctime>
#include <string>
#include <string_view>

#include "server/http.h"

namespace hunch {

std::string_view ReasonPhrase(int status);

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(std::time_t time);

// A whole response; with `head_only` its header alone.
std::string ResponseText(const HttpResponse& response, bool keep_alive, bool head_only,
                         std::time_t now);
// The header of an event stream, in chunks or (HTTP/1.0) until the connection ends.
std::string StreamHeader(bool chunked, bool keep_alive, std::time_t now,
                         const HttpHeaders& headers = {});
// `bytes` must not be empty: that would end the body.
std::string Chunk(std::string_view bytes);
// "a%2Fb" -> "a/b"; what is no such code stays as it is.
std::string PercentDecode(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace hunch

#endif  // HUNCH_SERVER_HTTP_TEXT_H_
