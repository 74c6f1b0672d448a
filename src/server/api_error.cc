#include "server/api_error.h"

#include <array>

namespace hunch {
namespace {

std::string_view TypeOf(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 429:
      return "rate_limit_error";
    case 500:
    case 503:
      return "server_error";
    default:
      return "invalid_request_error";
  }
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// The session's messages begin with the parameter that they are about.
std::string ParamNamed(std::string_view message) {
  constexpr std::array<std::string_view, 15> kNames = {"temperature",
                                                       "top_p",
                                                       "top_k",
                                                       "min_p",
                                                       "typical_p",
                                                       "repetition_penalty",
                                                       "presence_penalty",
                                                       "frequency_penalty",
                                                       "logit_bias",
                                                       "stop_token_ids",
                                                       "min_tokens",
                                                       "max_tokens",
                                                       "messages",
                                                       "tools",
                                                       "stop"};
  const std::string_view word = message.substr(0, message.find_first_of(" ["));
  for (const std::string_view name : kNames) {
    if (word == name) return std::string(name);
  }
  return "";
}

}  // namespace

Json ErrorJson(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", TypeOf(error.status)},
            {"param", TextOrNull(error.param)},
            {"code", TextOrNull(error.code)}}}};
}

HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response = {.status = error.status, .body = DumpJson(ErrorJson(error))};
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429) response.headers.emplace_back("Retry-After", "1");
  return response;
}

ApiError ApiErrorOf(const Error& error, std::string param) {
  switch (error.code) {
    case ErrorCode::kResourceExhausted:
      return {.status = 429, .message = error.message, .code = "queue_full"};
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return {.status = 500, .message = error.message};
    default:
      break;
  }
  if (std::string named = ParamNamed(error.message); !named.empty()) param = std::move(named);
  return {.status = 400, .message = error.message, .param = std::move(param)};
}

}  // namespace hunch
