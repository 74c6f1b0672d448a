#include "server/cors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace hunch {
namespace {

constexpr std::string_view kAnyOrigin = "*";

bool Contains(const std::vector<std::string>& allowed, std::string_view origin) {
  return std::find(allowed.begin(), allowed.end(), origin) != allowed.end();
}

}  // namespace

Status CheckOrigin(std::string_view origin) {
  if (origin == kAnyOrigin) return Ok{};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string_view host = origin.substr(scheme.size());
    const bool good = !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '/' && !(c >= 'A' && c <= 'Z');
    });
    if (good) return Ok{};
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is no origin: write * or https://host:port, in small letters and "
                           "without a path",
                           Quote(origin))};
}

bool OriginAllowed(const std::vector<std::string>& allowed, const std::string& origin) {
  return !origin.empty() && (Contains(allowed, kAnyOrigin) || Contains(allowed, origin));
}

HttpHeaders CorsHeaders(const std::vector<std::string>& allowed, const std::string& origin) {
  if (!OriginAllowed(allowed, origin)) return {};
  const bool any = Contains(allowed, kAnyOrigin);
  HttpHeaders headers = {{"Access-Control-Allow-Origin", any ? std::string(kAnyOrigin) : origin},
                         {"Access-Control-Expose-Headers", "Retry-After"}};
  if (!any) headers.emplace_back("Vary", "Origin");
  return headers;
}

HttpResponse PreflightResponse() {
  // The star does not stand for Authorization.
  return {.content_type = "text/plain",
          .headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                      {"Access-Control-Allow-Headers", "*, Authorization"},
                      {"Access-Control-Max-Age", "600"}}};
}

}  // namespace hunch
