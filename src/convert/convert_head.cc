#include "convert/convert_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hunch {
namespace {

// Embeddings of other models are at right angles; 2-bit quantisation leaves 0.9.
constexpr double kLeastLikeness = 0.8;
constexpr int kLookedTokens = 256;

// The cosine of the angle between them; 1 if one of them is 0.
double Likeness(std::span<const float> a, std::span<const float> b) {
  double product = 0, a_squares = 0, b_squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * double{b[i]};
    a_squares += double{a[i]} * double{a[i]};
    b_squares += double{b[i]} * double{b[i]};
  }
  const double lengths = std::sqrt(a_squares * b_squares);
  return lengths > 0 ? product / lengths : 1;
}

std::vector<float> ValuesOf(const PublishedHead& head, const PublishedPart& part) {
  const int64_t columns = part.part.columns, rows = std::max<int64_t>(part.part.rows, 1);
  std::vector<float> values(static_cast<size_t>(rows * columns));
  if (part.source == nullptr) return values;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t from = part.is_output ? head.output_rows[static_cast<size_t>(row)] : row;
    ReadFloats(*part.source, from * columns,
               std::span(values).subspan(static_cast<size_t>(row * columns),
                                         static_cast<size_t>(columns)));
  }
  return values;
}

}  // namespace

Status CheckEmbedding(const PublishedHead& head, std::string_view name, const EmbeddingOf& target) {
  if (head.embedding == nullptr) return Ok{};
  const auto hidden = static_cast<size_t>(head.config.target.hidden);
  const int vocabulary = head.config.target.vocabulary.size;
  const int step = std::max(1, vocabulary / kLookedTokens);
  std::vector<float> own(hidden), wanted(hidden);
  double sum = 0;
  int looked = 0;
  for (TokenId token = 0; token < vocabulary; token += step, ++looked) {
    ReadFloats(*head.embedding, token * static_cast<int64_t>(hidden), own);
    target(token, wanted.data());
    sum += Likeness(own, wanted);
  }
  if (sum >= kLeastLikeness * looked) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: its embeddings are not this model's (likeness {:.2f} of 1): it was "
                           "trained for another model, or has embeddings of its own, which the "
                           "head format cannot express",
                           name, sum / looked)};
}

Result<GgufWriter> ConvertHead(const PublishedHead& head, std::string_view name, TensorType type) {
  GgufWriter writer;
  SetHeadConfig(head.config, writer);
  for (const PublishedPart& part : head.parts) {
    const HeadTensor& tensor = part.part;
    const std::vector<float> values = ValuesOf(head, part);
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
      return Error{
          ErrorCode::kBadFile,
          fmt::format("{}: what becomes {} has a number that is not finite; fetch the file "
                      "again",
                      name, tensor.name)};
    }
    AddHeadTensor(tensor, values, type, writer);
  }
  return writer;
}

}  // namespace hunch
