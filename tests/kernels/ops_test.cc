// The ops of a forward pass other than attention: the reference against plain double formulas, and
// every instruction set against the reference, bit for bit.
#include "kernels/ops.h"

#include "ops_support.h"
#include "quant/quant.h"

namespace hunch {
namespace {

const int kLengths[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 576, 1536, 1543};

TEST(OpsTest, RmsNormNearDouble) {
  std::mt19937 random(1);
  for (int n : kLengths) {
    const std::vector<float> x = RandomRow(random, n), w = RandomRow(random, n);
    std::vector<float> y(n);
    OpsFor(Isa::kRef)->rms_norm(x.data(), w.data(), 1e-5f, n, y.data());
    double squares = 0;
    for (float v : x) squares += double{v} * v;
    const double r = 1 / std::sqrt(squares / n + double{1e-5f});
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(y[i], x[i] * r * w[i], 1e-6 * std::fabs(x[i] * r * w[i])) << n << " " << i;
    }
  }
}

TEST(OpsTest, RmsNormFollowsTheContractsOrder) {
  // Sixteen partial sums by index, then the tree, written here a second time.
  std::mt19937 random(2);
  const int n = 75;
  const std::vector<float> x = RandomRow(random, n), w = RandomRow(random, n);
  float sum[16] = {};
  for (int i = 0; i < n; ++i) sum[i % 16] = std::fma(x[i], x[i], sum[i % 16]);
  for (int j = 0; j < 8; ++j) sum[j] += sum[j + 8];
  for (int j = 0; j < 4; ++j) sum[j] += sum[j + 4];
  for (int j = 0; j < 2; ++j) sum[j] += sum[j + 2];
  const float r = 1.0f / std::sqrt((sum[0] + sum[1]) / n + 1e-6f);
  std::vector<float> want(n), got(n);
  for (int i = 0; i < n; ++i) want[i] = x[i] * r * w[i];
  RmsNorm(x.data(), w.data(), 1e-6f, n, got.data());
  EXPECT_TRUE(SameRow(want, got));
}

TEST(OpsTest, RmsNormIsaEqualsReferenceInPlaceToo) {
  std::mt19937 random(3);
  for (int n : kLengths) {
    for (int every : {1000000, 40}) {
      const std::vector<float> x = AwkwardRow(random, n, every), w = RandomRow(random, n);
      std::vector<float> want(n);
      OpsFor(Isa::kRef)->rms_norm(x.data(), w.data(), 1e-5f, n, want.data());
      for (Isa isa : VectorIsas()) {
        std::vector<float> got = x;
        OpsFor(isa)->rms_norm(got.data(), w.data(), 1e-5f, n, got.data());
        EXPECT_TRUE(SameRow(want, got)) << IsaName(isa) << " " << n;
      }
    }
  }
}

TEST(OpsTest, SiluMulNearDoubleAndIsaEqualsReference) {
  std::mt19937 random(4);
  for (int n : kLengths) {
    const std::vector<float> gate = RandomRow(random, n, 5), up = RandomRow(random, n);
    std::vector<float> want(n);
    OpsFor(Isa::kRef)->silu_mul(gate.data(), up.data(), n, want.data());
    for (int i = 0; i < n; ++i) {
      const double truth = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
      EXPECT_NEAR(want[i], truth, 5e-7 * std::fabs(truth));
    }
    for (Isa isa : VectorIsas()) {
      std::vector<float> got = gate;
      OpsFor(isa)->silu_mul(got.data(), up.data(), n, got.data());
      EXPECT_TRUE(SameRow(want, got)) << IsaName(isa) << " " << n;
      const std::vector<float> odd = AwkwardRow(random, n, 3);
      std::vector<float> odd_want(n), odd_got = up;
      OpsFor(Isa::kRef)->silu_mul(odd.data(), up.data(), n, odd_want.data());
      OpsFor(isa)->silu_mul(odd.data(), odd_got.data(), n, odd_got.data());
      EXPECT_TRUE(SameRow(odd_want, odd_got)) << IsaName(isa) << " " << n;
    }
  }
}

TEST(OpsTest, AddInPlaceIsOneRounding) {
  std::mt19937 random(5);
  for (Isa isa : SupportedIsas()) {
    for (int n : kLengths) {
      const std::vector<float> x = AwkwardRow(random, n, 9), y = AwkwardRow(random, n, 9);
      std::vector<float> want(n), got = x;
      for (int i = 0; i < n; ++i) want[i] = x[i] + y[i];
      OpsFor(isa)->add_in_place(got.data(), y.data(), n);
      EXPECT_TRUE(SameRow(want, got)) << IsaName(isa) << " " << n;
    }
  }
}

TEST(OpsTest, RopeFrequenciesArePowers) {
  for (double theta : {10000.0, 100000.0, 1000000.0, 500000.0, 1.0, 2.5}) {
    for (int dim : {2, 64, 80, 128, 256}) {
      std::vector<double> frequency(dim / 2);
      RopeFrequencies(theta, dim, frequency.data());
      for (int i = 0; i < dim / 2; ++i) {
        const double truth = std::pow(theta, -2.0 * i / dim);
        EXPECT_NEAR(frequency[i], truth, 1e-14 * truth) << theta << " " << i;
      }
    }
  }
}

TEST(OpsTest, RopeAnglesNearTheCLibrary) {
  std::mt19937 random(6);
  std::vector<double> frequency(64);
  RopeFrequencies(1e6, 128, frequency.data());
  std::vector<float> cos_sin(128);
  for (int i = 0; i < 3000; ++i) {
    const int64_t position = i < 1000 ? i : random() % (1 << 20);
    RopeAngles(position, frequency.data(), 64, cos_sin.data());
    for (int j = 0; j < 64; ++j) {
      const double angle = static_cast<double>(position) * frequency[j];
      // Both round a double that is right to about 1e-16: at most one fp32 step apart.
      EXPECT_LE(UlpError(cos_sin[2 * j], std::cos(angle)), 0.500001) << position << " " << j;
      EXPECT_LE(UlpError(cos_sin[2 * j + 1], std::sin(angle)), 0.500001) << position << " " << j;
    }
  }
}

TEST(OpsTest, RopeRotatesPairs) {
  std::mt19937 random(7);
  for (bool neox : {false, true}) {
    for (int pairs : {1, 8, 16, 20, 32, 40, 48, 64}) {
      const int heads = 3, dim = 2 * pairs + 16;
      const std::vector<float> x = RandomRow(random, heads * dim);
      const std::vector<float> cos_sin = RandomRow(random, 2 * pairs);
      std::vector<float> want = x;
      for (int h = 0; h < heads; ++h) {
        for (int i = 0; i < pairs; ++i) {
          const int first = h * dim + (neox ? i : 2 * i);
          const int second = neox ? first + pairs : first + 1;
          const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1];
          want[first] = std::fma(x[first], c, -(x[second] * s));
          want[second] = std::fma(x[first], s, x[second] * c);
        }
      }
      for (Isa isa : SupportedIsas()) {
        std::vector<float> got = x;
        OpsFor(isa)->rope(got.data(), heads, dim, pairs, cos_sin.data(), neox);
        EXPECT_TRUE(SameRow(want, got)) << IsaName(isa) << " " << pairs << " " << neox;
      }
    }
  }
}

