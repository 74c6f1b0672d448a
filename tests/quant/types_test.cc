#include "quant/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace hunch {
namespace {

TEST(TensorTypes, AllFourteenAreFoundByTheirNumber) {
  std::set<std::string_view> names;
  for (const TypeTraits& traits : KnownTypes()) {
    const auto number = static_cast<uint32_t>(traits.type);
    ASSERT_EQ(FindTypeTraits(number), &traits);
    EXPECT_EQ(&GetTypeTraits(traits.type), &traits);
    names.insert(traits.name);
  }
  EXPECT_EQ(names.size(), 14u);
}

TEST(TensorTypes, OtherNumbersAreNull) {
  // 4, 5: removed from the format; 9, 15: activation types; 23: IQ4_XS, not read.
  for (uint32_t number : {4u, 5u, 9u, 15u, 23u, 24u, 31u, 999u, 0xFFFFFFFFu}) {
    EXPECT_EQ(FindTypeTraits(number), nullptr) << number;
  }
}

TEST(TensorTypes, SizesAreThoseOfTheFormat) {
  struct Row {
    uint32_t number;
    std::string_view name;
    int elements, bytes;
  };
  constexpr Row kRows[] = {{0, "F32", 1, 4},       {1, "F16", 1, 2},       {2, "Q4_0", 32, 18},
                           {3, "Q4_1", 32, 20},    {6, "Q5_0", 32, 22},    {7, "Q5_1", 32, 24},
                           {8, "Q8_0", 32, 34},    {10, "Q2_K", 256, 84},  {11, "Q3_K", 256, 110},
                           {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210},
                           {20, "IQ4_NL", 32, 18}, {30, "BF16", 1, 2}};
  for (const Row& row : kRows) {
    const TypeTraits* traits = FindTypeTraits(row.number);
    ASSERT_NE(traits, nullptr) << row.name;
    EXPECT_EQ(traits->name, row.name);
    EXPECT_EQ(traits->block_elements, row.elements) << row.name;
    EXPECT_EQ(traits->block_bytes, row.bytes) << row.name;
  }
}

TEST(TensorTypesDeathTest, AnUnknownTypeIsABug) {
  EXPECT_DEATH(GetTypeTraits(static_cast<TensorType>(4)), "no tensor type 4");
}

}  // namespace
}  // namespace hunch
