// Section "numerics contract" of docs/numerics.md on whole models: a logits row is a function of
// the prefix alone, to the bit.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/isa.h"
#include "kernels/matmul.h"
#include "support/model_runner.h"
#include "support/models.h"

namespace hunch {
namespace {

std::vector<TokenId> RandomTokens(int count, int vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % vocab);
  return tokens;
}

void ExpectSameBits(const LogitsRow& a, const LogitsRow& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

void ExpectSameBits(const std::vector<LogitsRow>& a, const std::vector<LogitsRow>& b,
                    const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t r = 0; r < a.size(); ++r)
    ExpectSameBits(a[r], b[r], what + ", row " + std::to_string(r));
}

// A model and its cache. TheBitsThemselves takes f16 for both unquantised types.
struct Subject {
  std::string model;
  KvType kv;
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.model; }

class ModelBits : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    const auto isa = ChooseIsa();
    if (!isa.ok()) GTEST_SKIP() << isa.error().message;
  }
  // Empty when the model is absent; the test then skips.
  std::string Path() const {
    if (!IsReal()) return TinyModelPath(GetParam().model);
    return ModelPath("smollm2").value_or("");
  }
  bool IsReal() const { return GetParam().model == "smollm2"; }
  KvType Kv() const { return GetParam().kv; }
  // Past a chunk border of attention for the tiny ones; the real model is slower.
  int Length() const { return IsReal() ? 40 : 280; }
};

#define HUNCH_REQUIRE_PATH(path)   \
  const std::string path = Path(); \
  if (path.empty()) GTEST_SKIP() << "model " << GetParam().model << " is not in the model folder"

TEST_P(ModelBits, RowsPerPassDoNotMatter) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner runner(path, 2, Kv());
  const auto tokens = RandomTokens(Length(), runner.model().config().vocab, 1);
  const auto single = runner.ReadAll(tokens, 1);
  for (int chunk : {2, 3, 5, 8, 9, 17, 64}) {
    ExpectSameBits(single, runner.ReadAll(tokens, chunk), "chunks of " + std::to_string(chunk));
  }
}

TEST_P(ModelBits, ThreadsDoNotMatter) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner one(path, 1, Kv());
  const auto tokens = RandomTokens(Length(), one.model().config().vocab, 2);
  const auto expected = one.ReadAll(tokens, 16);
  for (int threads : {2, 3, 5}) {
    ModelRunner many(path, threads, Kv());
    ExpectSameBits(expected, many.ReadAll(tokens, 16), std::to_string(threads) + " threads");
  }
}

TEST_P(ModelBits, TreeNodesEqualTheirOwnPaths) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner runner(path, 2, Kv());
  const int vocab = runner.model().config().vocab;
  // The tree hangs over a chunk border of attention and over block borders.
  const int prefix_length = Length() > 250 ? 253 : Length() - 10;
  const auto prefix = RandomTokens(prefix_length, vocab, 3);
  const std::vector<int32_t> shapes[] = {
      {-1, 0, 1, 2, 3},                                       // a chain
      {-1, 0, 0, 1, 1, 2},                                    // two branches from the first row
      {-1, -1, -1, -1, -1, -1, -1, -1},                       // siblings only
      {-1, 0, 1, 2, -1, 4, 5, 0, 7, 3, 9, 6, 11, 12, 13, 5},  // wild
  };
  for (const auto& parents : shapes) {
    const auto nodes = RandomTokens(static_cast<int>(parents.size()), vocab, 4);
    runner.ReadAll(prefix, 64);
    const auto tree = runner.Read(prefix_length, nodes, parents);
    for (size_t node = 0; node < nodes.size(); ++node) {
      std::vector<TokenId> branch;
      for (int at = static_cast<int>(node); at >= 0; at = parents[at]) {
        branch.insert(branch.begin(), nodes[at]);
      }
      const auto alone = runner.Read(prefix_length, branch);
      ExpectSameBits(alone.back(), tree[node], "node " + std::to_string(node));
    }
  }
}

TEST_P(ModelBits, ATreeReadInSeveralPassesIsTheSame) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner runner(path, 2, Kv());
  const int vocab = runner.model().config().vocab;
  const int prefix_length = Length() > 250 ? 253 : Length() - 10;
  const auto prefix = RandomTokens(prefix_length, vocab, 11);
  const std::vector<int32_t> parents = {-1, -1, 0, 1, 1, 2, 4, 4, -1, 7, 5};
  const auto nodes = RandomTokens(static_cast<int>(parents.size()), vocab, 12);
  runner.ReadAll(prefix, 64);
  const auto at_once = runner.Read(prefix_length, nodes, parents);
  runner.ReadAll(prefix, 64);
  int before = 0;
  for (const int count : {2, 5, 9, 11}) {
    const SequenceRows rows = {.blocks = runner.blocks(),
                               .committed = prefix_length,
                               .tokens = std::span(nodes).first(count),
                               .parents = std::span(parents).first(count),
                               .logits_from = before,
                               .rows_before = before};
    const float* logits = runner.model().Forward({&rows, 1}, runner.kv()).rows;
    for (; before < count; ++before, logits += vocab) {
      ExpectSameBits(at_once[before], LogitsRow(logits, logits + vocab),
                     "node " + std::to_string(before));
    }
  }
}

