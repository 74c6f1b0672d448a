// The learning rate of each update: from nothing up to `peak` over a warm-up, then down a cosine to
// a tenth of it. Pure.
#ifndef HUNCH_TRAIN_LEARNING_RATE_H_
#define HUNCH_TRAIN_LEARNING_RATE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace hunch {

// update: from 0; updates: all that there will be, at least 1.
inline double LearningRate(double peak, int64_t update, int64_t updates) {
  constexpr double kWarmUp = 0.04, kLeast = 0.1;
  const double warm_up = std::max(1.0, kWarmUp * static_cast<double>(updates));
  const double at = static_cast<double>(update) + 1;
  if (at <= warm_up) return peak * at / warm_up;
  const double rest = std::max(1.0, static_cast<double>(updates) - warm_up);
  const double share = std::min(1.0, (at - warm_up) / rest);
  return peak * (kLeast + (1 - kLeast) * (1 + std::cos(std::numbers::pi * share)) / 2);
}

}  // namespace hunch

#endif  // HUNCH_TRAIN_LEARNING_RATE_H_
