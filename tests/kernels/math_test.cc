// exp, log and log1p: accuracy of the reference against the C library in double over a lattice of
// all fp32 bit patterns, special values, and bit equality of every instruction set.
#include "kernels/ops.h"
#include "ops_support.h"

namespace hunch {
namespace {

using RowOp = void (*)(const float*, int64_t, float*);

struct Function {
  const char* name;
  RowOp Ops::*row;
  double (*truth)(double);
  double most_ulp;
};
const Function kFunctions[] = {
    {"exp", &Ops::exp_row, std::exp, 1.0},
    {"log", &Ops::log_row, std::log, 1.0},
    {"log1p", &Ops::log1p_row, std::log1p, 1.0},
};

// Every `step`-th bit pattern: both signs, all exponents, infinities and NaNs.
std::vector<float> Lattice(uint32_t step) {
  std::vector<float> all;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += step) {
    all.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return all;
}

TEST(MathTest, WithinStatedUlps) {
  const std::vector<float> x = Lattice(5003);
  std::vector<float> y(x.size());
  for (const Function& f : kFunctions) {
    (OpsFor(Isa::kRef)->*f.row)(x.data(), x.size(), y.data());
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = UlpError(y[i], f.truth(x[i]));
      if (error > worst) worst = error, where = x[i];
    }
    EXPECT_LE(worst, f.most_ulp) << f.name << " at " << where;
    RecordProperty(f.name, std::to_string(worst));
  }
}

TEST(MathTest, IsaEqualsReference) {
  const std::vector<float> x = Lattice(4001);
  std::vector<float> want(x.size()), got(x.size());
  for (const Function& f : kFunctions) {
    (OpsFor(Isa::kRef)->*f.row)(x.data(), x.size(), want.data());
    for (Isa isa : VectorIsas()) {
      (OpsFor(isa)->*f.row)(x.data(), x.size(), got.data());
      EXPECT_TRUE(SameRow(want, got)) << f.name << " " << IsaName(isa);
    }
  }
}

TEST(MathTest, EdgesEqualReferenceAndTruth) {
  std::vector<float> x;
  // Around every place where a sequence changes its path.
  for (float center : {0.0f, 1.0f, -1.0f, 0x1p-126f, 0x1p-149f, 0x1.6a09e6p-1f, 0x1.6a09e6p0f, 2.0f,
                       88.722839f, -87.336544f, -103.27893f, -103.97208f, 89.0f, -104.0f,
                       -0.29289323f, 0.41421356f, 0x1p24f, 3.4028235e38f}) {
    float low = center, high = center;
    for (int i = 0; i < 20; ++i) {
      x.push_back(low);
      x.push_back(high);
      low = std::nextafter(low, -kInf);
      high = std::nextafter(high, kInf);
    }
  }
  std::vector<float> want(x.size()), got(x.size());
  for (const Function& f : kFunctions) {
    (OpsFor(Isa::kRef)->*f.row)(x.data(), x.size(), want.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_LE(UlpError(want[i], f.truth(x[i])), f.most_ulp) << f.name << " " << x[i];
    }
    for (Isa isa : VectorIsas()) {
      (OpsFor(isa)->*f.row)(x.data(), x.size(), got.data());
      EXPECT_TRUE(SameRow(want, got)) << f.name << " " << IsaName(isa);
    }
  }
}

TEST(MathTest, SpecialValues) {
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-0.0f), 1.0f);
  EXPECT_EQ(Exp(kInf), kInf);
  EXPECT_EQ(Exp(-kInf), 0.0f);
  EXPECT_FALSE(std::signbit(Exp(-kInf)));
  EXPECT_EQ(Exp(1000.0f), kInf);
  EXPECT_EQ(Exp(-1000.0f), 0.0f);
  EXPECT_TRUE(std::isnan(Exp(kNan)));
  EXPECT_EQ(Log(1.0f), 0.0f);
  EXPECT_EQ(Log(0.0f), -kInf);
  EXPECT_EQ(Log(-0.0f), -kInf);
  EXPECT_EQ(Log(kInf), kInf);
  EXPECT_TRUE(std::isnan(Log(-1e-45f)));
  EXPECT_TRUE(std::isnan(Log(-kInf)));
  EXPECT_TRUE(std::isnan(Log(kNan)));
  EXPECT_EQ(Log1p(0.0f), 0.0f);
  EXPECT_EQ(Log1p(1e-45f), 1e-45f);
  EXPECT_EQ(Log1p(-1.0f), -kInf);
  EXPECT_EQ(Log1p(kInf), kInf);
  EXPECT_TRUE(std::isnan(Log1p(-1.0000001f)));
  EXPECT_TRUE(std::isnan(Log1p(kNan)));
}

TEST(MathTest, RowEqualsScalarEntryPointAtEveryLength) {
  std::mt19937 random(1);
  for (int n = 0; n < 70; ++n) {
    const std::vector<float> x = AwkwardRow(random, n, 5);
    std::vector<float> y(n + 1, 7.0f);
    ExpRow(x.data(), n, y.data());
    for (int i = 0; i < n; ++i) EXPECT_TRUE(SameBits(y[i], Exp(x[i])));
    EXPECT_EQ(y[n], 7.0f) << "wrote past the end";
  }
}

}  // namespace
}  // namespace hunch
