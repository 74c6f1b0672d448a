// Attention over the paged cache: near a double-precision softmax; the bits that docs/numerics.md
// says; the same on every instruction set, for every split into calls, for a tree path and the same
// sequence laid out contiguously, and through the two-step entry points.
#include <algorithm>
#include <numeric>

#include "base/aligned_buffer.h"
#include "kernels/ops.h"
#include "ops_support.h"

namespace hunch {
namespace {

struct Shape {
  KvType type;
  int heads, kv_heads, head_dim;
};
const Shape kShapes[] = {
    {KvType::kF16, 9, 3, 64},   {KvType::kF16, 6, 1, 128}, {KvType::kF16, 7, 1, 80},
    {KvType::kF32, 2, 2, 32},   {KvType::kF32, 6, 2, 96},  {KvType::kF16, 14, 1, 16},
    {KvType::kF32, 7, 1, 64},   {KvType::kF16, 2, 2, 256}, {KvType::kQ8_0, 9, 3, 64},
    {KvType::kQ8_0, 6, 1, 128}, {KvType::kQ8_0, 7, 1, 80}, {KvType::kQ8_0, 2, 2, 16},
    {KvType::kQ8_0, 5, 1, 256},
};

// A sequence of `length` random positions in shuffled blocks, with room for `spare` more slots.
// Slots that nothing was stored in hold NaN, so reading one shows.
class Sequence {
 public:
  Sequence(const Shape& shape, int length, int spare, uint32_t seed) : shape_(shape) {
    std::mt19937 random(seed);
    const int blocks = (length + spare + kKvBlock - 1) / kKvBlock;
    const size_t bytes = (blocks + 2) * KvBlockBytes(shape.type, shape.kv_heads, shape.head_dim);
    k_ = AlignedBuffer::Create(bytes).value();
    v_ = AlignedBuffer::Create(bytes).value();
    std::memset(k_.data(), 0xff, bytes);
    std::memset(v_.data(), 0xff, bytes);
    layer_ = DenseKvLayer(shape.type, k_.data(), v_.data(), shape.kv_heads, shape.head_dim);
    table_.resize(blocks);
    std::iota(table_.begin(), table_.end(), 1);
    std::shuffle(table_.begin(), table_.end(), random);
    random.seed(seed);  // the same positions whatever the number of blocks
    for (int slot = 0; slot < length; ++slot) Fill(slot, random);
  }
  // Random K and V, as exactly what the cache holds of them.
  void Fill(int slot, std::mt19937& random) {
    const int n = shape_.kv_heads * shape_.head_dim;
    // Two statements: compilers differ in which argument of a call they evaluate first.
    const std::vector<float> v = RandomRow(random, n);
    const std::vector<float> k = RandomRow(random, n);
    Put(slot, k, v);
  }
  void Put(int slot, const std::vector<float>& k, const std::vector<float>& v) {
    KvStore(layer_, table_[slot / kKvBlock], slot % kKvBlock, k.data(), v.data());
    if (slot >= static_cast<int>(k_rows_.size())) {
      for (auto* rows : {&k_rows_, &v_rows_}) rows->resize(slot + 1);
      for (auto* rows : {&k_held_, &v_held_}) rows->resize(slot + 1);
    }
    k_rows_[slot] = k, v_rows_[slot] = v;
    k_held_[slot] = KeysRoundedToKv(shape_.type, k, shape_.kv_heads);
    v_held_[slot] = RoundedToKv(shape_.type, v, shape_.kv_heads);
  }

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
  std::vector<double> Truth(const float* row, const RowView& view) const {
    const std::vector<float> q = ForKv(row);
    const int dim = shape_.head_dim, group = shape_.heads / shape_.kv_heads;
    const std::vector<int> slots = Slots(view);
    std::vector<double> out(shape_.heads * dim);
    for (int h = 0; h < shape_.heads; ++h) {
      const int at = h / group * dim;
      std::vector<double> weight;
      for (int slot : slots) {
        double s = 0;
        for (int d = 0; d < dim; ++d) s += double{q[h * dim + d]} * k_held_[slot].Value(at + d);
        weight.push_back(s / std::sqrt(dim));
      }
      const double max = *std::max_element(weight.begin(), weight.end());
      double sum = 0;
      for (double& w : weight) sum += w = std::exp(w - max);
      for (size_t i = 0; i < slots.size(); ++i) {
        for (int d = 0; d < dim; ++d) {
          out[h * dim + d] += weight[i] / sum * v_held_[slots[i]].Value(at + d);
        }
      }
    }
    return out;
  }
  // One row in the order of arithmetic of docs/numerics.md.
  std::vector<float> Written(const float* row, const RowView& view) const {
    const std::vector<float> q = ForKv(row);
    const int dim = shape_.head_dim, group = shape_.heads / shape_.kv_heads;
    const std::vector<int> slots = Slots(view);
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim));
    std::vector<float> out;
    for (int h = 0; h < shape_.heads; ++h) {
      const int kv_head = h / group, at = kv_head * dim;
      float running_max = 0, running_sum = 0;
      std::vector<float> running;
      for (size_t begin = 0; begin < slots.size(); begin += kAttentionChunk) {
        const size_t count = std::min<size_t>(slots.size() - begin, kAttentionChunk);
        std::vector<float> e(count), o(dim);
        float max = -kInf;
        for (size_t i = 0; i < count; ++i) {
          const KvRow& k = k_held_[slots[begin + i]];
          float s = 0;
          for (int d = 0; d < dim; ++d) s = std::fma(q[h * dim + d], k.element[at + d], s);
          e[i] = s * k.scale[kv_head] * scale;
          max = e[i] > max ? e[i] : max;
        }
        float lane[16] = {};
        for (size_t i = 0; i < count; ++i) {
          e[i] = Exp(e[i] - max);
          lane[i % 16] += e[i];
          const KvRow& v = v_held_[slots[begin + i]];
          const float weight = e[i] * v.scale[kv_head];
          for (int d = 0; d < dim; ++d) o[d] = std::fma(weight, v.element[at + d], o[d]);
        }
        for (int width = 8; width >= 1; width /= 2) {
          for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
        }
        if (begin == 0) {
          running_max = max, running_sum = lane[0], running = o;
          continue;
        }
        const float both = running_max > max ? running_max : max;
        const float a = Exp(running_max - both), b = Exp(max - both);
        for (int d = 0; d < dim; ++d) running[d] = std::fma(o[d], b, running[d] * a);
        running_max = both, running_sum = std::fma(lane[0], b, running_sum * a);
      }
      for (float o : running) out.push_back(o / running_sum);
    }
    return out;
  }
  const std::vector<float>& KeyRow(int slot) const { return k_rows_[slot]; }
  const std::vector<float>& ValueRow(int slot) const { return v_rows_[slot]; }
  const Shape& shape() const { return shape_; }

