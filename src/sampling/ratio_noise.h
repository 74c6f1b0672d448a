// Chance for the rules `ratio` and `block` (docs/lossless.md): each draw of a request is used once,
// and no two streams share a word. Under `coupled` noise is keyed by position; these draws lie
// where no position does: the highest bit of Philox's last counter word is set.
//
// Stream 0 decides and completes what is accepted; a drafter draws its guesses from a stream of its
// own. Guesses and decisions from one stream would not be independent, and the text would be
// biased. Not thread safe.
#ifndef HUNCH_SAMPLING_RATIO_NOISE_H_
#define HUNCH_SAMPLING_RATIO_NOISE_H_

#include <cstdint>

#include "base/philox.h"

namespace hunch {

class RatioNoise {
 public:
  static constexpr uint32_t kVerify = 0;
  static constexpr uint32_t kFirstDrafter = 1;  // the request's i-th drafter: + i

  // seed and choice are those of the request; stream is below 2^15.
  RatioNoise(uint64_t seed, uint32_t choice, uint32_t stream)
      : seed_(seed), choice_(choice), base_(uint64_t{0x8000u | stream} << 48) {}

  uint64_t seed() const { return seed_; }
  uint32_t choice() const { return choice_; }

  // In [0, 1), 53 bits.
  double Uniform() {
    const uint64_t position = NextRow();
    const PhiloxCounter words = Philox4x32(
        {0, choice_, static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32)},
        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    return static_cast<double>(uint64_t{words[0]} << 21 | words[1] >> 11) * 0x1p-53;
  }
  // Stands for a position in the key of one row of Gumbel noise.
  uint64_t NextRow() { return base_ | draws_++; }

 private:
  uint64_t seed_;
  uint32_t choice_;
  uint64_t base_;
  uint64_t draws_ = 0;  // below 2^48
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_RATIO_NOISE_H_
