// The API on a model whose text is dictated and without a socket. One test's model starts with its
// first request: what is dictated is set before.
#ifndef HUNCH_TESTS_SUPPORT_API_FIXTURE_H_
#define HUNCH_TESTS_SUPPORT_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/api.h"
#include "support/fake_llm.h"
#include "support/fake_reply.h"

namespace hunch {

class ApiTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeReply> Ask(const HttpRequest& request) {
    if (!api_) {
      llm_.emplace(std::make_unique<FakeLlm>(script_, &calls_), async_);
      api_.emplace(*llm_, options_);
    }
    auto reply = std::make_shared<FakeReply>();
    api_->Handle(request, reply);
    return reply;
  }
  std::shared_ptr<FakeReply> Ask(const std::string& method, const std::string& path,
                                 const std::string& body = "",
                                 const std::string& authorization = "") {
    return Ask({method, path, authorization, body});
  }
  std::shared_ptr<FakeReply> Post(const std::string& path, const std::string& body,
                                  const std::string& last_event_id = "") {
    const auto reply = Ask({"POST", path, "", body, last_event_id});
    reply->Pump();
    return reply;
  }
  std::shared_ptr<FakeReply> Chat(const std::string& more) {
    return Post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "Hi"}])" +
                                            (more.empty() ? "" : ", " + more) + "}");
  }
  // Status, param and code of an error.
  static void ExpectError(const FakeReply& reply, int status, const Json& param, const Json& code) {
    ASSERT_TRUE(reply.sent);
    EXPECT_EQ(reply.sent->status, status) << reply.sent->body;
    const Json error = reply.json()["error"];
    EXPECT_TRUE(error["message"].is_string());
    EXPECT_TRUE(error["type"].is_string());
    EXPECT_EQ(error["param"], param);
    EXPECT_EQ(error["code"], code);
  }

  FakeLlmScript script_;
  AsyncOptions async_ = {.max_num_seqs = 2, .max_queued = 4};
  ApiOptions options_ = {.model_names = {"fake", "alias"},
                         .speculation = {.method = DraftMethod::Auto()},
                         .fingerprint = "fp"};
  std::vector<FakeLlm::Call> calls_;
  std::optional<AsyncLlm> llm_;
  std::optional<Api> api_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_API_FIXTURE_H_
