// What ids hold comes out of them again; whatever else is refused.
#include "server/answer_id.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

constexpr AnswerId kId = {
    .created = 0x65432100, .seed = 0xfedcba9876543210, .request = 0xdeadbeef, .salt = 7};

TEST(AnswerId, HoldsEverything) {
  const std::string answer = AnswerIdText("cmpl", kId);
  EXPECT_EQ(answer, "cmpl-65432100fedcba9876543210deadbeef00000007");
  const std::string event = EventIdText(answer, {3, 0, 4294967295});
  EXPECT_EQ(event, answer + "-3.0.4294967295");
  EXPECT_EQ(ParseEventId("cmpl", event), (EventId{kId, {3, 0, 4294967295}}));
}

TEST(AnswerId, EverythingElseIsNone) {
  const std::string good = EventIdText(AnswerIdText("cmpl", kId), {12});
  ASSERT_TRUE(ParseEventId("cmpl", good));
  EXPECT_FALSE(ParseEventId("chatcmpl", good));
  for (size_t size = 0; size < good.size(); ++size) {
    // Without its last digit the number is another, but it is one.
    EXPECT_EQ(ParseEventId("cmpl", good.substr(0, size)).has_value(), size + 1 == good.size());
  }
  for (const std::string tail :
       {"-", "-1.", "-.1", "-1..2", "--1", "-+1", "-1 ", "-4294967296", "-0x1", "-1.2a", "0-1"}) {
    EXPECT_FALSE(ParseEventId("cmpl", AnswerIdText("cmpl", kId) + tail)) << tail;
  }
  EXPECT_FALSE(ParseEventId("cmpl", "cmpl-" + std::string(40, '-') + "-1"));
  const auto events_of = [](size_t choices) {
    return EventIdText(AnswerIdText("cmpl", kId), std::vector<uint32_t>(choices, 1));
  };
  EXPECT_TRUE(ParseEventId("cmpl", events_of(EventId::kMostChoices)));
  EXPECT_FALSE(ParseEventId("cmpl", events_of(EventId::kMostChoices + 1)));
}

TEST(RequestHash, IsOfTheModelAndOfAllButTheSeed) {
  const Json body = Json::parse(R"({"prompt": "a", "seed": 5, "n": 2})");
  const uint32_t hash = RequestHash("fp", body);
  EXPECT_EQ(hash, RequestHash("fp", Json::parse(R"({"prompt":"a","n":2})")));
  EXPECT_NE(hash, RequestHash("fq", body));
  EXPECT_NE(hash, RequestHash("fp", Json::parse(R"({"prompt": "b", "n": 2})")));
  EXPECT_NE(hash, RequestHash("fp", Json::parse(R"({"prompt": "a", "n": 2, "stop": "c"})")));
}

}  // namespace
}  // namespace hunch
