// Tests of the head's passes: against a plain implementation of docs/formats.md in double, and bit
// for bit against themselves in other batches, cuts and numbers of threads.
#include "draft/head_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "quant/quant.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using Numbers = std::vector<double>;
using Row = std::vector<float>;
constexpr int kVocab = 288;
constexpr ForwardLimits kTargetLimits = {.max_rows = 40, .max_logit_rows = 4};
constexpr ForwardLimits kLimits = {.max_rows = 40, .max_logit_rows = 6};

std::unique_ptr<Model> TinyTarget(ThreadPool& pool, const char* name = "llama") {
  return Model::Load(GgufFile::Open(TinyModelPath(name)).value(), pool, kTargetLimits).value();
}

// One row after the other, as the page says, with the numbers of the file as they are.
class PlainHead {
 public:
  PlainHead(const LoadedHead& head, const Model& target) : head_(head), target_(target) {}

  struct Seen {
    Numbers k, v;
  };
  struct Out {
    Numbers h, scores;
    Seen own;
  };
  bool eagle3() const { return head_.config.kind == HeadKind::kEagle3; }
  // x: the tapped streams, one after the other.
  Numbers Feature(const Numbers& x) const { return eagle3() ? Times(head_tensors::kFc, x) : x; }
  Out RowOf(TokenId token, const Numbers& g, int position, std::vector<const Seen*> seen) const {
    const HeadConfig& c = head_.config;
    Row embedding(c.target.hidden);
    target_.weights().Embed(token, embedding.data());
    Numbers input(embedding.begin(), embedding.end());
    Numbers from = g;  // the residual stream
    if (eagle3()) {
      input = Norm(input, head_tensors::kAttnNorm);
      const Numbers normed = Norm(g, head_tensors::kHiddenNorm);
      if (head_.config.normed_residual) from = normed;
      input.insert(input.end(), normed.begin(), normed.end());
    } else {
      input.insert(input.end(), g.begin(), g.end());
      const Row bias = Values(head_tensors::kFcBias);
      from = Plus(Times(head_tensors::kFc, input), Numbers(bias.begin(), bias.end()));
      input = from;
    }
    Numbers q = Times(head_tensors::kQ, input);
    Out out;
    out.own = {Times(head_tensors::kK, input), Times(head_tensors::kV, input)};
    Rotate(q, position);
    Rotate(out.own.k, position);
    seen.push_back(&out.own);
    const Numbers m = Plus(from, Times(head_tensors::kAttnOutput, Attended(q, seen)));
    const Numbers n = Norm(m, head_tensors::kFfnNorm);
    const Numbers gate = Times(head_tensors::kFfnGate, n);
    Numbers up = Times(head_tensors::kFfnUp, n);
    for (size_t i = 0; i < up.size(); ++i) up[i] *= gate[i] / (1 + std::exp(-gate[i]));
    out.h = Plus(m, Times(head_tensors::kFfnDown, up));
    out.scores = eagle3() ? Times(head_tensors::kOutput, Norm(out.h, head_tensors::kOutputNorm))
                          : TargetScores(out.h);
    return out;
  }

 private:
  Numbers TargetScores(const Numbers& h) const {
    const PackedMatrix& output = target_.weights().output;
    Numbers scores(output.rows());
    Row weights(output.columns());
    for (int64_t row = 0; row < output.rows(); ++row) {
      output.UnpackRow(row, weights.data());
      for (size_t i = 0; i < h.size(); ++i) scores[row] += static_cast<double>(weights[i]) * h[i];
    }
    return scores;
  }
  Row Values(std::string_view name) const {
    const GgufTensor& tensor = *head_.gguf->FindTensor(name);
    Row values(tensor.elements());
    Dequantize(tensor.type, tensor.data, values);
    return values;
  }
  Numbers Times(std::string_view name, const Numbers& x) const {
    const Row matrix = Values(name);
    Numbers y(matrix.size() / x.size());
    for (size_t row = 0; row < y.size(); ++row) {
      for (size_t i = 0; i < x.size(); ++i) {
        y[row] += static_cast<double>(matrix[row * x.size() + i]) * x[i];
      }
    }
    return y;
  }
  static Numbers Plus(Numbers a, const Numbers& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  Numbers Norm(Numbers x, std::string_view name) const {
    const Row weight = Values(name);
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) +
                                       static_cast<double>(head_.config.norm_eps));
    for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * static_cast<double>(weight[i]);
    return x;
  }
  void Rotate(Numbers& heads, int position) const {
    const size_t dim = static_cast<size_t>(head_.config.head_dim), half = dim / 2;
    for (size_t begin = 0; begin < heads.size(); begin += dim) {
      for (size_t i = 0; i < half; ++i) {
        const double angle =
            position * std::pow(head_.config.rope_theta,
                                -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        const double x = heads[begin + i], y = heads[begin + half + i];
        heads[begin + i] = x * std::cos(angle) - y * std::sin(angle);
        heads[begin + half + i] = x * std::sin(angle) + y * std::cos(angle);
      }
    }
  }
  Numbers Attended(const Numbers& q, const std::vector<const Seen*>& seen) const {
    const HeadConfig& c = head_.config;
    const size_t dim = static_cast<size_t>(c.head_dim);
    Numbers out(q.size());
    for (size_t head = 0; head < static_cast<size_t>(c.heads); ++head) {
      const size_t shared = head / static_cast<size_t>(c.heads / c.kv_heads) * dim;
      Numbers weights;
      double sum = 0;
      for (const Seen* row : seen) {
        double dot = 0;
        for (size_t i = 0; i < dim; ++i) dot += q[head * dim + i] * row->k[shared + i];
        weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(dim))));
        sum += weights.back();
      }
      for (size_t row = 0; row < seen.size(); ++row) {
        for (size_t i = 0; i < dim; ++i) {
          out[head * dim + i] += weights[row] / sum * seen[row]->v[shared + i];
        }
      }
    }
    return out;
  }

  const LoadedHead& head_;
  const Model& target_;
};

