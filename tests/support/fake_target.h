// A model that costs nothing: its logits row is a hash of the prefix. And the plainest loop that
// decodes with it, so that acceptance, sampling and drafters are tested without an engine.
//
// The row depends on every token of the prefix (a step that confuses two prefixes is seen), but
// mostly on the last one: a few tokens stand out after each, so its text repeats itself and can be
// guessed. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_TARGET_H_
#define HUNCH_TESTS_SUPPORT_FAKE_TARGET_H_

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "draft/drafter.h"
#include "hunch/sampling_params.h"
#include "seq/types.h"

namespace hunch {

class FakeTarget {
 public:
  FakeTarget(int vocab, uint64_t seed) : vocab_(vocab), seed_(seed) {}

  int vocab() const { return vocab_; }
  // Whatever the prefix, `token` gets a logit at `position` that no other comes near.
  void Force(size_t position, TokenId token) { forced_[position] = token; }
  // Rows depend on the last `tokens` of the prefix only, so that a test meets each of them often.
  void LookBack(size_t tokens) { look_back_ = tokens; }
  // row[vocab] after `prefix`.
  void Row(std::span<const TokenId> prefix, std::span<float> row) const;
  // A prompt of the kind of text that this target writes: greedy output after one token.
  std::vector<TokenId> Prompt(size_t length) const;

 private:
  int vocab_;
  uint64_t seed_;
  std::map<size_t, TokenId> forced_;
  std::optional<size_t> look_back_;
};

struct FakeLimits {
  int max_nodes = 4;         // of a tree
  bool clamp_depth = true;   // whether a drafter is told how many tokens there is still room for
  size_t context = 1 << 20;  // prompt and output
  std::vector<TokenId> end_tokens;
  // Asked after each committed token: whether the output so far ends here (a stop string, say).
  std::function<bool(std::span<const TokenId> output)> stop;
};

struct FakeStep {
  int drafted = 0;    // nodes proposed and verified
  int accepted = 0;   // nodes whose token the target chose and that were committed
  int committed = 0;  // tokens appended
};

struct FakeRun {
  std::vector<TokenId> tokens;  // the output
  std::vector<TokenChoice> choices;
  FinishReason finish = FinishReason::kNone;
  std::vector<FakeStep> steps;
  int drafted = 0;                     // nodes verified
  int accepted = 0;                    // nodes whose token the target chose and that were committed
  int agreed = 0;                      // nodes whose token the target chose
  std::optional<Error> drafter_error;  // the drafter was dropped for it
};

// Decodes until an end token, `stop`, params.max_tokens or the context's end. A null drafter: plain
// decoding.
FakeRun RunFake(const FakeTarget& target, std::span<const TokenId> prompt,
                const SamplingParams& params, Drafter* drafter, const FakeLimits& limits);

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_TARGET_H_
