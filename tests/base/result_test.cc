// Result and CHECK: a value or an error, and a message that carries the values when it is a bug.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hunch {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd: " + std::to_string(n)};
  return n / 2;
}
Result<int> Quarter(int n) {
  HUNCH_ASSIGN_OR_RETURN(const int half, Half(n));
  return Half(half);
}

TEST(ResultTest, ValueOrError) {
  EXPECT_EQ(Half(6).value(), 3);
  const Result<int> odd = Half(7);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(odd.error().message, "odd: 7");
}

TEST(ResultTest, ErrorsPassUp) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd: 3");
  EXPECT_EQ(Quarter(5).error().message, "odd: 5");
}

TEST(ResultTest, MoveOnlyValues) {
  Result<std::unique_ptr<int>> owned(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(owned).value();
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, ValueOfAnErrorIsABugThatNamesIt) {
  EXPECT_DEATH(static_cast<void>(Half(7).value()), "odd: 7");
}

TEST(CheckDeathTest, PrintsConditionAndValues) {
  const int rows = 3;
  EXPECT_DEATH(HUNCH_CHECK_EQ(rows, 4) << "rows", "rows\\) == \\(4.*3 vs 4.*rows|3 vs 4");
}

}  // namespace
}  // namespace hunch