 private:
  std::vector<float> ForKv(const float* q) const {
    return QueryForKv(shape_.type, {q, q + shape_.heads * shape_.head_dim}, shape_.heads);
  }
  static std::vector<int> Slots(const RowView& view) {
    std::vector<int> slots(view.contiguous);
    std::iota(slots.begin(), slots.end(), 0);
    slots.insert(slots.end(), view.extra, view.extra + view.extras);
    return slots;
  }

  Shape shape_;
  AlignedBuffer k_, v_;
  KvLayer layer_;
  std::vector<int32_t> table_;
  std::vector<std::vector<float>> k_rows_, v_rows_;  // [slot], before rounding
  std::vector<KvRow> k_held_, v_held_;               // [slot]
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

TEST(AttentionTest, TheWrittenOrderOfArithmetic) {
  for (const Shape& shape : kShapes) {
    Sequence sequence(shape, 600, 0, 22);
    for (int length : {1, 17, 256, 600}) {
      const std::vector<float> q = Queries(shape, 1, length);
      const RowView view = {length, nullptr, 0};
      const std::vector<float> want = sequence.Written(q.data(), view);
      for (Isa isa : SupportedIsas()) {
        EXPECT_TRUE(SameRow(want, sequence.Run(isa, q, {view}))) << IsaName(isa) << " " << length;
      }
    }
  }
}

// The rotation of keys and queries leaves scores what they were; a large element costs the others
// little.
TEST(AttentionTest, QuantisedIsNearUnquantised) {
  for (Shape shape : {Shape{KvType::kQ8_0, 6, 1, 128}, Shape{KvType::kQ8_0, 6, 2, 80}}) {
    std::vector<std::vector<float>> out;
    for (KvType type : {KvType::kQ8_0, KvType::kF32}) {
      shape.type = type;
      Sequence sequence(shape, 300, 0, 25);
      for (int slot : {0, 7, 299}) {
        std::vector<float> k = sequence.KeyRow(slot);
        k[5] = 8;
        sequence.Put(slot, k, sequence.ValueRow(slot));
      }
      out.push_back(sequence.Run(ActiveIsa(), Queries(shape, 1, 2), {{300, nullptr, 0}}));
    }
    for (int i = 0; i < RowSize(shape); ++i) EXPECT_NEAR(out[0][i], out[1][i], 0.05) << i;
  }
}

// A NaN or an infinity in a value shows in the rows that see it and in no other; so does one in a
// key where the whole head has one scale.
TEST(AttentionTest, WhatIsNotANumberShows) {
  std::mt19937 random(23);
  for (const Shape& shape : kShapes) {
    const int n = shape.kv_heads * shape.head_dim;
    for (float bad : {kNan, kInf, -kInf}) {
      for (bool in_key : {true, false}) {
        Sequence sequence(shape, 40, 1, 24);
        std::vector<float> k = RandomRow(random, n), v = RandomRow(random, n);
        (in_key ? k : v)[n - 3] = bad;
        sequence.Put(40, k, v);
        const std::vector<float> q = Queries(shape, 2, 1);
        const std::vector<RowView> views = {{41, nullptr, 0}, {40, nullptr, 0}};
        const std::vector<float> want = sequence.Run(Isa::kRef, q, views);
        for (Isa isa : VectorIsas()) EXPECT_TRUE(SameRow(want, sequence.Run(isa, q, views)));
        const int size = RowSize(shape);
        for (int i = 0; i < size; ++i) EXPECT_TRUE(std::isfinite(want[size + i]));
        if (shape.type == KvType::kQ8_0) {
          EXPECT_TRUE(std::isnan(want[size - 1])) << bad << in_key;  // the whole head
        } else if (!in_key) {
          EXPECT_FALSE(std::isfinite(want[size - 3])) << bad;
        }
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
      Sequence moved(shape, prefix, nodes, 16);  // the same prefix, and one path after another
      for (int i = 0; i < nodes; ++i) {
        const int depth = static_cast<int>(tree.path[i].size());
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
