// Which tensor of a published head becomes which of ours, and what head that is: the names of
// SafeAILab's EAGLE and EAGLE-3, SpecForge, vLLM's speculators, and Medusa (FasterDecoding's and
// vLLM's). A tensor that has no place in the head format is refused by its name. Rows need no other
// order: rope turns the pairs that it turns in all of them. Pure; thread safe.
#ifndef HUNCH_CONVERT_PUBLISHED_HEAD_H_
#define HUNCH_CONVERT_PUBLISHED_HEAD_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "convert/named_tensor.h"
#include "draft/head_file.h"
#include "session/json_text.h"

namespace hunch {

struct PublishedPart {
  HeadTensor part;                      // ours
  const NamedTensor* source = nullptr;  // of its shape, but for rows that are left out; null: zeros
  bool is_output = false;               // row i is row output_rows[i] of the source
};

struct PublishedHead {
  HeadConfig config;
  std::vector<PublishedPart> parts;  // all that the head has, in the file's order
  std::vector<int64_t> output_rows;
  const NamedTensor* embedding = nullptr;  // [tokens][hidden]: what it takes for the target's
};

// `taps`: instead of what config.json says; empty: as that says. `name` is what errors call the
// file. The parts point into `tensors`.
Result<PublishedHead> ReadPublishedHead(const NamedTensors& tensors, const Json& config,
                                        std::string_view name, const HeadTarget& target,
                                        std::span<const int> taps);

}  // namespace hunch

#endif  // HUNCH_CONVERT_PUBLISHED_HEAD_H_
