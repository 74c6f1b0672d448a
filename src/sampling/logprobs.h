// Log-probabilities of the raw row, as they are reported. Not thread safe (scratch).
#ifndef HUNCH_SAMPLING_LOGPROBS_H_
#define HUNCH_SAMPLING_LOGPROBS_H_

#include <vector>

#include "sampling/candidates.h"
#include "sampling/relative_row.h"
#include "seq/types.h"

namespace hunch {

class Logprobs {
 public:
  // Fills choice.logprob for choice.token, and choice.top with the `count` most likely tokens
  // (ties: the lower id first). log-softmax of row[n]; NaN counts as minus infinity.
  void Fill(const float* row, int n, int count, TokenChoice& choice);

 private:
  RelativeRow relative_;
  Candidates best_;
  std::vector<float> finite_;  // [n], only for a row with NaN or plus infinity
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_LOGPROBS_H_
