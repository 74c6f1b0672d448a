// exp, log and log1p on sixteen lanes: one instruction sequence for every instruction set, so the
// bits are the same on every machine (docs/numerics.md gives the polynomials in words).
// Include after one vec16_*.h. At most 1 ulp over all fp32 inputs.
#ifndef HUNCH_KERNELS_MATH_INL_H_
#define HUNCH_KERNELS_MATH_INL_H_

namespace hunch {
namespace {

constexpr float kInfinity = __builtin_inff();
// 15 bits of ln 2, so that n * kLn2High is exact for |n| < 2^9, and the rest.
constexpr float kLn2High = 0x1.62e400p-1f;
constexpr float kLn2Low = 0x1.7f7d1cp-20f;

// e^x = 2^n (1 + r + r^2 q(r)), n = round(x / ln 2), |r| <= ln 2 / 2; q is minimax of degree 4
// (relative error 2^-28). NaN passes through every step.
VEC16_FN Floats ExpLanes(Floats x) {
  // Beyond these e^x is exactly 0 or infinite after the scaling. NaN comes second, so it stays.
  x = Min(Splat(89.0f), Max(Splat(-104.0f), x));
  const Floats magic = Splat(0x1.8p23f);  // adding it rounds to an integer, ties to even
  const Floats n = Sub(Fma(x, Splat(0x1.715476p0f), magic), magic);
  Floats r = Fma(n, Splat(-kLn2High), x);
  r = Fma(n, Splat(-kLn2Low), r);
  Floats q = Splat(0x1.6a1a72p-10f);
  q = Fma(q, r, Splat(0x1.123fc6p-7f));
  q = Fma(q, r, Splat(0x1.555916p-5f));
  q = Fma(q, r, Splat(0x1.55548ap-3f));
  q = Fma(q, r, Splat(0x1.fffffcp-2f));
  q = Fma(Mul(r, r), q, r);
  return ScaleByPowerOfTwo(Add(q, Splat(1.0f)), n);
}

// exponent * ln 2 + log(1 + f) + small, |f| below sqrt 2 - 1:
// log(1 + f) = f - f^2 / 2 + f^3 p(f), p minimax of degree 8 (relative error 2^-30).
VEC16_FN Floats LogTail(Floats exponent, Floats f, Floats small) {
  Floats p = Splat(0x1.1457a8p-4f);
  p = Fma(p, f, Splat(-0x1.de3c16p-4f));
  p = Fma(p, f, Splat(0x1.e6f06ap-4f));
  p = Fma(p, f, Splat(-0x1.fc2208p-4f));
  p = Fma(p, f, Splat(0x1.233768p-3f));
  p = Fma(p, f, Splat(-0x1.555c4ep-3f));
  p = Fma(p, f, Splat(0x1.99a4b6p-3f));
  p = Fma(p, f, Splat(-0x1.000006p-2f));
  p = Fma(p, f, Splat(0x1.555548p-2f));
  const Floats z = Mul(f, f);
  Floats y = Fma(Mul(p, f), z, small);
  y = Fma(exponent, Splat(kLn2Low), y);
  y = Fma(Splat(-0.5f), z, y);
  return Fma(exponent, Splat(kLn2High), Add(f, y));
}

// x = 2^exponent * m, m in [sqrt 1/2, sqrt 2), for a positive normal x.
VEC16_FN void SplitExponent(Floats x, Floats& exponent, Floats& m) {
  const Ints root = SplatInt(0x3F3504F3);  // sqrt 1/2
  const Ints offset = AddInts(AsInts(x), SplatInt(-0x3F3504F3));
  exponent = ToFloats(ShiftRight<23>(offset));
  m = AsFloats(AddInts(AndInts(offset, SplatInt(0x007FFFFF)), root));
}

// log of a positive, normal, finite x.
VEC16_FN Floats LogNormal(Floats x) {
  Floats exponent, m;
  SplitExponent(x, exponent, m);
  return LogTail(exponent, Sub(m, Splat(1.0f)), Splat(0.0f));
}

// The special cases that log and log1p share: `at` is the argument of the logarithm.
VEC16_FN Floats LogSpecial(Floats at, Floats result) {
  const Floats zero = Splat(0.0f);
  result = Select(Equal(at, Splat(kInfinity)), at, result);
  result = Select(Equal(at, zero), Splat(-kInfinity), result);
  result = Select(Less(at, zero), Splat(__builtin_nanf("")), result);
  return Select(Equal(at, at), result, at);
}

// log(+-0) = -inf, log(negative) = NaN, log(inf) = inf.
VEC16_FN Floats LogLanes(Floats x) {
  const Mask subnormal = Less(x, Splat(0x1p-126f));
  const Floats scaled = Select(subnormal, Mul(x, Splat(0x1p24f)), x);
  Floats exponent, m;
  SplitExponent(scaled, exponent, m);
  exponent = Select(subnormal, Sub(exponent, Splat(24.0f)), exponent);
  return LogSpecial(x, LogTail(exponent, Sub(m, Splat(1.0f)), Splat(0.0f)));
}

// log(1 + x) of a finite x above -1: u = 1 + x is rounded, and what it lost comes back as
// lost / u. Where u needs no power of two, x itself is the exact f.
VEC16_FN Floats Log1pNormal(Floats x) {
  const Floats one = Splat(1.0f);
  const Floats u = Add(one, x);
  const Floats back = Sub(u, one);
  const Floats lost = Add(Sub(one, Sub(u, back)), Sub(x, back));
  Floats exponent, m;
  SplitExponent(u, exponent, m);
  const Mask direct = Equal(exponent, Splat(0.0f));
  const Floats f = Select(direct, x, Sub(m, one));
  const Floats small = Select(direct, Splat(0.0f), Div(lost, u));
  return LogTail(exponent, f, small);
}

// log1p(-1) = -inf, log1p(below -1) = NaN, log1p(inf) = inf.
VEC16_FN Floats Log1pLanes(Floats x) { return LogSpecial(Add(Splat(1.0f), x), Log1pNormal(x)); }

}  // namespace
}  // namespace hunch

#endif  // HUNCH_KERNELS_MATH_INL_H_
