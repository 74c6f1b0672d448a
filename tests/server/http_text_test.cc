#include "server/http_text.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

constexpr std::time_t kNow = 784111777;  // RFC 9110's example

TEST(HttpText, ADateIsTheStandards) { EXPECT_EQ(HttpDate(kNow), "Sun, 06 Nov 1994 08:49:37 GMT"); }

TEST(HttpText, AResponseSaysItsLength) {
  HttpResponse response = {.status = 429, .body = "{}"};
  response.headers.emplace_back("Retry-After", "1");
  const std::string expected =
      "HTTP/1.1 429 Too Many Requests\r\nServer: hunch\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
      "Connection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
      "Retry-After: 1\r\n\r\n";
  EXPECT_EQ(ResponseText(response, true, false, kNow), expected + "{}");
  EXPECT_EQ(ResponseText(response, true, true, kNow), expected);
}

TEST(HttpText, AStreamIsChunkedForThoseWhoKnowChunks) {
  EXPECT_NE(StreamHeader(true, true, kNow).find("Transfer-Encoding: chunked\r\n"),
            std::string::npos);
  EXPECT_EQ(StreamHeader(false, false, kNow).find("chunked"), std::string::npos);
  EXPECT_TRUE(StreamHeader(true, true, kNow).ends_with("\r\n\r\n"));
  EXPECT_NE(StreamHeader(true, true, kNow, {{"Vary", "Origin"}}).find("\r\nVary: Origin\r\n"),
            std::string::npos);
  EXPECT_EQ(Chunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
}

TEST(HttpText, PercentCodesBecomeBytes) {
  EXPECT_EQ(PercentDecode("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(PercentDecode("%41%"), "A%");
  EXPECT_EQ(PercentDecode("%4"), "%4");
  EXPECT_EQ(PercentDecode("%zz%-1%4g"), "%zz%-1%4g");
}

}  // namespace
}  // namespace hunch
