#include "server/http_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>

#include "base/check.h"

namespace hunch {
namespace {

std::string CommonHeaders(bool keep_alive, std::time_t now) {
  return fmt::format("Server: hunch\r\nDate: {}\r\nConnection: {}\r\n", HttpDate(now),
                     keep_alive ? "keep-alive" : "close");
}

std::string OwnHeaders(const HttpHeaders& headers) {
  std::string text;
  for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
  return text;
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

std::string HttpDate(std::time_t time) {
  // Not %a and %b of the C library: they follow the locale.
  constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::tm utc = fmt::gmtime(time);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays.substr(utc.tm_wday * 3, 3),
                     utc.tm_mday, kMonths.substr(utc.tm_mon * 3, 3), utc.tm_year + 1900,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string ResponseText(const HttpResponse& response, bool keep_alive, bool head_only,
                         std::time_t now) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\n{}Content-Type: {}\r\nContent-Length: {}\r\n", response.status,
                  ReasonPhrase(response.status), CommonHeaders(keep_alive, now),
                  response.content_type, response.body.size());
  text += OwnHeaders(response.headers) + "\r\n";
  if (!head_only) text += response.body;
  return text;
}

std::string StreamHeader(bool chunked, bool keep_alive, std::time_t now,
                         const HttpHeaders& headers) {
  // Proxies must neither store the stream nor collect it (X-Accel-Buffering is nginx's switch).
  return fmt::format(
      "HTTP/1.1 200 OK\r\n{}Content-Type: text/event-stream; charset=utf-8\r\n"
      "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n{}{}\r\n",
      CommonHeaders(keep_alive, now), OwnHeaders(headers),
      chunked ? "Transfer-Encoding: chunked\r\n" : "");
}

std::string Chunk(std::string_view bytes) {
  HUNCH_CHECK(!bytes.empty());
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool coded = text[i] == '%' && i + 2 < text.size() && text[i + 1] != '-';
    const auto [end, error] =
        coded ? std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16)
              : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (error == std::errc() && end == text.data() + i + 3) {
      decoded.push_back(static_cast<char>(code));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace hunch
