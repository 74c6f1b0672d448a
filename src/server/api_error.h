// What the API says when it cannot do what was asked: OpenAI's error object. Pure functions.
#ifndef HUNCH_SERVER_API_ERROR_H_
#define HUNCH_SERVER_API_ERROR_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "server/http.h"
#include "session/json_text.h"

namespace hunch {

struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};  // the field of the request that is wrong; "": none
  std::string code = {};   // a word for programs; "": none
};

// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
Json ErrorJson(const ApiError& error);
// 401 and 429 carry the headers that go with them.
HttpResponse ErrorResponse(const ApiError& error);
// Of an error that the session gave; `param`: what it is most likely about.
ApiError ApiErrorOf(const Error& error, std::string param = {});

}  // namespace hunch

#endif  // HUNCH_SERVER_API_ERROR_H_
