// Linear layers: every instruction set against the scalar truth, and the truth against plain
// arithmetic in double.
#include "kernels/matmul.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/matmul_support.h"

namespace hunch {
namespace {

void ExpectSame(const std::vector<float>& expected, const std::vector<float>& actual, int64_t n,
                const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(SameBits(expected[i], actual[i]))
        << what << ": row " << static_cast<int64_t>(i) / n << " output "
        << static_cast<int64_t>(i) % n << ": " << expected[i] << " vs " << actual[i];
  }
}

// A K of whole blocks that is not a whole number of 256, where the type allows it, and one that is.
std::vector<int64_t> Columns(TensorType type) {
  switch (GetTypeTraits(type).block_elements) {
    case 1:
      return {37, 256};
    case 32:
      return {32, 96, 576, 1024};
    default:
      return {256, 768};
  }
}

class MatMulEachType : public testing::TestWithParam<TensorType> {};

TEST_P(MatMulEachType, EveryIsaEqualsRef) {
  const TensorType type = GetParam();
  const int64_t n = 53;
  for (int64_t k : Columns(type)) {
    const PackedMatrix w = PackOrDie(type, n, k, RandomWeights(type, n, k, 7));
    TestActs acts(37, k, 8);
    for (int m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 37}) {
      const auto expected = Multiply(Isa::kRef, w, acts.Rows(0, m));
      for (Isa isa : SupportedIsas()) {
        for (bool pairs : {false, true}) {
          ExpectSame(expected, Multiply(isa, w, acts.Rows(0, m), 0, -1, pairs), n,
                     fmt::format("{} k {} m {} pairs {}", IsaName(isa), k, m, pairs));
        }
      }
    }
  }
}

// So many activations that a kernel takes them in several panels, the last of a few rows.
TEST_P(MatMulEachType, LongRowsInSeveralPanels) {
  const TensorType type = GetParam();
  const int64_t n = 37, k = 16384;
  const PackedMatrix w = PackOrDie(type, n, k, RandomWeights(type, n, k, 25));
  TestActs acts(26, k, 26);
  const auto expected = Multiply(Isa::kRef, w, acts.All());
  for (Isa isa : SupportedIsas()) {
    ExpectSame(expected, Multiply(isa, w, acts.All()), n, std::string(IsaName(isa)));
  }
}

TEST_P(MatMulEachType, RowDoesNotSeeOtherRows) {
  const TensorType type = GetParam();
  const int64_t n = 32, k = 512;
  const PackedMatrix w = PackOrDie(type, n, k, RandomWeights(type, n, k, 9));
  TestActs acts(17, k, 10);
  for (Isa isa : SupportedIsas()) {
    const auto all = Multiply(isa, w, acts.All());
    for (int row = 0; row < 17; ++row) {
      const auto one = Multiply(isa, w, acts.Rows(row, 1));
      const std::vector<float> of_all(all.begin() + row * n, all.begin() + (row + 1) * n);
      ExpectSame(one, of_all, n, fmt::format("{} row {}", IsaName(isa), row));
    }
  }
}

// Five rows: kernels that take groups in pairs then meet odd and even counts.
TEST_P(MatMulEachType, GroupRangesWriteTheirOutputsOnly) {
  const TensorType type = GetParam();
  const int64_t n = 71, k = 256;  // 5 groups, the last of 7 rows
  const PackedMatrix w = PackOrDie(type, n, k, RandomWeights(type, n, k, 11));
  TestActs acts(5, k, 12);
  for (Isa isa : SupportedIsas()) {
    const auto whole = Multiply(isa, w, acts.All());
    for (int64_t begin = 0; begin <= w.groups(); ++begin) {
      for (int64_t end = begin; end <= w.groups(); ++end) {
        auto expected = whole;
        for (int64_t i = 0; i < 5 * n; ++i) {
          const int64_t group = i % n / kGroupRows;
          if (group < begin || group >= end) expected[static_cast<size_t>(i)] = -1;
        }
        ExpectSame(expected, Multiply(isa, w, acts.All(), begin, end), n,
                   fmt::format("{} groups {}..{}", IsaName(isa), begin, end));
      }
    }
  }
}

