// Attention over the paged cache: near a double-precision softmax; the same bits on every
// instruction set, for every split into calls, for a tree path and the same sequence laid out
// contiguously, and through the two-step entry points.
#include <algorithm>
#include <numeric>

#include "base/aligned_buffer.h"
#include "kernels/ops.h"
#include "ops_support.h"
#include "quant/quant.h"

namespace hunch {
namespace {

struct Shape {
  KvType type;
  int heads, kv_heads, head_dim;
};
const Shape kShapes[] = {
    {KvType::kF16, 9, 3, 64}, {KvType::kF16, 6, 1, 128}, {KvType::kF16, 7, 1, 80},
    {KvType::kF32, 2, 2, 32}, {KvType::kF32, 6, 2, 96},  {KvType::kF16, 14, 1, 16},
    {KvType::kF32, 7, 1, 64}, {KvType::kF16, 2, 2, 256},
};

// A sequence of `length` random positions in shuffled blocks, with room for `spare` more slots.
// Slots that nothing was stored in hold NaN, so reading one shows.
class Sequence {
 public:
  Sequence(const Shape& shape, int length, int spare, uint32_t seed) : shape_(shape) {
    std::mt19937 random(seed);
    const int blocks = (length + spare + kKvBlock - 1) / kKvBlock;
    const int64_t stride = int64_t{shape.kv_heads} * shape.head_dim * kKvBlock;
    const size_t bytes = (blocks + 2) * stride * (shape.type == KvType::kF16 ? 2 : 4);
    k_ = AlignedBuffer::Create(bytes).value();
    v_ = AlignedBuffer::Create(bytes).value();
    std::memset(k_.data(), 0xff, bytes);
    std::memset(v_.data(), 0xff, bytes);
    layer_ = {shape.type, k_.data(), v_.data(), stride, shape.kv_heads, shape.head_dim};
    table_.resize(blocks);
    std::iota(table_.begin(), table_.end(), 1);
    std::shuffle(table_.begin(), table_.end(), random);
    random.seed(seed);  // the same positions whatever the number of blocks
    for (int slot = 0; slot < length; ++slot) Fill(slot, random);
  }
  // Random K and V, as exactly what the cache holds of them.
  void Fill(int slot, std::mt19937& random) {
    const int n = shape_.kv_heads * shape_.head_dim;
    Put(slot, RandomRow(random, n), RandomRow(random, n));
  }
  void Put(int slot, const std::vector<float>& k, const std::vector<float>& v) {
    KvStore(layer_, table_[slot / kKvBlock], slot % kKvBlock, k.data(), v.data());
    if (slot >= static_cast<int>(k_rows_.size()))
      k_rows_.resize(slot + 1), v_rows_.resize(slot + 1);
    k_rows_[slot] = k, v_rows_[slot] = v;
  }
  float Rounded(float x) const { return shape_.type == KvType::kF16 ? F16ToF32(F32ToF16(x)) : x; }