// A cache whose blocks and heads have gaps, every float in it NaN.
struct Cache {
  std::vector<float> k, v;
  KvLayer layer;
  Cache(KvType type, int blocks, int kv_heads, int head_dim) {
    layer = DenseKvLayer(type, nullptr, nullptr, kv_heads, head_dim);
    layer.head_stride += 64;
    layer.block_stride = kv_heads * layer.head_stride + 128;
    k.resize(blocks * layer.block_stride / sizeof(float));
    std::memset(k.data(), 0xff, k.size() * sizeof(float));
    v = k;
    layer.k = k.data(), layer.v = v.data();
  }
  // Element `index` of a block and head times the scale of its slot.
  float At(const std::vector<float>& cache, int block, int h, int index, int slot) const {
    const auto* head = reinterpret_cast<const std::byte*>(cache.data()) +
                       block * layer.block_stride + h * layer.head_stride;
    if (layer.type == KvType::kF32) return reinterpret_cast<const float*>(head)[index];
    if (layer.type == KvType::kF16) {
      return F16ToF32(reinterpret_cast<const uint16_t*>(head)[index]);
    }
    const auto* scales = reinterpret_cast<const float*>(head + layer.head_dim * kKvBlock);
    return static_cast<float>(static_cast<int8_t>(head[index])) * scales[slot];
  }
  float Key(int block, int h, int d, int slot) const {
    return At(k, block, h, d * kKvBlock + slot, slot);
  }
  float Value(int block, int h, int d, int slot) const {
    return At(v, block, h, slot * layer.head_dim + d, slot);
  }
};