// A sequence of random tokens and hidden states, and what a head makes of it: rows read in cuts,
// then the last token's row, then a tree of two passes.
struct Sequence {
  static constexpr int kLength = 30;
  // Rows of the tree; the first two are a pass, the others the next.
  static constexpr int kFirst = 2;
  const std::vector<int32_t> parents = {-1, -1, 0, 0, 1};

  Sequence(uint32_t seed, const HeadConfig& config) {
    std::mt19937 random(seed);
    std::normal_distribution<float> noise;
    for (int i = 0; i < kLength; ++i) tokens.push_back(static_cast<TokenId>(random() % kVocab));
    for (size_t i = 0; i < parents.size(); ++i) {
      guesses.push_back(static_cast<TokenId>(random() % kVocab));
    }
    streams.resize(kLength - 1);
    for (Row& row : streams) {
      row.resize(config.tap_size());
      for (float& value : row) value = 3 * noise(random);
    }
    features.resize((2 + parents.size()) * config.target.hidden);
  }
  // As if a pass of the target had these positions as its rows from `first` on.
  void Tap(const HeadModel& head, int begin, int end, int first) const {
    for (int position = begin; position < end; ++position) {
      for (size_t tap = 0; tap < head.taps().size(); ++tap) {
        std::memcpy(head.taps()[tap].out + (first + position - begin) * head.hidden(),
                    streams[position].data() + tap * head.hidden(), head.hidden() * sizeof(float));
      }
    }
  }
  void Lay(HeadModel& head, int begin, int end, int first) {
    std::vector<int32_t> rows;
    for (int position = begin; position < end; ++position) rows.push_back(first + position - begin);
    const int slot = std::max(begin - 1, 0);
    head.Lay({.blocks = blocks,
              .slot = slot,
              .tokens = std::span(tokens).subspan(slot + 1, end - 1 - slot),
              .pass_rows = rows,
              .feature = features.data(),
              .feature_known = begin > 0});
  }
  void ReadIn(HeadModel& head, const std::vector<int>& cuts) {
    int begin = 0;
    for (const int end : cuts) {
      Tap(head, begin, end, 3);
      Lay(head, begin, end, 3);
      head.Read();
      begin = end;
    }
  }
  SequenceRows LastRow() {
    return {.blocks = blocks,
            .committed = kLength - 2,
            .tokens = std::span(tokens).last(1),
            .parents = {},
            .features = features.data()};
  }
  SequenceRows TreeRows(int from, int to, int hidden) {
    return {.blocks = blocks,
            .committed = kLength - 1,
            .tokens = std::span(guesses).first(to),
            .parents = std::span(parents).first(to),
            .logits_from = from,
            .rows_before = from,
            .features = features.data() + hidden};
  }

  std::vector<TokenId> tokens, guesses;
  std::vector<Row> streams;  // [kLength - 1][taps * hidden]
  std::vector<int32_t> blocks = {2, 0, 3};
  Row features;
};

struct Outcome {
  std::vector<Row> logits;  // last token, then the tree's rows
  Row features;
  bool operator==(const Outcome&) const = default;
};

void Append(const Logits& logits, int rows, int columns, std::vector<Row>& to) {
  for (int row = 0; row < rows; ++row) {
    to.emplace_back(logits.rows + row * columns, logits.rows + (row + 1) * columns);
  }
}

