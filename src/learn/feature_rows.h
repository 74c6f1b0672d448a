// How what a head reads of the target is kept: int8 and a scale for each 32 numbers, which is what
// the kernels make of such a row before they multiply it with a quantised matrix (QuantizeRow), so
// that a head in training reads what it will read in service. Pure.
#ifndef HUNCH_LEARN_FEATURE_ROWS_H_
#define HUNCH_LEARN_FEATURE_ROWS_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "draft/head_file.h"
#include "kernels/matmul.h"

namespace hunch {

// A row holds `sources` vectors of one position: its taps, in their order, and last what the
// target's output matrix reads.
struct FeatureLayout {
  int hidden = 0;  // a multiple of 32
  int sources = 0;

  size_t source_bytes() const {
    return static_cast<size_t>(hidden) + static_cast<size_t>(hidden / kActBlock) * sizeof(float);
  }
  size_t row_bytes() const { return static_cast<size_t>(sources) * source_bytes(); }
};

inline FeatureLayout LayoutOf(const HeadConfig& config) {
  return {config.target.hidden, static_cast<int>(config.taps.size()) + 1};
}

// Scratch of PackFeature, so that a row allocates nothing. Not thread safe.
class FeaturePacker {
 public:
  explicit FeaturePacker(const FeatureLayout& layout)
      : layout_(layout),
        codes_(layout.hidden),
        scales_(layout.hidden / kActBlock),
        sums_(layout.hidden / 16) {}

  // row[row_bytes]: its vector `source` becomes x[hidden].
  void Pack(const float* x, int source, std::byte* row) {
    QuantizeRow(x, layout_.hidden, codes_.data(), scales_.data(), sums_.data());
    std::byte* const out = row + static_cast<size_t>(source) * layout_.source_bytes();
    std::memcpy(out, codes_.data(), codes_.size());
    std::memcpy(out + codes_.size(), scales_.data(), scales_.size() * sizeof(float));
  }

 private:
  const FeatureLayout layout_;
  std::vector<int8_t> codes_;  // [hidden]
  std::vector<float> scales_;  // [hidden / 32]
  std::vector<int16_t> sums_;  // [hidden / 16]
};

// out[hidden] = vector `source` of row[row_bytes].
inline void UnpackFeature(const FeatureLayout& layout, const std::byte* row, int source,
                          float* out) {
  const std::byte* const in = row + static_cast<size_t>(source) * layout.source_bytes();
  const auto* const codes = reinterpret_cast<const int8_t*>(in);
  for (int block = 0; block * kActBlock < layout.hidden; ++block) {
    float scale;
    std::memcpy(&scale, in + layout.hidden + static_cast<size_t>(block) * sizeof(scale),
                sizeof(scale));
    const int first = block * kActBlock;
    for (int i = first; i < first + kActBlock; ++i) out[i] = static_cast<float>(codes[i]) * scale;
  }
}

}  // namespace hunch

#endif  // HUNCH_LEARN_FEATURE_ROWS_H_
