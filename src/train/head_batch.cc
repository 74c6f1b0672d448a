#include "train/head_batch.h"

#include <algorithm>
#include <cmath>

namespace hunch {
namespace {

// Rows that TapSpread looks at: enough for two digits.
constexpr int64_t kSpreadRows = 8192;

// Appends one text's numbers to a batch.
class BatchBuilder {
 public:
  BatchBuilder(int steps, const TargetRows& target, const FeatureLayout& layout,
               std::span<const float> tap_inverse)
      : target_(target), layout_(layout), tap_inverse_(tap_inverse) {
    batch_.hidden = layout.hidden;
    batch_.tap_size = layout.hidden * (layout.sources - 1);
    batch_.steps = steps;
    HUNCH_CHECK_EQ(tap_inverse.size(), static_cast<size_t>(batch_.tap_size));
    batch_.asked_tokens.resize(steps);
    batch_.answer_rows.resize(steps);
  }

  void Add(const TrainText& text, const std::byte* rows) {
    const int tokens = text.size();
    const int steps = batch_.steps;
    // The first guessed token has a row in every step.
    const int first = std::max(static_cast<int>(text.prompt), steps + 1);
    HUNCH_CHECK_LT(first, tokens);
    const int answers = tokens - first;
    const HeadBatch::Text placed = {.first_row = batch_.rows(),
                                    .rows = tokens - 2,
                                    .first_asked = batch_.asked(),
                                    .asked = answers + steps - 1,
                                    .first_position = first - 1 - steps,
                                    .first_answer = batch_.answers(),
                                    .answers = answers};
    AddNumbers(text, placed, first, rows);
    const auto base = static_cast<int64_t>(batch_.tokens.size());
    for (int p = 0; p < placed.rows; ++p) batch_.row_tokens.push_back(base + p + 1);
    for (int k = 0; k < steps; ++k) {
      for (int i = 0; i < placed.asked; ++i) {
        // Rows whose guess lies past the end read the last token; nobody looks at them.
        const int token = std::min(placed.first_position + i + 1 + k, tokens - 1);
        batch_.asked_tokens[k].push_back(base + token);
      }
      for (int i = 0; i < answers; ++i) {
        batch_.answer_rows[k].push_back(placed.first_asked + steps - 1 - k + i);
      }
    }
    batch_.tokens.insert(batch_.tokens.end(), text.tokens.begin(), text.tokens.end());
    batch_.texts.push_back(placed);
  }

  HeadBatch Take() && { return std::move(batch_); }

 private:
  void AddNumbers(const TrainText& text, const HeadBatch::Text& placed, int first_answer,
                  const std::byte* rows) {
    const int hidden = layout_.hidden;
    const size_t row_bytes = layout_.row_bytes();
    const auto grow = [&](std::vector<float>& numbers, int64_t more) {
      numbers.resize(numbers.size() + static_cast<size_t>(more));
      return numbers.data() + numbers.size() - more;
    };
    float* tap = grow(batch_.taps, int64_t{placed.rows} * batch_.tap_size);
    for (int p = 0; p < placed.rows; ++p, tap += batch_.tap_size) {
      for (int source = 0; source < layout_.sources - 1; ++source) {
        UnpackFeature(layout_, rows + p * row_bytes, source, tap + source * hidden);
      }
      for (int i = 0; i < batch_.tap_size; ++i) tap[i] *= tap_inverse_[i];
    }
    float* embedding = grow(batch_.embeddings, int64_t{text.size()} * hidden);
    for (const TokenId token : text.tokens) {
      target_.Embedding(token, embedding);
      embedding += hidden;
    }
    // The target chose a token at the position before it.
    float* input = grow(batch_.finals, int64_t{placed.answers} * hidden);
    for (int i = 0; i < placed.answers; ++i, input += hidden) {
      UnpackFeature(layout_, rows + (first_answer - 1 + i) * row_bytes, layout_.sources - 1, input);
    }
  }

  const TargetRows& target_;
  const FeatureLayout layout_;
  const std::span<const float> tap_inverse_;
  HeadBatch batch_;
};

}  // namespace

Result<HeadBatch> MakeHeadBatch(std::span<const PlacedText> texts, int steps,
                                const TargetRows& target, FeatureSource& features,
                                std::span<const float> tap_inverse) {
  BatchBuilder builder(steps, target, features.layout(), tap_inverse);
  std::vector<std::byte> rows;
  for (const PlacedText& placed : texts) {
    HUNCH_RETURN_IF_ERROR(features.Read(placed, rows));
    builder.Add(*placed.text, rows.data());
  }
  return std::move(builder).Take();
}

Result<std::vector<float>> TapSpread(std::span<const PlacedText> texts, FeatureSource& features) {
  const FeatureLayout& layout = features.layout();
  const int taps = layout.sources - 1;
  std::vector<double> squares(static_cast<size_t>(taps) * layout.hidden);
  std::vector<float> x(layout.hidden);
  std::vector<std::byte> rows;
  int64_t looked = 0;
  for (const PlacedText& placed : texts) {
    if (looked >= kSpreadRows) break;
    HUNCH_RETURN_IF_ERROR(features.Read(placed, rows));
    for (int p = static_cast<int>(placed.text->prompt); p < placed.text->size(); ++p, ++looked) {
      for (int source = 0; source < taps; ++source) {
        UnpackFeature(layout, rows.data() + p * layout.row_bytes(), source, x.data());
        double* const sums = squares.data() + static_cast<size_t>(source) * layout.hidden;
        for (int i = 0; i < layout.hidden; ++i) sums[i] += double{x[i]} * x[i];
      }
    }
  }
  std::vector<float> spread;
  for (const double square : squares) {
    const double root = std::sqrt(square / static_cast<double>(std::max<int64_t>(looked, 1)));
    spread.push_back(root > 1e-6 ? static_cast<float>(root) : 1.0f);
  }
  return spread;
}

}  // namespace hunch