Outcome Guess(HeadModel& head, Sequence sequence, const std::vector<int>& cuts) {
  Outcome outcome;
  sequence.ReadIn(head, cuts);
  const auto pass = [&](const SequenceRows& rows) {
    Append(head.Forward({&rows, 1}), LogitRows({&rows, 1}), head.vocab(), outcome.logits);
  };
  const int nodes = static_cast<int>(sequence.parents.size());
  pass(sequence.LastRow());
  pass(sequence.TreeRows(0, Sequence::kFirst, head.hidden()));
  pass(sequence.TreeRows(Sequence::kFirst, nodes, head.hidden()));
  outcome.features = sequence.features;
  return outcome;
}

const std::vector<int> kWhole = {Sequence::kLength - 1};

void ExpectClose(std::span<const float> got, const Numbers& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], 2e-4 * (1 + std::abs(wanted[i])))
        << what << " at " << i;
  }
}

TEST(HeadModel, IsWhatTheFormatSays) {
  ThreadPool pool(2);
  using Case = std::tuple<const char*, HeadKind, bool>;
  for (const auto& [name, kind, normed_residual] :
       {Case{"llama", HeadKind::kEagle3, false}, Case{"qwen2", HeadKind::kEagle3, false},
        Case{"llama", HeadKind::kEagle3, true}, Case{"llama", HeadKind::kEagle, false},
        Case{"qwen2", HeadKind::kEagle, false}}) {
    const auto target = TinyTarget(pool, name);
    HeadConfig config = SmallHead(target->config(), kVocab, kind);
    config.normed_residual = normed_residual;
    LoadedHead head(HeadBytes(config, RandomValues(5)), *target, pool, kLimits, 4, KvType::kF32);
    Sequence sequence(7, head.config);
    const Outcome outcome = Guess(*head.model, sequence, kWhole);

    const PlainHead plain(head, *target);
    std::vector<PlainHead::Out> rows;
    std::vector<const PlainHead::Seen*> seen;
    rows.reserve(Sequence::kLength + sequence.parents.size());
    const int last = Sequence::kLength - 2;
    for (int position = 0; position <= last; ++position) {
      const Row& x = sequence.streams[position];
      const Numbers g = plain.Feature(Numbers(x.begin(), x.end()));
      rows.push_back(plain.RowOf(sequence.tokens[position + 1], g, position, seen));
      seen.push_back(&rows.back().own);
    }
    ExpectClose(outcome.logits[0], rows.back().scores, name);
    const size_t hidden = static_cast<size_t>(head.model->hidden());
    ExpectClose(std::span(outcome.features).subspan(hidden, hidden), rows.back().h, name);
    for (size_t node = 0; node < sequence.parents.size(); ++node) {
      auto path = seen;
      int depth = 1;
      for (int32_t at = sequence.parents[node]; at >= 0; at = sequence.parents[at]) {
        path.push_back(&rows[last + 1 + at].own);
        ++depth;
      }
      const PlainHead::Out& parent = rows[last + 1 + sequence.parents[node]];
      rows.push_back(plain.RowOf(sequence.guesses[node], parent.h, last + depth, path));
      ExpectClose(outcome.logits[1 + node], rows.back().scores, name);
      ExpectClose(std::span(outcome.features).subspan((2 + node) * hidden, hidden), rows.back().h,
                  name);
    }
  }
}

class HeadModelBits : public testing::TestWithParam<std::tuple<HeadKind, TensorType, KvType>> {
 protected:
  std::unique_ptr<LoadedHead> MakeHead(ThreadPool& pool, const Model& target) const {
    const auto& [kind, type, kv] = GetParam();
    return std::make_unique<LoadedHead>(
        HeadBytes(SmallHead(target.config(), kVocab, kind), RandomValues(5), type), target, pool,
        kLimits, 8, kv);
  }
};

TEST_P(HeadModelBits, CutsAndThreadsDoNotMatter) {
  ThreadPool one(1), three(3);
  const auto target = TinyTarget(one), other = TinyTarget(three);
  const auto head = MakeHead(one, *target), same = MakeHead(three, *other);
  const Sequence sequence(7, head->config);
  const Outcome whole = Guess(*head->model, sequence, kWhole);
  std::vector<int> single;
  for (int end = 1; end < Sequence::kLength; ++end) single.push_back(end);
  for (const std::vector<int>& cuts : {single, std::vector<int>{1, Sequence::kLength - 1},
                                       std::vector<int>{15, 17, 28, Sequence::kLength - 1}}) {
    EXPECT_EQ(Guess(*head->model, sequence, cuts), whole);
    EXPECT_EQ(Guess(*same->model, sequence, cuts), whole);
  }
}

