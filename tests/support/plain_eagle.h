// The loss of training an eagle3 or eagle head, as docs/formats.md words the head, in fp64 and
// plain loops: a chain of guesses is made from every position by itself, as in service. What the
// tensors of eagle_torch.cc are held against.
#ifndef HUNCH_TESTS_SUPPORT_PLAIN_EAGLE_H_
#define HUNCH_TESTS_SUPPORT_PLAIN_EAGLE_H_

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "train/head_trainer.h"

namespace hunch {

class PlainEagle {
 public:
  using Vector = std::vector<double>;

  PlainEagle(const HeadStart& start, const HeadState& state) : c_(start.config) {
    for (const WeightState& weight : state.weights) {
      weights_[weight.tensor.name] = {weight.value.begin(), weight.value.end()};
    }
    output_ = {start.output.begin(), start.output.end()};
  }
  Vector& weight(std::string_view name) { return weights_.at(std::string(name)); }

  // `batch` is of one text of `tokens` tokens, whose last batch.answers() are guessed.
  double Loss(const HeadBatch& batch, int tokens) {
    const int hidden = c_.target.hidden, first = tokens - batch.answers();
    double squares = 0;
    for (const float value : batch.finals) squares += double{value} * value;
    unit_ = std::sqrt(squares / static_cast<double>(batch.finals.size()));
    std::vector<Vector> features, keys, values;
    for (int p = 0; p < batch.rows(); ++p) {
      const Vector tap = Row(batch.taps, p, c_.tap_size());
      features.push_back(is_eagle3() ? Times("fc.weight", tap) : tap);
      const Vector input = Input(Row(batch.embeddings, p + 1, hidden), features[p]);
      keys.push_back(Rope(Times("attn_k.weight", input), c_.kv_heads, p));
      values.push_back(Times("attn_v.weight", input));
    }
    double loss = 0, weights = 0, weight = 1;
    for (int k = 0; k < batch.steps; ++k, weight *= 0.8) weights += weight;
    for (int p = 0; p + 2 < tokens; ++p) {
      // What the rows of this chain see: the target's rows, then their own.
      std::vector<Vector> seen_keys(keys.begin(), keys.begin() + p + 1);
      std::vector<Vector> seen_values(values.begin(), values.begin() + p + 1);
      Vector feature = features[p];
      weight = 1;
      for (int k = 0; k < batch.steps && p + 2 + k < tokens; ++k, weight *= 0.8) {
        const Vector input = Input(Row(batch.embeddings, p + 1 + k, hidden), feature);
        if (k > 0) {
          seen_keys.push_back(Rope(Times("attn_k.weight", input), c_.kv_heads, p + k));
          seen_values.push_back(Times("attn_v.weight", input));
        }
        const Vector query = Rope(Times("attn_q.weight", input), c_.heads, p + k);
        feature =
            FeedForward(Sum(is_eagle3() ? feature : input,
                            Times("attn_output.weight", Attend(query, seen_keys, seen_values))));
        const int guessed = p + 2 + k;
        if (guessed < first) continue;
        const Vector final = Row(batch.finals, guessed - first, hidden);
        const Vector scores = is_eagle3()
                                  ? Times("output.weight", Norm(feature, "output_norm.weight"))
                                  : Product(output_, feature);
        const double own =
            CrossEntropy(final, scores) + (is_eagle3() ? 0 : Distance(final, feature));
        loss += weight / weights / batch.answers() * own;
      }
    }
    return loss;
  }

 private:
  bool is_eagle3() const { return c_.kind == HeadKind::kEagle3; }
  static Vector Row(const std::vector<float>& rows, int row, int columns) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row) * columns;
    return {begin, begin + columns};
  }
  static Vector Sum(Vector a, const Vector& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  static Vector Product(const Vector& matrix, const Vector& x) {
    Vector out(matrix.size() / x.size());
    for (size_t row = 0; row < out.size(); ++row) {
      for (size_t i = 0; i < x.size(); ++i) out[row] += matrix[row * x.size() + i] * x[i];
    }
    return out;
  }
  Vector Times(const std::string& name, const Vector& x) const {
    return Product(weights_.at(name), x);
  }
  Vector Norm(Vector x, const std::string& name) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double root = std::sqrt(squares / static_cast<double>(x.size()) + c_.norm_eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= weights_.at(name)[i] / root;
    return x;
  }
  Vector Input(const Vector& embedding, const Vector& feature) const {
    if (!is_eagle3()) {
      Vector both = embedding;
      both.insert(both.end(), feature.begin(), feature.end());
      return Times("fc.weight", both);
    }
    Vector input = Norm(embedding, "attn_norm.weight");
    const Vector second = Norm(feature, "hidden_norm.weight");
    input.insert(input.end(), second.begin(), second.end());
    return input;
  }
  Vector Rope(Vector x, int heads, int position) const {
    const int dim = c_.head_dim, half = dim / 2;
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < half; ++i) {
        const double angle = position * std::pow(c_.rope_theta, -2.0 * i / dim);
        double &a = x[h * dim + i], &b = x[h * dim + i + half];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    }
    return x;
  }
  Vector Attend(const Vector& query, const std::vector<Vector>& keys,
                const std::vector<Vector>& values) const {
    const int dim = c_.head_dim;
    Vector out(query.size());
    for (int h = 0; h < c_.heads; ++h) {
      const int from = h / (c_.heads / c_.kv_heads) * dim;
      Vector shares;
      for (const Vector& key : keys) {
        double score = 0;
        for (int i = 0; i < dim; ++i) score += query[h * dim + i] * key[from + i];
        shares.push_back(score / std::sqrt(dim));
      }
      shares = Softmax(shares);
      for (size_t row = 0; row < values.size(); ++row) {
        for (int i = 0; i < dim; ++i) out[h * dim + i] += shares[row] * values[row][from + i];
      }
    }
    return out;
  }
  Vector FeedForward(const Vector& middle) const {
    const Vector normed = Norm(middle, "ffn_norm.weight");
    Vector gate = Times("ffn_gate.weight", normed);
    const Vector up = Times("ffn_up.weight", normed);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    return Sum(middle, Times("ffn_down.weight", gate));
  }
  static Vector Softmax(Vector x) {
    double sum = 0;
    for (double& value : x) sum += value = std::exp(value);
    for (double& value : x) value /= sum;
    return x;
  }
  double CrossEntropy(const Vector& final, const Vector& scores) const {
    const Vector wanted = Softmax(Product(output_, final)), found = Softmax(scores);
    double loss = 0;
    for (size_t i = 0; i < found.size(); ++i) loss -= wanted[i] * std::log(found[i]);
    return loss;
  }

  // Smooth L1, in units of the target's numbers.
  double Distance(const Vector& final, const Vector& feature) const {
    double sum = 0;
    for (size_t i = 0; i < final.size(); ++i) {
      const double off = std::fabs(feature[i] - final[i]) / unit_;
      sum += off < 1 ? off * off / 2 : off - 0.5;
    }
    return sum / static_cast<double>(final.size());
  }

  const HeadConfig c_;
  std::map<std::string, Vector> weights_;
  Vector output_;  // of the target, [tokens][hidden]
  double unit_ = 1;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_PLAIN_EAGLE_H_
