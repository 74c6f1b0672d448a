#include "learn/passes_needed.h"

#include <gtest/gtest.h>

#include <vector>

namespace hunch {
namespace {

TEST(PassesNeeded, AreThoseOfDecoding) {
  PassesNeeded needed;
  // Token 0 comes from the prompt. After it two guesses come true: tokens 1, 2, 3. After 3 none: 4.
  needed.Add(std::vector<int>{2, 5, 5, 0, 0});
  EXPECT_EQ(needed.passes, 2);
  EXPECT_EQ(needed.tokens, 4);
  EXPECT_DOUBLE_EQ(needed.tokens_per_pass(), 2);
}

TEST(PassesNeeded, EndWithTheText) {
  PassesNeeded needed;
  needed.Add(std::vector<int>{2, 1, 0});  // both guesses are right, and no token is left
  EXPECT_EQ(needed.passes, 1);
  EXPECT_EQ(needed.tokens, 2);
  needed.Add(std::vector<int>{0});
  needed.Add({});
  EXPECT_EQ(needed.passes, 1);
  EXPECT_EQ(PassesNeeded().tokens_per_pass(), 0);
}

}  // namespace
}  // namespace hunch