TEST_P(ModelBits, AMovedSlotIsAsGoodAsOneThatWasWrittenInPlace) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner runner(path, 2, Kv());
  const int vocab = runner.model().config().vocab;
  const auto prefix = RandomTokens(30, vocab, 5);
  const auto nodes = RandomTokens(6, vocab, 6);
  const auto after = RandomTokens(4, vocab, 7);
  runner.ReadAll(prefix, 64);
  // Nodes 0, 2 and 5 are accepted: slots 30, 32, 35 become 30, 31, 32.
  runner.Read(30, nodes, std::vector<int32_t>{-1, -1, 0, 0, 2, 2});
  runner.kv().MoveSlot(runner.blocks(), 32, 31);
  runner.kv().MoveSlot(runner.blocks(), 35, 32);
  const auto moved = runner.Read(33, after);

  runner.ReadAll(prefix, 64);
  runner.Read(30, std::vector<TokenId>{nodes[0], nodes[2], nodes[5]});
  ExpectSameBits(runner.Read(33, after), moved, "after the move");
}

TEST_P(ModelBits, NeighboursInThePassDoNotMatter) {
  HUNCH_REQUIRE_PATH(path);
  ModelRunner runner(path, 2, Kv());
  const int vocab = runner.model().config().vocab;
  const auto a = RandomTokens(20, vocab, 8), b = RandomTokens(13, vocab, 9);
  const auto alone = runner.ReadAll(a, 64);
  // Both in one pass, on halves of the block table.
  const auto blocks = runner.blocks();
  const SequenceRows both[] = {
      {.blocks = blocks.subspan(4), .committed = 0, .tokens = b, .parents = {}, .logits_from = 12},
      {.blocks = blocks.first(4), .committed = 0, .tokens = a, .parents = {}, .logits_from = 0}};
  const float* logits = runner.model().Forward(both, runner.kv()).rows;
  for (int r = 0; r < 20; ++r) {
    const float* row = logits + static_cast<int64_t>(r + 1) * vocab;
    ExpectSameBits(alone[r], LogitsRow(row, row + vocab), "row " + std::to_string(r));
  }
}

// The same on every machine and instruction set: ctest runs this under each HUNCH_ISA.
TEST_P(ModelBits, TheBitsThemselves) {
  HUNCH_REQUIRE_PATH(path);
  const std::map<std::string, uint64_t> golden = {
#include "golden/model_bits.inc"
  };
  const bool quantised = Kv() == KvType::kQ8_0;
  const std::string name = GetParam().model + (quantised ? "/q8_0" : "");
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (KvType kv :
       quantised ? std::vector{KvType::kQ8_0} : std::vector{KvType::kF16, KvType::kF32}) {
    ModelRunner runner(path, 2, kv);
    const int length = IsReal() ? 8 : Length();
    for (const LogitsRow& row :
         runner.ReadAll(RandomTokens(length, runner.model().config().vocab, 10), 8)) {
      for (float value : row) {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        hash = (hash ^ bits) * 1099511628211u;
      }
    }
  }
  ASSERT_TRUE(golden.contains(name)) << hash;
  EXPECT_EQ(golden.at(name), hash) << name;
}

std::vector<Subject> Subjects(KvType kv) {
  std::vector<Subject> subjects;
  for (const char* model : kTinyModels) subjects.push_back({model, kv});
  subjects.push_back({"smollm2", kv});
  return subjects;
}
std::string ModelName(const testing::TestParamInfo<Subject>& info) { return info.param.model; }

INSTANTIATE_TEST_SUITE_P(F16, ModelBits, testing::ValuesIn(Subjects(KvType::kF16)), ModelName);
INSTANTIATE_TEST_SUITE_P(Q8, ModelBits, testing::ValuesIn(Subjects(KvType::kQ8_0)), ModelName);

// HUNCH_ISA forces an instruction set: the process must then really use it.
TEST(ForcedIsa, Ran) {
  const char* forced = std::getenv("HUNCH_ISA");
  if (forced == nullptr || *forced == 0) GTEST_SKIP() << "HUNCH_ISA is not set";
  const auto chosen = ChooseIsa();
  if (!chosen.ok())
    GTEST_SKIP() << "this machine lacks " << forced << ": " << chosen.error().message;
  EXPECT_EQ(IsaName(ActiveIsa()), forced);
  EXPECT_EQ(std::string(MatMulIsaName()), forced) << "the linear layers ran another one";
}

}  // namespace
}  // namespace hunch
