// Grammars: makes constraints of what requests ask for, over the tokens of one vocabulary, and
// keeps the last ones. The library that does it (xgrammar) is seen by no other folder.
//
// What is asked for is hostile input: its length, its nesting and what it unfolds to are bounded,
// and so is the time that a constraint may take for a token (xgrammar_constraint.h).
//
// Thread safety: any thread may call Compile, which may take a second for a text that it does not
// have, and then keeps nobody waiting who asks for one that it has.
#ifndef HUNCH_GRAMMAR_GRAMMARS_H_
#define HUNCH_GRAMMAR_GRAMMARS_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hunch/structured_output.h"
#include "sampling/token_constraint.h"
#include "seq/types.h"

namespace hunch {

struct GrammarVocabulary {
  int size = 0;
  // A token's text; "" for those that are none, which no constraint allows. Called until a grammar
  // was compiled.
  std::function<std::string_view(TokenId)> bytes;
  // Allowed where the text may end, and there only.
  std::vector<TokenId> end_tokens;
};

// Immutable and thread safe.
class CompiledGrammar {
 public:
  virtual ~CompiledGrammar() = default;
  // A constraint before the first token.
  virtual std::unique_ptr<TokenConstraint> Start() const = 0;
};

// Whether a text of these tokens is one of the grammar's.
bool Obeys(const CompiledGrammar& grammar, std::span<const TokenId> text);

class Grammars {
 public:
  explicit Grammars(GrammarVocabulary vocabulary);
  ~Grammars();

  // kInvalidArgument, with the reason: the text is malformed, too much, or allows no answer.
  Result<std::shared_ptr<const CompiledGrammar>> Compile(const StructuredOutput& wanted);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hunch

#endif  // HUNCH_GRAMMAR_GRAMMARS_H_
