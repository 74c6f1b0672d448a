// A constraint by xgrammar. Private to grammar/.
//
// A grammar of a user may be written so that its state grows without bound. So calls are timed, by
// the thread's own clock, and where one takes too long, or all together do, it is the last: from
// then on nothing is allowed, which ends the request. The library's exceptions end the same way.
#ifndef HUNCH_GRAMMAR_XGRAMMAR_CONSTRAINT_H_
#define HUNCH_GRAMMAR_XGRAMMAR_CONSTRAINT_H_

#include <xgrammar/matcher.h>

#include <memory>
#include <vector>

#include "sampling/token_constraint.h"

namespace hunch {

class XgrammarConstraint : public TokenConstraint {
 public:
  // A call that makes a mask takes up to 40 ms, once for each state of a grammar; others 0.1 ms.
  static constexpr double kMostSeconds = 0.25;                           // of one call
  static constexpr double kSecondsAtFirst = 1, kSecondsPerCall = 0.002;  // of all

  // takes[vocab]: whether a token is text or an end token.
  XgrammarConstraint(const xgrammar::CompiledGrammar& grammar,
                     std::shared_ptr<const std::vector<bool>> takes);

  bool Advance(TokenId token) override;
  void Undo(int count) override;
  Allowed Fill(std::span<uint32_t> mask) override;
  bool Complete() override;
  void Forced(std::vector<TokenId>& tokens) override;

 private:
  template <typename Call>
  bool Try(const Call& call);

  xgrammar::GrammarMatcher matcher_;
  std::shared_ptr<const std::vector<bool>> takes_;
  double left_ = kSecondsAtFirst;
  bool gave_up_ = false;
};

}  // namespace hunch

#endif  // HUNCH_GRAMMAR_XGRAMMAR_CONSTRAINT_H_
