// Who runs when the cache is too small for all.
#include "sched/admission.h"

#include <gtest/gtest.h>

#include <vector>

namespace hunch {
namespace {

constexpr int kMany = 100;

TEST(AdmissionTest, AllRunWhileThereIsRoom) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{0, 3}, {0, 4}, {0, 1}}, 8, kMany), 3);
  EXPECT_EQ(Admit({}, 8, kMany), 0);
}

TEST(AdmissionTest, NobodyOvertakesTheOneThatWaits) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{0, 3}, {0, 6}, {0, 1}}, 8, kMany), 1);
}

TEST(AdmissionTest, WhatRunningOnesStillWantIsNotGivenAway) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{2, 7}, {0, 3}}, 8, kMany), 2);
  EXPECT_EQ(Admit(std::vector<KvNeed>{{2, 7}, {0, 4}}, 8, kMany), 1);
}

TEST(AdmissionTest, WhoHoldsBlocksRuns) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{4, 5}, {4, 5}}, 0, kMany), 2);
}

TEST(AdmissionTest, TheFirstRunsWhateverItWants) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{0, 9}, {0, 1}}, 8, kMany), 1);
}

TEST(AdmissionTest, AtMostSoMany) {
  EXPECT_EQ(Admit(std::vector<KvNeed>{{1, 1}, {0, 1}, {0, 1}}, 8, 2), 2);
}

}  // namespace
}  // namespace hunch
