// Rope frequencies and angles in double: our own log2, exp2, sin and cos, because those of the C
// library differ between machines. Plain scalar code, run once per row or model.
// Relative error of a frequency below 1e-14; absolute error of cos and sin of the product
// position * frequency below 1e-15 before the rounding to fp32 (positions up to 2^20).
#include <bit>
#include <cmath>

#include "kernels/ops.h"

namespace hunch {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2E = 0x1.71547652b82fep+0;
// Adding it rounds a double below 2^51 to an integer, ties to even.
constexpr double kRoundMagic = 0x1.8p52;

double RoundToInteger(double x) { return (x + kRoundMagic) - kRoundMagic; }

// Sum of coefficients[i] x^i by fma.
template <int kTerms>
double Polynomial(const double (&coefficients)[kTerms], double x) {
  double sum = coefficients[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

// log2 of a positive normal x: 2^e m, m in [sqrt 1/2, sqrt 2), log m = 2 atanh((m - 1) / (m + 1)).
double Log2(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (m > 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++exponent;
  }
  static constexpr double kAtanh[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                      1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  const double s = (m - 1) / (m + 1);
  return std::fma(2 * s * Polynomial(kAtanh, s * s), kLog2E, exponent);
}

// 2^x for |x| < 1000: 2^n e^r, |r| <= ln 2 / 2, by the series of e^r up to r^14.
double Exp2(double x) {
  static constexpr double kExp[] = {1.0,
                                    1.0,
                                    1.0 / 2,
                                    1.0 / 6,
                                    1.0 / 24,
                                    1.0 / 120,
                                    1.0 / 720,
                                    1.0 / 5040,
                                    1.0 / 40320,
                                    1.0 / 362880,
                                    1.0 / 3628800,
                                    1.0 / 39916800,
                                    1.0 / 479001600,
                                    1.0 / 6227020800.0,
                                    1.0 / 87178291200.0};
  const double n = RoundToInteger(x);
  const double power = Polynomial(kExp, (x - n) * kLn2);
  return power * std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52);
}

// cos and sin of a finite angle, |angle| < 2^40: n quarter turns (pi / 2 in two parts, each product
// exact inside its fma), then the series on |r| <= pi / 4.
void CosSin(double angle, double& cos, double& sin) {
  constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54;
  static constexpr double kSin[] = {1.0,
                                    -1.0 / 6,
                                    1.0 / 120,
                                    -1.0 / 5040,
                                    1.0 / 362880,
                                    -1.0 / 39916800,
                                    1.0 / 6227020800.0,
                                    -1.0 / 1307674368000.0,
                                    1.0 / 355687428096000.0};
  static constexpr double kCos[] = {1.0,
                                    -1.0 / 2,
                                    1.0 / 24,
                                    -1.0 / 720,
                                    1.0 / 40320,
                                    -1.0 / 3628800,
                                    1.0 / 479001600,
                                    -1.0 / 87178291200.0,
                                    1.0 / 20922789888000.0,
                                    -1.0 / 6402373705728000.0};
  const double n = RoundToInteger(angle * 0x1.45f306dc9c883p-1);  // 2 / pi
  const double r = std::fma(n, -kHalfPiLow, std::fma(n, -kHalfPiHigh, angle));
  const double s = r * Polynomial(kSin, r * r);
  const double c = Polynomial(kCos, r * r);
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      cos = c, sin = s;
      break;
    case 1:
      cos = -s, sin = c;
      break;
    case 2:
      cos = -c, sin = -s;
      break;
    default:
      cos = s, sin = -c;
  }
}

}  // namespace

void RopeAngles(int64_t position, const double* frequency, int n, float* cos_sin) {
  for (int i = 0; i < n; ++i) {
    double cos, sin;
    CosSin(static_cast<double>(position) * frequency[i], cos, sin);
    cos_sin[2 * i] = static_cast<float>(cos);
    cos_sin[2 * i + 1] = static_cast<float>(sin);
  }
}

void RopeFrequencies(double theta, int dim, double* frequency) {
  const double log2_theta = Log2(theta);
  for (int i = 0; i < dim / 2; ++i) {
    frequency[i] = Exp2(-2.0 * i / dim * log2_theta);
  }
}

}  // namespace hunch
