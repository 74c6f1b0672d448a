// The tail of the noise decides the argmax of a large vocabulary. So: the maximum of 152k keyed
// draws against its exact law (Kolmogorov and Smirnov, fixed seed, p > 1e-4), and where it falls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops.h"
#include "support/chi_square.h"

namespace hunch {
namespace {

constexpr int kVocab = 151936;
constexpr int kRows = 1500;

TEST(NoiseMaximumTest, FollowsGumbelsLaw) {
  std::vector<float> row(kVocab);
  std::vector<double> below;  // the exact law's distribution function at each maximum
  std::vector<double> places(128);
  for (int position = 0; position < kRows; ++position) {
    GumbelRow(20240607, 0, static_cast<uint64_t>(position), 0, kVocab, row.data());
    const auto best = std::max_element(row.begin(), row.end());
    // P(max of n <= x) = exp(-n e^-x)
    below.push_back(std::exp(-kVocab * std::exp(-static_cast<double>(*best))));
    ++places[static_cast<size_t>((best - row.begin()) * 128 / kVocab)];
  }
  std::sort(below.begin(), below.end());
  double distance = 0;
  for (int i = 0; i < kRows; ++i) {
    const double u = below[static_cast<size_t>(i)];
    distance = std::max({distance, u - i / double{kRows}, (i + 1) / double{kRows} - u});
  }
  EXPECT_LT(distance * std::sqrt(double{kRows}), 2.225);
  EXPECT_LT(ChiSquareOf(places, std::vector<double>(128, 1 / 128.0)).Sigmas(), 3.72);
  // The naive -log(-log u) with a 24-bit u has no draw above 16.64; here a third of the maxima
  // would be missing it or lie on its last few steps.
  const double above = static_cast<double>(std::count_if(below.begin(), below.end(), [](double u) {
    return u > std::exp(-kVocab * std::exp(-16.64));
  }));
  EXPECT_NEAR(above / kRows, 1 - std::exp(-kVocab * std::exp(-16.64)), 0.01);
}

}  // namespace
}  // namespace hunch
