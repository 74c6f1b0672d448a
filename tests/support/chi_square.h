// Chi-square of counts against a distribution, for tests of sampling. Pure.
#ifndef HUNCH_TESTS_SUPPORT_CHI_SQUARE_H_
#define HUNCH_TESTS_SUPPORT_CHI_SQUARE_H_

#include <cmath>
#include <limits>
#include <vector>

namespace hunch {

// The statistic and its degrees of freedom. Cells that expect fewer than 5 are counted together.
// Infinite when a cell without any probability has a count.
struct ChiSquare {
  double statistic = 0;
  int degrees = -1;

  // How many standard deviations the statistic lies above its mean (Wilson and Hilferty): 3.09 has
  // p = 0.001, 4.75 has p = 1e-6.
  double Sigmas() const {
    const double v = 2.0 / (9.0 * degrees);
    return (std::cbrt(statistic / degrees) - (1 - v)) / std::sqrt(v);
  }
};

inline ChiSquare ChiSquareOf(const std::vector<double>& counts, const std::vector<double>& law) {
  double total = 0, rest_count = 0, rest_expected = 0;
  for (const double count : counts) total += count;
  ChiSquare result;
  const auto add = [&](double count, double expected) {
    result.statistic += (count - expected) * (count - expected) / expected;
    ++result.degrees;
  };
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = law[i] * total;
    if (expected >= 5) {
      add(counts[i], expected);
    } else if (expected > 0) {
      rest_count += counts[i];
      rest_expected += expected;
    } else if (counts[i] > 0) {
      result.statistic = std::numeric_limits<double>::infinity();
    }
  }
  if (rest_expected >= 5) add(rest_count, rest_expected);
  return result;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_CHI_SQUARE_H_