TEST(OpsTest, KvStoreRoundsAndMoveCopies) {
  std::mt19937 random(8);
  for (KvType type : kKvTypes) {
    for (Isa isa : SupportedIsas()) {
      const int heads = 6, dim = 48;
      Cache cache(type, 3, heads, dim);
      std::vector<float> k = AwkwardRow(random, heads * dim, 100);  // some heads without NaN
      std::vector<float> v = AwkwardRow(random, heads * dim, 6);
      for (int d = 0; d < dim; ++d) {
        k[d] = 0;
        v[d] *= 1e-40f;
        k[dim + d] = d == 7 ? kInf : 1;
      }
      OpsFor(isa)->kv_store(cache.layer, 1, 5, k.data(), v.data());
      KvMove(cache.layer, 1, 5, 2, 15);
      KvMove(cache.layer, 1, 5, 1, 0);
      const KvRow want_k = KeysRoundedToKv(type, k, heads), want_v = RoundedToKv(type, v, heads);
      for (int h = 0; h < heads; ++h) {
        for (int d = 0; d < dim; ++d) {
          for (const auto& [block, slot] : {std::pair{1, 5}, std::pair{2, 15}, std::pair{1, 0}}) {
            EXPECT_TRUE(SameBits(cache.Key(block, h, d, slot), want_k.Value(h * dim + d)))
                << IsaName(isa) << " key " << k[h * dim + d];
            EXPECT_TRUE(SameBits(cache.Value(block, h, d, slot), want_v.Value(h * dim + d)))
                << IsaName(isa) << " value " << v[h * dim + d];
          }
          // Neighbours keep what they had.
          EXPECT_TRUE(std::isnan(cache.Key(1, h, d, 4)));
          EXPECT_TRUE(std::isnan(cache.Value(1, h, d, 6)));
        }
      }
    }
  }
}

TEST(OpsTest, KvBytes) {
  EXPECT_EQ(KvBlockBytes(KvType::kF16, 3, 64), 16 * 3 * 64 * 2);
  EXPECT_EQ(KvBlockBytes(KvType::kF32, 3, 64), 16 * 3 * 64 * 4);
  EXPECT_EQ(KvBlockBytes(KvType::kQ8_0, 3, 64), 16 * 3 * (64 + 4));
}

TEST(OpsTest, ArgMaxTiesNansAndInfinities) {
  for (Isa isa : SupportedIsas()) {
    const auto arg_max = [&](std::vector<float> x) {
      return OpsFor(isa)->arg_max(x.data(), static_cast<int64_t>(x.size()));
    };
    EXPECT_EQ(arg_max({3}), 0);
    EXPECT_EQ(arg_max({1, 3, 3, 2}), 1);
    EXPECT_EQ(arg_max({kNan, 1, kNan, 5, kNan}), 3);
    EXPECT_EQ(arg_max({kNan, kNan}), 0);
    EXPECT_EQ(arg_max({kNan, -kInf, -kInf}), 1);
    EXPECT_EQ(arg_max({-kInf, -kInf}), 0);
    EXPECT_EQ(arg_max({1, kInf, kNan, kInf}), 1);
    EXPECT_EQ(arg_max({-0.0f, 0.0f}), 0);
    EXPECT_EQ(arg_max(std::vector<float>(50, kNan)), 0);
    for (int n = 1; n < 200; ++n) {
      for (int at : {0, n / 3, n / 2, n - 1}) {
        std::vector<float> x(n, -1.0f);
        if (n > 2) x[n / 4] = kNan;
        x[at] = 2.0f;
        x[n - 1] = 2.0f;
        EXPECT_EQ(arg_max(x), at) << IsaName(isa) << " " << n;
      }
    }
  }
}

TEST(OpsTest, SoftmaxStatsNearDoubleAndIsaEqualsReference) {
  std::mt19937 random(9);
  for (int n : {1, 5, 16, 17, 64, 65, 999, 49152}) {
    const std::vector<float> x = RandomRow(random, n, 6);
    const MaxSum want = OpsFor(Isa::kRef)->softmax_stats(x.data(), n);
    double sum = 0;
    for (float v : x) sum += std::exp(double{v} - want.max);
    EXPECT_EQ(want.max, *std::max_element(x.begin(), x.end()));
    EXPECT_NEAR(want.sum, sum, 2e-6 * sum);
    std::vector<float> shifted = x;  // all far below zero: a padded lane would show
    for (float& v : shifted) v -= 500.0f;
    const MaxSum low = OpsFor(Isa::kRef)->softmax_stats(shifted.data(), n);
    EXPECT_NEAR(low.sum, sum, 1e-3 * sum);
    for (Isa isa : VectorIsas()) {
      const MaxSum got = OpsFor(isa)->softmax_stats(x.data(), n);
      EXPECT_TRUE(SameBits(want.max, got.max) && SameBits(want.sum, got.sum)) << IsaName(isa);
      const MaxSum got_low = OpsFor(isa)->softmax_stats(shifted.data(), n);
      EXPECT_TRUE(SameBits(low.max, got_low.max) && SameBits(low.sum, got_low.sum));
    }
  }
}

}  // namespace
}  // namespace hunch