TEST_P(MatMulEachType, ReadsOnlyTheActivationsOfItsKind) {
  const TensorType type = GetParam();
  const PackedMatrix w = PackOrDie(type, 48, 256, RandomWeights(type, 48, 256, 19));
  TestActs acts(9, 256, 20);
  ActRows needed = acts.All();
  if (UsesQuantizedActs(type)) {
    needed.f32 = nullptr;
  } else {
    needed.q = nullptr;
    needed.scale = nullptr;
    needed.sum = nullptr;
  }
  for (Isa isa : SupportedIsas()) {
    ExpectSame(Multiply(isa, w, acts.All()), Multiply(isa, w, needed), 48,
               std::string(IsaName(isa)));
  }
}

TEST_P(MatMulEachType, ExtremeCodesAndActivationsAreExact) {
  const TensorType type = GetParam();
  const int64_t n = 16, k = 512;
  // 0x80 is -128 for Q8_0 and the middle for nibbles; 0x7F its largest.
  for (int code_byte : {0x00, 0xFF, 0x80, 0x7F, 0x0F, 0xF0}) {
    const PackedMatrix w = PackOrDie(type, n, k, RandomWeights(type, n, k, 13, code_byte));
    TestActs acts(5, k, 14);
    for (int64_t i = 0; i < k; ++i) {
      acts.f32()[i] = 3;       // q = 127
      acts.f32()[k + i] = -3;  // q = -127
      acts.f32()[2 * k + i] = i % 2 == 0 ? 3.f : -3.f;
      acts.f32()[3 * k + i] = 0;  // scale 0
    }
    acts.Quantise();
    const auto expected = Multiply(Isa::kRef, w, acts.All());
    for (Isa isa : SupportedIsas()) {
      ExpectSame(expected, Multiply(isa, w, acts.All()), n,
                 fmt::format("{} byte {:#x}", IsaName(isa), code_byte));
    }
  }
}

TEST_P(MatMulEachType, HostileScalesDoNotCrashAndAgree) {
  const TensorType type = GetParam();
  const int64_t n = 32, k = 512;
  std::vector<std::byte> bytes(BytesOf(type, n * k));
  std::mt19937 random(15);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  const PackedMatrix w = PackOrDie(type, n, k, bytes);
  TestActs acts(6, k, 16);
  acts.f32()[5] = std::numeric_limits<float>::infinity();
  acts.f32()[k + 300] = std::numeric_limits<float>::quiet_NaN();
  acts.Quantise();
  const auto expected = Multiply(Isa::kRef, w, acts.All());
  for (Isa isa : SupportedIsas()) {
    ExpectSame(expected, Multiply(isa, w, acts.All()), n, std::string(IsaName(isa)));
  }
}

// A sanity check of the truth itself; the only tolerance in this file.
TEST_P(MatMulEachType, RefIsCloseToDouble) {
  const TensorType type = GetParam();
  const int64_t n = 19, k = 768;
  const auto bytes = RandomWeights(type, n, k, 17);
  const PackedMatrix w = PackOrDie(type, n, k, bytes);
  TestActs acts(2, k, 18);
  std::vector<float> weights(static_cast<size_t>(n * k));
  Dequantize(type, bytes, weights);
  const auto y = Multiply(Isa::kRef, w, acts.All());
  for (int64_t m = 0; m < 2; ++m) {
    for (int64_t row = 0; row < n; ++row) {
      double dot = 0, magnitude = 0;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t at = m * k + i;
        const double x = UsesQuantizedActs(type)
                             ? static_cast<double>(acts.q()[at]) * acts.scale()[at / 32]
                             : acts.f32()[at];
        const double term = weights[static_cast<size_t>(row * k + i)] * x;
        dot += term;
        magnitude += std::abs(term);
      }
      EXPECT_NEAR(y[static_cast<size_t>(m * n + row)], dot, 1e-5 * magnitude)
          << "row " << row << " of " << m;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatMulEachType, testing::ValuesIn(AllTypes()),
                         [](const auto& info) { return TypeName(info.param); });

TEST(MatMulDispatch, RunsTheActiveIsa) {
  // With HUNCH_ISA forced, ActiveIsa() is the forced one (base/isa.h).
  EXPECT_EQ(MatMulIsaName(), IsaName(ActiveIsa()));
  const PackedMatrix w =
      PackOrDie(TensorType::kQ4_K, 64, 256, RandomWeights(TensorType::kQ4_K, 64, 256, 23));
  TestActs acts(5, 256, 24);
  std::vector<float> y(5 * 64);
  MatMul(w, acts.All(), y.data(), 64, 0, w.groups());
  ExpectSame(Multiply(ActiveIsa(), w, acts.All()), y, 64, "active");
}

}  // namespace
}  // namespace hunch