TEST_P(HeadModelBits, WhoElseIsInTheBatchDoesNotMatter) {
  ThreadPool pool(2);
  const auto target = TinyTarget(pool);
  const auto head = MakeHead(pool, *target);
  Sequence first(7, head->config), second(8, head->config);
  const Outcome alone = Guess(*head->model, first, kWhole),
                other = Guess(*head->model, second, kWhole);

  second.blocks = {5, 7, 6};
  HeadModel& model = *head->model;
  for (const int begin : {0, 1, 12}) {
    const int end = begin == 0 ? 1 : (begin == 1 ? 12 : Sequence::kLength - 1);
    first.Tap(model, begin, end, 0);
    second.Tap(model, begin, end, end - begin);
    second.Lay(model, begin, end, end - begin);
    first.Lay(model, begin, end, 0);
    model.Read();
  }
  std::vector<Row> logits[2];
  const auto pass = [&](const SequenceRows& a, const SequenceRows& b) {
    const SequenceRows both[] = {a, b};
    std::vector<Row> rows;
    Append(model.Forward(both), LogitRows(both), model.vocab(), rows);
    const auto middle = rows.begin() + LogitRows({&a, 1});
    logits[0].insert(logits[0].end(), rows.begin(), middle);
    logits[1].insert(logits[1].end(), middle, rows.end());
  };
  pass(first.LastRow(), second.LastRow());
  pass(first.TreeRows(0, 2, model.hidden()), second.TreeRows(0, 2, model.hidden()));
  pass(first.TreeRows(2, 5, model.hidden()), second.TreeRows(2, 5, model.hidden()));
  EXPECT_EQ((Outcome{logits[0], first.features}), alone);
  EXPECT_EQ((Outcome{logits[1], second.features}), other);
}

INSTANTIATE_TEST_SUITE_P(
    Types, HeadModelBits,
    testing::Combine(testing::Values(HeadKind::kEagle3, HeadKind::kEagle),
                     testing::Values(TensorType::kF32, TensorType::kF16, TensorType::kQ4_0),
                     testing::Values(KvType::kF32, KvType::kF16, KvType::kQ8_0)));

TEST(HeadModel, GivesTheTokensThatItKnowsAndNoOthers) {
  ThreadPool pool(2);
  const auto target = TinyTarget(pool);
  for (const HeadKind kind : {HeadKind::kEagle3, HeadKind::kEagle}) {
    HeadConfig config = SmallHead(target->config(), kVocab, kind);
    LoadedHead all(HeadBytes(config, RandomValues(5)), *target, pool, kLimits, 4);
    config.tokens = {3, 4, 100, 287};
    // The same weights, and of an output matrix the rows of those tokens.
    const auto& tokens = config.tokens;
    const auto cut_values = [&](const HeadTensor& tensor) {
      const GgufTensor& whole = *all.gguf->FindTensor(tensor.name);
      Row values(whole.elements());
      Dequantize(whole.type, whole.data, values);
      if (tensor.name != head_tensors::kOutput) return values;
      Row kept;
      for (const TokenId token : tokens) {
        const auto row = values.begin() + token * tensor.columns;
        kept.insert(kept.end(), row, row + tensor.columns);
      }
      return kept;
    };
    LoadedHead few(HeadBytes(config, cut_values), *target, pool, kLimits, 4);
    const Sequence sequence(7, all.config);
    const Outcome whole = Guess(*all.model, sequence, kWhole),
                  cut = Guess(*few.model, sequence, kWhole);
    EXPECT_EQ(cut.features, whole.features);
    for (size_t row = 0; row < whole.logits.size(); ++row) {
      for (TokenId token = 0; token < kVocab; ++token) {
        const bool known = std::find(tokens.begin(), tokens.end(), token) != tokens.end();
        EXPECT_EQ(cut.logits[row][token],
                  known ? whole.logits[row][token] : -std::numeric_limits<float>::infinity());
      }
    }
  }
}

TEST(HeadModel, ARowWhoseParentIsInTheSamePassIsABug) {
  ThreadPool pool(1);
  const auto target = TinyTarget(pool);
  LoadedHead head(HeadBytes(SmallHead(target->config(), kVocab), RandomValues(5)), *target, pool,
                  kLimits, 4);
  Sequence sequence(7, head.config);
  sequence.ReadIn(*head.model, kWhole);
  const SequenceRows rows = sequence.TreeRows(0, 3, head.model->hidden());
  EXPECT_DEATH((void)head.model->Forward({&rows, 1}), "parent");
}

}  // namespace
}  // namespace hunch
