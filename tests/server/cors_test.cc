// Which pages may read answers.
#include "server/cors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api_fixture.h"

namespace hunch {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(Cors, KnowsAnOrigin) {
  for (const char* good : {"*", "http://localhost:3000", "https://a.example", "http://[::1]:80"}) {
    EXPECT_TRUE(CheckOrigin(good).ok()) << good;
  }
  for (const char* wrong : {"", "a.example", "http://", "http://a/", "https://A.example",
                            "http://a b", "ftp://a", "http://a\r\nX: y"}) {
    EXPECT_FALSE(CheckOrigin(wrong).ok()) << wrong;
  }
}

class CorsTest : public ApiTest {
 protected:
  std::shared_ptr<FakeReply> From(const std::string& origin, const std::string& method,
                                  const std::string& path) {
    return Ask(HttpRequest{
        .method = method, .path = path, .authorization = "", .body = "", .origin = origin});
  }
};

TEST_F(CorsTest, IsOffUnlessAskedFor) {
  EXPECT_THAT(From("http://a", "GET", "/v1/models")->headers, IsEmpty());
  EXPECT_EQ(From("http://a", "OPTIONS", "/v1/completions")->sent->status, 405);
}

TEST_F(CorsTest, TheNamedOnesMayReadAndNobodyElse) {
  options_.allowed_origins = {"http://a", "http://b"};
  const auto named = From("http://b", "GET", "/v1/models");
  EXPECT_THAT(named->headers, Contains(Pair("Access-Control-Allow-Origin", "http://b")));
  EXPECT_THAT(named->headers, Contains(Pair("Vary", "Origin")));
  for (const char* other : {"http://c", "http://a.example", "", "null"}) {
    const auto refused = From(other, "GET", "/v1/models");
    EXPECT_THAT(refused->headers, Not(Contains(Pair("Access-Control-Allow-Origin", testing::_))));
    EXPECT_EQ(From(other, "OPTIONS", "/v1/completions")->sent->status, 405);
  }
}

TEST_F(CorsTest, BrowsersAskFirstAndWithoutAKey) {
  options_.allowed_origins = {"*"};
  options_.api_key = "secret";
  const auto asked = From("http://a", "OPTIONS", "/v1/chat/completions");
  EXPECT_EQ(asked->sent->status, 200);
  EXPECT_THAT(asked->headers, Contains(Pair("Access-Control-Allow-Origin", "*")));
  EXPECT_THAT(asked->sent->headers,
              Contains(Pair("Access-Control-Allow-Headers", "*, Authorization")));
  // The page is told why it failed, too.
  const auto without_key = From("http://a", "GET", "/v1/models");
  EXPECT_EQ(without_key->sent->status, 401);
  EXPECT_THAT(without_key->headers, Contains(Pair("Access-Control-Allow-Origin", "*")));
}

}  // namespace
}  // namespace hunch
