// ConstraintCursor: a constraint at a prefix. The prefix is handed in; what the last one and this
// one share is not taken again, so going from one branch of a draft tree to another costs the
// tokens in which they differ. Not thread safe.
//
// Invariant: the constraint has taken exactly tokens_.
#ifndef HUNCH_SAMPLING_CONSTRAINT_CURSOR_H_
#define HUNCH_SAMPLING_CONSTRAINT_CURSOR_H_

#include <memory>
#include <span>
#include <vector>

#include "sampling/token_constraint.h"

namespace hunch {

class ConstraintCursor {
 public:
  using Allowed = TokenConstraint::Allowed;

  // prompt_len: where the output begins, which is what the constraint is about.
  ConstraintCursor(std::unique_ptr<TokenConstraint> constraint, int vocab_size, size_t prompt_len);

  // What may follow `prefix` (prompt and output); kNothing also after a prefix that was forbidden.
  Allowed After(std::span<const TokenId> prefix);
  bool CompleteAfter(std::span<const TokenId> prefix);

  // After an After that gave kSome: out[vocab] is row[vocab] with minus infinity for what is
  // forbidden; the lowest token that is allowed.
  void Mask(const float* row, float* out) const;
  TokenId FirstAllowed() const;

  // Goes to a prefix, and from there token by token. False: it is forbidden, and the cursor stays
  // before the first token that is.
  bool MoveTo(std::span<const TokenId> prefix);
  bool Push(TokenId token);
  void Pop(size_t count);
  // As TokenConstraint's, from here on.
  void Forced(std::vector<TokenId>& tokens) { constraint_->Forced(tokens); }

 private:
  std::unique_ptr<TokenConstraint> constraint_;
  int vocab_size_;
  size_t prompt_len_;
  std::vector<TokenId> tokens_;  // of the output
  // What Fill said after tokens_, if it was asked.
  bool known_ = false;
  Allowed allowed_ = Allowed::kAll;
  std::vector<uint32_t> mask_;  // [MaskWords(vocab)]
};

}  // namespace hunch

#endif  // HUNCH_SAMPLING_CONSTRAINT_CURSOR_H_