  AttentionArgs Args(const std::vector<float>& q, std::vector<float>& out,
                     const std::vector<RowView>& views) const {
    return {layer_,       table_.data(),
            q.data(),     out.data(),
            views.data(), static_cast<int>(views.size()),
            shape_.heads, 1.0f / std::sqrt(static_cast<float>(shape_.head_dim))};
  }
  std::vector<float> Run(Isa isa, const std::vector<float>& q,
                         const std::vector<RowView>& views) const {
    std::vector<float> out(q.size(), kNan);
    const AttentionArgs args = Args(q, out, views);
    AlignedBuffer scratch = AlignedBuffer::Create(AttentionScratchBytes(args)).value();
    for (int h = 0; h < shape_.kv_heads; ++h) {
      OpsFor(isa)->attention(args, h, 0, args.rows, scratch.data());
    }
    return out;
  }
  // Softmax attention of one row in double.
  std::vector<double> Truth(const float* q, const RowView& view) const {
    const int dim = shape_.head_dim, group = shape_.heads / shape_.kv_heads;
    std::vector<int> slots(view.contiguous);
    std::iota(slots.begin(), slots.end(), 0);
    slots.insert(slots.end(), view.extra, view.extra + view.extras);
    std::vector<double> out(shape_.heads * dim);
    for (int h = 0; h < shape_.heads; ++h) {
      const int at = h / group * dim;
      std::vector<double> weight;
      for (int slot : slots) {
        double s = 0;
        for (int d = 0; d < dim; ++d) s += double{q[h * dim + d]} * Rounded(k_rows_[slot][at + d]);
        weight.push_back(s / std::sqrt(dim));
      }
      const double max = *std::max_element(weight.begin(), weight.end());
      double sum = 0;
      for (double& w : weight) sum += w = std::exp(w - max);
      for (size_t i = 0; i < slots.size(); ++i) {
        for (int d = 0; d < dim; ++d) {
          out[h * dim + d] += weight[i] / sum * Rounded(v_rows_[slots[i]][at + d]);
        }
      }
    }
    return out;
  }
  const std::vector<float>& KeyRow(int slot) const { return k_rows_[slot]; }
  const std::vector<float>& ValueRow(int slot) const { return v_rows_[slot]; }
  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
  AlignedBuffer k_, v_;
  KvLayer layer_;
  std::vector<int32_t> table_;
  std::vector<std::vector<float>> k_rows_, v_rows_;  // [slot], before rounding
};

std::vector<float> Queries(const Shape& shape, int rows, uint32_t seed) {
  std::mt19937 random(seed);
  return RandomRow(random, int64_t{rows} * shape.heads * shape.head_dim, 1.5f);
}
int RowSize(const Shape& shape) { return shape.heads * shape.head_dim; }
std::vector<float> OneRow(const std::vector<float>& rows, int row, int size) {
  return {rows.begin() + row * size, rows.begin() + (row + 1) * size};
}

TEST(AttentionTest, ReferenceNearDoubleAtChunkBorders) {
  for (const Shape& shape : kShapes) {
    Sequence sequence(shape, 600, 0, 11);
    for (int length : {1, 2, 15, 16, 17, 255, 256, 257, 600}) {
      const std::vector<float> q = Queries(shape, 1, length);
      const RowView view = {length, nullptr, 0};
      const std::vector<float> got = sequence.Run(Isa::kRef, q, {view});
      const std::vector<double> truth = sequence.Truth(q.data(), view);
      for (int i = 0; i < RowSize(shape); ++i) {
        ASSERT_NEAR(got[i], truth[i], 3e-6) << length << " heads " << shape.heads << " at " << i;
      }
    }
  }
}

TEST(AttentionTest, IsaEqualsReference) {
  for (const Shape& shape : kShapes) {
    Sequence sequence(shape, 600, 0, 12);
    for (int length : {1, 16, 33, 255, 256, 257, 600}) {
      const std::vector<float> q = Queries(shape, 1, length);
      const std::vector<RowView> view = {{length, nullptr, 0}};
      const std::vector<float> want = sequence.Run(Isa::kRef, q, view);
      for (Isa isa : VectorIsas()) {
        EXPECT_TRUE(SameRow(want, sequence.Run(isa, q, view))) << IsaName(isa) << " " << length;
      }
    }
  }
}

TEST(AttentionTest, RowOfManyEqualsRowAlone) {
  // A prompt chunk that crosses a chunk border and more than one row block.
  for (const Shape& shape : kShapes) {
    Sequence sequence(shape, 275, 0, 13);
    for (int rows : {2, 3, 5, 37}) {
      const std::vector<float> q = Queries(shape, rows, rows);
      std::vector<RowView> views;
      for (int r = 0; r < rows; ++r) views.push_back({275 - rows + r + 1, nullptr, 0});
      for (Isa isa : SupportedIsas()) {
        const std::vector<float> all = sequence.Run(isa, q, views);
        for (int r = 0; r < rows; r += isa == Isa::kRef ? 9 : 1) {
          const std::vector<float> alone =
              sequence.Run(isa, OneRow(q, r, RowSize(shape)), {views[r]});
          ASSERT_TRUE(SameRow(OneRow(all, r, RowSize(shape)), alone))
              << IsaName(isa) << " row " << r << " of " << rows << " heads " << shape.heads;
        }
      }
    }
  }
}

TEST(AttentionTest, RowsOfCallEqualAnySplitIntoCalls) {
  const Shape shape = kShapes[0];
  Sequence sequence(shape, 300, 0, 14);
  const int rows = 20;
  const std::vector<float> q = Queries(shape, rows, 3);
  std::vector<RowView> views;
  for (int r = 0; r < rows; ++r) views.push_back({100 + 7 * r, nullptr, 0});
  const std::vector<float> whole = sequence.Run(ActiveIsa(), q, views);
  for (int cut : {1, 7, 16, 19}) {
    std::vector<float> out(q.size(), kNan);
    const AttentionArgs args = sequence.Args(q, out, views);
    AlignedBuffer scratch = AlignedBuffer::Create(AttentionScratchBytes(args)).value();
    for (int h = 0; h < shape.kv_heads; ++h) {
      Attention(args, h, cut, rows, scratch.data());
      Attention(args, h, 0, cut, scratch.data());
    }
    EXPECT_TRUE(SameRow(whole, out)) << cut;
  }
}

// A tree of draft nodes after `prefix` committed positions: node i's path of slots, itself last.
struct Tree {
  std::vector<std::vector<int32_t>> path;
  std::vector<RowView> views;
  Tree(int prefix, int nodes, std::mt19937& random) {
    for (int i = 0; i < nodes; ++i) {
      std::vector<int32_t> slots;
      if (i > 0 && random() % 4 != 0) slots = path[random() % i];
      // Nodes lie in slots prefix + i, in an order that need not be that of their depths.
      slots.push_back(prefix + i);
      path.push_back(slots);
    }
    for (const auto& slots : path) {
      views.push_back({prefix, slots.data(), static_cast<int32_t>(slots.size())});
    }
  }
};

TEST(AttentionTest, TreePathEqualsTheSameSequenceLaidOutContiguously) {
  std::mt19937 random(15);
  for (const Shape& shape : kShapes) {
    // Branches that begin before, at and after chunk borders, and an empty prefix.
    for (int prefix : {0, 5, 16, 250, 253, 256, 511}) {
      const int nodes = 12;
      Sequence sequence(shape, prefix, nodes, 16);
      for (int i = 0; i < nodes; ++i) sequence.Fill(prefix + i, random);
      const Tree tree(prefix, nodes, random);
      const std::vector<float> q = Queries(shape, nodes, prefix);
      std::vector<std::vector<float>> straight;
      for (int i = 0; i < nodes; ++i) {
        const int depth = static_cast<int>(tree.path[i].size());
        Sequence moved(shape, prefix, depth, 16);  // the same prefix
        for (int j = 0; j < depth; ++j) {
          moved.Put(prefix + j, sequence.KeyRow(tree.path[i][j]),
                    sequence.ValueRow(tree.path[i][j]));
        }
        straight.push_back(
            moved.Run(ActiveIsa(), OneRow(q, i, RowSize(shape)), {{prefix + depth, nullptr, 0}}));
      }
      for (Isa isa : SupportedIsas()) {
        const std::vector<float> all = sequence.Run(isa, q, tree.views);
        for (int i = 0; i < nodes; ++i) {
          ASSERT_TRUE(SameRow(OneRow(all, i, RowSize(shape)), straight[i]))
              << IsaName(isa) << " node " << i << " prefix " << prefix;
        }
      }
    }
  }
}

TEST(AttentionTest, TreeBesidePromptRowsAndLongBranch) {
  // Rows of very different lengths in one call, and a branch of 300 slots in descending order.
  std::mt19937 random(17);
  const Shape shape = kShapes[0];
  const int prefix = 40, branch = 300;
  Sequence sequence(shape, prefix + branch, 0, 18);
  std::vector<int32_t> extra(branch);
  for (int i = 0; i < branch; ++i) extra[i] = prefix + branch - 1 - i;
  const std::vector<RowView> views = {{1, nullptr, 0},
                                      {prefix, extra.data(), branch},
                                      {prefix + branch, nullptr, 0},
                                      {prefix, extra.data(), 1},
                                      {prefix, extra.data(), 230}};
  const std::vector<float> q = Queries(shape, 5, 1);
  const std::vector<float> want = sequence.Run(Isa::kRef, q, views);
  for (int r = 0; r < 5; ++r) {
    const std::vector<double> truth = sequence.Truth(q.data() + r * RowSize(shape), views[r]);
    for (int i = 0; i < RowSize(shape); ++i) {
      ASSERT_NEAR(want[r * RowSize(shape) + i], truth[i], 3e-6) << r;
    }
  }
  for (Isa isa : VectorIsas()) EXPECT_TRUE(SameRow(want, sequence.Run(isa, q, views)));
}

TEST(AttentionTest, PartialsAndMergeEqualAttention) {
  std::mt19937 random(19);
  for (const Shape& shape : kShapes) {
    const int prefix = 700, nodes = 6;
    Sequence sequence(shape, prefix, nodes, 20);
    for (int i = 0; i < nodes; ++i) sequence.Fill(prefix + i, random);
    Tree tree(prefix, nodes, random);
    tree.views[2] = {100, nullptr, 0};  // a row that sees fewer chunks than the others
    const std::vector<float> q = Queries(shape, nodes, 5);
    for (Isa isa : SupportedIsas()) {
      const std::vector<float> want = sequence.Run(isa, q, tree.views);
      std::vector<float> out(q.size(), kNan);
      const AttentionArgs args = sequence.Args(q, out, tree.views);
      std::vector<float> partials(AttentionPartialsFloats(args), kNan);
      AlignedBuffer scratch = AlignedBuffer::Create(AttentionScratchBytes(args)).value();
      ASSERT_EQ(AttentionChunks(args), 3);
      const Ops& ops = *OpsFor(isa);
      for (int h = shape.kv_heads - 1; h >= 0; --h) {
        ops.attention_partials(args, h, 0, nodes, 1, 3, partials.data(), scratch.data());
        ops.attention_partials(args, h, 0, 2, 0, 1, partials.data(), scratch.data());
        ops.attention_partials(args, h, 2, nodes, 0, 1, partials.data(), scratch.data());
      }
      for (int h = 0; h < shape.kv_heads; ++h) {
        ops.attention_merge(args, h, 0, nodes, partials.data());
      }
      EXPECT_TRUE(SameRow(want, out)) << IsaName(isa) << " heads " << shape.heads;
    }
  }
}

TEST(AttentionTest, HugeScoresStayFinite) {
  for (const Shape& shape : {kShapes[0], kShapes[4]}) {
    Sequence sequence(shape, 520, 0, 21);
    std::vector<float> q = Queries(shape, 1, 1);
    for (float& x : q) x *= 1e4f;  // softmax picks one position
    const std::vector<RowView> view = {{520, nullptr, 0}};
    const std::vector<float> want = sequence.Run(Isa::kRef, q, view);
    for (float x : want) ASSERT_TRUE(std::isfinite(x));
    for (Isa isa : VectorIsas()) EXPECT_TRUE(SameRow(want, sequence.Run(isa, q, view)));
  }
}

}  // namespace
}  // namespace hunch
