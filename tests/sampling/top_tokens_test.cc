// Tests of the likeliest tokens against a full sort, on rows of every shape, with and without the
// largest of each block.
#include "sampling/top_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/row_ops.h"

namespace hunch {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Ids = std::vector<TokenId>;

Ids Sorted(const std::vector<float>& row, int vocab, int count) {
  Ids ids;
  for (TokenId id = 0; id < vocab; ++id) {
    if (row[id] > -kInfinity) ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) { return row[a] > row[b]; });
  ids.resize(count, -1);
  return ids;
}

// Of a row that is padded beyond its vocabulary.
void Check(const std::vector<float>& row, int vocab, int count) {
  std::vector<float> maxima(LogitBlocks(static_cast<int64_t>(row.size())));
  BlockMaxima(row.data(), static_cast<int64_t>(row.size()), maxima.data());
  const Ids wanted = Sorted(row, vocab, count);
  const std::span logits(row.data(), static_cast<size_t>(vocab));
  for (const float* known : {static_cast<const float*>(nullptr), std::as_const(maxima).data()}) {
    Ids got(static_cast<size_t>(count) + 1, 99);
    TopTokens({logits, known}, count, got);
    EXPECT_EQ(got.back(), 99);
    got.pop_back();
    EXPECT_EQ(got, wanted) << "vocab " << vocab << ", count " << count
                           << (known != nullptr ? ", with maxima" : "");
  }
}

TEST(TopTokensTest, AsAFullSortHasThem) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  for (const int vocab : {1, 5, 63, 64, 65, 128, 1000, 4096, 5001}) {
    for (const int padding : {0, 1, 24, 64, 100}) {
      std::vector<float> row(static_cast<size_t>(vocab + padding));
      for (float& logit : row) logit = normal(random);
      for (int i = vocab; i < vocab + padding; ++i) row[i] += 50;  // never to be seen
      for (const int count : {0, 1, 2, 8, 16}) Check(row, vocab, count);
    }
  }
}

TEST(TopTokensTest, EqualsGoByTheLowerId) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> row(700);
    for (float& logit : row) logit = static_cast<float>(random() % 4);
    Check(row, 650, 8);
  }
  Check(std::vector<float>(3000, 1.5f), 2990, 16);
  std::vector<float> zeros(200, -0.0f);
  for (size_t i = 0; i < zeros.size(); i += 3) zeros[i] = 0.0f;
  Check(zeros, 200, 8);
}

TEST(TopTokensTest, NanAndMinusInfinityAreNeverAmongThem) {
  std::mt19937 random(3);
  for (const unsigned usual : {0u, 1u, 40u}) {  // of 100
    for (int round = 0; round < 20; ++round) {
      std::vector<float> row(500);
      for (float& logit : row) {
        logit = random() % 100 < usual ? static_cast<float>(random() % 100)
                : random() % 2 == 0    ? kNan
                                       : -kInfinity;
      }
      Check(row, 470, 8);
    }
  }
  std::vector<float> infinite(300, 2.0f);
  infinite[77] = infinite[200] = kInfinity;
  Check(infinite, 300, 4);
}

TEST(TopTokensTest, ManyOfTheBestMayShareABlock) {
  std::vector<float> row(1000);
  for (int i = 0; i < 1000; ++i) row[i] = static_cast<float>(i % 7);
  for (int i = 0; i < 20; ++i) row[640 + i] = 100.0f + static_cast<float>(i * 7 % 20);
  Check(row, 1000, 16);
}

// A row of the largest vocabulary costs about 10 us; the bound leaves room for a busy machine.
TEST(TopTokensTest, CheapWithMaxima) {
  std::vector<float> row(151936);
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 3);
  for (float& logit : row) logit = normal(random);
  std::vector<float> maxima(LogitBlocks(151936));
  BlockMaxima(row.data(), 151936, maxima.data());
  Ids top(8);
  double best = 1;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    TopTokens({row, maxima.data()}, 8, top);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  RecordProperty("microseconds", std::to_string(best * 1e6));
  EXPECT_LT(best, 200e-6);
}

}  // namespace
}  // namespace hunch
