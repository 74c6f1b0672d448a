// Streams that broke and go on, on a server that knows nothing of them: Last-Event-ID.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/answer_id.h"
#include "support/api_fixture.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

using Event = std::pair<std::string, Json>;

// What differs from run to run is how long it took.
std::vector<Event> WithoutTimes(std::vector<Event> events) {
  for (Event& event : events) event.second.erase("timings");
  return events;
}

class ApiResumeTest : public ApiTest {
 protected:
  // What a server says that was started just now.
  std::vector<Event> Stream(const std::string& body, const std::string& last_event_id = "",
                            const std::string& path = "/v1/chat/completions") {
    api_.reset();
    llm_.reset();
    const auto reply = Post(path, body, last_event_id);
    EXPECT_TRUE(reply->streaming) << (reply->sent ? reply->sent->body : "");
    return WithoutTimes(reply->EventsWithIds());
  }
  // Cut after every event.
  void ExpectResumes(const std::string& body, const std::string& path = "/v1/chat/completions") {
    const std::vector<Event> whole = Stream(body, "", path);
    ASSERT_GT(whole.size(), 3u);
    for (size_t kept = 1; kept < whole.size(); ++kept) {
      std::vector<Event> joined(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kept));
      for (Event& event : Stream(body, whole[kept - 1].first, path)) {
        joined.push_back(std::move(event));
      }
      EXPECT_EQ(joined, whole) << "after " << kept;
    }
  }
};

std::string Body(const std::string& more) {
  return R"({"messages": [{"role": "user", "content": "Hi"}], "stream": true)" + more + "}";
}

TEST_F(ApiResumeTest, GoesOnAfterAnyEvent) {
  ExpectResumes(Body(R"(, "seed": 5, "temperature": 0.5)"));
  // The seed was drawn, and is in the id.
  ExpectResumes(Body(R"(, "stream_options": {"include_usage": true}, "logprobs": true)"));
  ExpectResumes(R"({"prompt": "ab", "stream": true, "echo": true})", "/v1/completions");
  ExpectResumes(R"({"prompt": "ab", "stream": true, "echo": true, "logprobs": 1})",
                "/v1/completions");
  EXPECT_EQ(calls_.back().params.seed, calls_[calls_.size() - 2].params.seed);
}

TEST_F(ApiResumeTest, GoesOnInACall) {
  script_.answer = "Hm.\n<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";
  ExpectResumes(Body(R"(, "tools": [{"type": "function", "function": {"name": "f"}}])"));
}

// How choices mix is up to the run; each of them goes on where it was.
TEST_F(ApiResumeTest, EveryChoiceGoesOn) {
  const std::string body = Body(R"(, "n": 2, "seed": 1)");
  const auto of_choice = [](const std::vector<Event>& events, int index) {
    std::vector<Json> own;
    for (const Event& event : events) {
      if (event.second["choices"][0]["index"] == index) own.push_back(event.second);
    }
    return own;
  };
  const std::vector<Event> whole = Stream(body);
  for (size_t kept = 1; kept < whole.size(); ++kept) {
    std::vector<Event> joined(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kept));
    const std::vector<Event> rest = Stream(body, whole[kept - 1].first);
    joined.insert(joined.end(), rest.begin(), rest.end());
    EXPECT_EQ(joined.size(), whole.size());
    for (const int index : {0, 1}) EXPECT_EQ(of_choice(joined, index), of_choice(whole, index));
  }
}

TEST_F(ApiResumeTest, TwoBreaksAreNoMoreThanOne) {
  const std::string body = Body(R"(, "n": 2, "seed": 1)");
  const std::vector<Event> whole = Stream(body);
  std::vector<Event> joined;
  std::string last;
  while (joined.size() < whole.size()) {
    std::vector<Event> rest = Stream(body, last);
    ASSERT_FALSE(rest.empty());
    rest.resize(std::min<size_t>(rest.size(), 3));
    last = rest.back().first;
    joined.insert(joined.end(), rest.begin(), rest.end());
  }
  EXPECT_EQ(joined.size(), whole.size());
  EXPECT_TRUE(Stream(body, last).empty());
}

TEST_F(ApiResumeTest, TheDateIsThatOfTheFirstAnswer) {
  const std::string first = Stream(Body(""))[0].first;
  Stream(Body(""), first);
  ASSERT_EQ(script_.nows->size(), 2u);
  EXPECT_EQ((*script_.nows)[0], (*script_.nows)[1]);
  EXPECT_GT((*script_.nows)[0], 0);
}

TEST_F(ApiResumeTest, ARequestThatIsNotTheSameIsRefused) {
  const std::string body = Body(R"(, "seed": 5)");
  const std::string id = Stream(body)[2].first;
  const auto refused = [&](const std::string& other, const std::string& last,
                           const std::string& why) {
    const auto reply = Post("/v1/chat/completions", other, last);
    ExpectError(*reply, 400, "Last-Event-ID", nullptr);
    EXPECT_THAT(reply->sent->body, HasSubstr(why));
    EXPECT_FALSE(reply->streaming);
  };
  refused(Body(R"(, "seed": 6)"), id, "another request");
  refused(Body(R"(, "seed": 5, "temperature": 0.1)"), id, "another request");
  refused(body, id + ".1", "another request");
  refused(body, "5", "no id");
  refused(body, "cmpl" + id.substr(4), "no id");
  refused(R"({"messages": [{"role": "user", "content": "Hi"}]})", id, "can be resumed");
  refused(Body(R"(, "acceptance": "ratio")"), id, "can be resumed");
  options_.fingerprint = "another model";
  api_.reset();
  llm_.reset();
  refused(body, id, "another model");
}

TEST_F(ApiResumeTest, WhatCannotBeResumedHasNoIds) {
  for (const Event& event : Stream(Body(R"(, "acceptance": "ratio")"))) EXPECT_EQ(event.first, "");
}

}  // namespace
}  // namespace hunch
