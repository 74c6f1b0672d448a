#include "sched/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hunch {
namespace {

constexpr float kAny = AcceptanceTable::kAnyBelief;

void Teach(Calibration& calibration, int steps, int depth, float belief, int right_of_ten) {
  for (int i = 0; i < steps; ++i) {
    calibration.Add(0, depth, belief, i % 10 < right_of_ten);
    calibration.NextStep(0);
  }
}

TEST(Calibration, BeginsWithTheDraftersOwnBelief) {
  SharedCalibration shared;
  const Calibration calibration(shared, {0}, 0);
  EXPECT_NEAR(calibration.Acceptance(0, 1, 0.3f), 0.3f, 1e-6);
  EXPECT_NEAR(calibration.Acceptance(0, 7, 0.9f), 0.9f, 1e-6);
  EXPECT_LT(calibration.Acceptance(0, 1, 1.0f), 1) << "nothing is certain";
  EXPECT_GT(calibration.Acceptance(0, 1, 0.0f), 0);
}

TEST(Calibration, CorrectsADrafterThatBelievesTooMuch) {
  SharedCalibration shared;
  Calibration calibration(shared, {0}, 0);
  Teach(calibration, 100, 1, 0.9f, 3);
  EXPECT_NEAR(calibration.Acceptance(0, 1, 0.9f), 0.3f, 0.1f);
  EXPECT_NEAR(calibration.Acceptance(0, 1, kAny), 0.3f, 0.1f);
  EXPECT_NEAR(calibration.Acceptance(0, 1, 0.2f), 0.2f, 1e-3) << "other beliefs are not touched";
  EXPECT_NEAR(calibration.Acceptance(0, 5, 0.9f), 0.3f, 0.1f) << "what was not reached is alike";
  Teach(calibration, 100, 5, 0.9f, 8);
  EXPECT_NEAR(calibration.Acceptance(0, 5, 0.9f), 0.8f, 0.1f);
  EXPECT_NEAR(calibration.Acceptance(0, 1, 0.9f), 0.3f, 0.1f);
}

TEST(Calibration, ANewSequenceBeginsWithWhatOthersSaw) {
  SharedCalibration shared;
  Calibration first(shared, {0}, 0);
  Teach(first, 200, 1, 0.9f, 2);
  const Calibration second(shared, {0}, 0);
  EXPECT_NEAR(second.Acceptance(0, 1, 0.9f), 0.2f, 0.05f);
  const Calibration hotter(shared, {0}, 1.0f);
  EXPECT_NEAR(hotter.Acceptance(0, 1, 0.9f), 0.9f, 1e-3) << "another class of temperature";
  const Calibration other(shared, {3}, 0);
  EXPECT_NEAR(other.Acceptance(0, 1, 0.9f), 0.9f, 1e-3) << "another drafter";
}

TEST(Calibration, FollowsATextThatChangesItsKind) {
  SharedCalibration shared;
  Calibration calibration(shared, {0}, 0);
  Teach(calibration, 300, 1, 0.9f, 10);
  EXPECT_GT(calibration.Acceptance(0, 1, 0.9f), 0.95f);
  Teach(calibration, 100, 1, 0.9f, 0);
  EXPECT_LT(calibration.Acceptance(0, 1, 0.9f), 0.5f);
  Teach(calibration, 100, 1, 0.9f, 10);
  EXPECT_GT(calibration.Acceptance(0, 1, 0.9f), 0.5f);
}

TEST(Calibration, DoubtLetsItLearnAfresh) {
  SharedCalibration shared;
  Calibration calibration(shared, {0}, 0);
  Teach(calibration, 300, 1, 0.9f, 10);
  Calibration other(shared, {0}, 0);
  Teach(other, 300, 1, 0.9f, 0);
  const float before = other.Acceptance(0, 1, 0.9f);
  other.Doubt(0);
  EXPECT_GT(other.Acceptance(0, 1, 0.9f), before + 0.05f);
}

TEST(Calibration, ClassesOfTemperature) {
  EXPECT_EQ(SharedCalibration::ClassOf(0), 0);
  EXPECT_EQ(SharedCalibration::ClassOf(0.1f), 1);
  EXPECT_EQ(SharedCalibration::ClassOf(0.7f), 1);
  EXPECT_EQ(SharedCalibration::ClassOf(0.8f), 2);
}

TEST(Calibration, ABeliefThatIsNoProbabilityDoesNoHarm) {
  SharedCalibration shared;
  Calibration calibration(shared, {0}, 0);
  for (const float belief : {std::nanf(""), -3.0f, 7.0f, INFINITY}) {
    calibration.Add(0, 1, belief, true);
    calibration.NextStep(0);
    const float acceptance = calibration.Acceptance(0, 1, belief);
    EXPECT_TRUE(acceptance > 0 && acceptance < 1) << belief << " gave " << acceptance;
  }
}

}  // namespace
}  // namespace hunch
