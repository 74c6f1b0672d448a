// Bodies of chat requests for tests of what is read of them.
#ifndef HUNCH_TESTS_SUPPORT_CHAT_REQUEST_BODIES_H_
#define HUNCH_TESTS_SUPPORT_CHAT_REQUEST_BODIES_H_

#include <gtest/gtest.h>

#include <string>

#include "server/chat_request.h"

namespace hunch {

// A body with one good message and `more` fields.
inline Json Body(const std::string& more) {
  return Json::parse(R"({"messages": [{"role": "user", "content": "Hi"}])" +
                     (more.empty() ? "" : ", " + more) + "}");
}

// What is read of it, without an error.
inline ChatRequest Good(const std::string& more) {
  ChatRequest request;
  const auto error = ReadChatRequest(Body(more), request);
  EXPECT_FALSE(error) << error->message;
  return request;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_CHAT_REQUEST_BODIES_H_
