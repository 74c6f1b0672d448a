// TokenConstraint: which tokens may come next, after those that it has taken. What a grammar is to
// everything below the session: sampling, verification, drafting and the engine know no more of it.
// Not thread safe; one per sequence.
//
// The answers are a function of the tokens taken: however they were taken and taken back, the same
// tokens give the same answers.
#ifndef HUNCH_SAMPLING_TOKEN_CONSTRAINT_H_
#define HUNCH_SAMPLING_TOKEN_CONSTRAINT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "seq/types.h"

namespace hunch {

// Words of a mask over `vocab` tokens: bit t % 32 of word t / 32 is token t's.
constexpr size_t MaskWords(int vocab) { return (static_cast<size_t>(vocab) + 31) / 32; }

class TokenConstraint {
 public:
  enum class Allowed { kAll, kSome, kNothing };

  virtual ~TokenConstraint() = default;
  // Takes one more token; false, and nothing changes, if it is not allowed here. Nothing is allowed
  // after an end token.
  virtual bool Advance(TokenId token) = 0;
  // Takes back the last `count` tokens.
  virtual void Undo(int count) = 0;
  // What Advance would take. Only kSome fills mask[MaskWords(vocab)]: 1 is allowed.
  virtual Allowed Fill(std::span<uint32_t> mask) = 0;
  // Whether the output may end here.
  virtual bool Complete() = 0;
  // The tokens that are forced from here on, or likely: where one text only can follow, the longest
  // tokens that spell it. A guess, nothing more.
  virtual void Forced(std::vector<TokenId>& tokens) { tokens.clear(); }
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_TOKEN_CONSTRAINT_H_
