// Parses the expressions of a chat template (jinja2's grammar and precedence).
// Not thread safe; one parser per template. The first failure is kept, and moves the parser to the
// end of the template, so that every loop of it ends; callers look at failed() where they would
// build on a result.
#ifndef HUNCH_CHAT_EXPRESSION_PARSER_H_
#define HUNCH_CHAT_EXPRESSION_PARSER_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chat/ast.h"
#include "chat/lexer.h"

namespace hunch::chat {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // Counts how deep the parser has called itself; fails when that is too deep for the stack.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser* parser) : parser_(parser) {
      // 13 calls per level of parentheses, about 2 kB of stack: 200 levels are far from 1 MB.
      if (++parser_->nesting_ > 200) parser_->Fail("expressions or blocks are nested too deeply");
    }
    ~Nesting() { --parser_->nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser* parser_;
  };

  const Token& current() const { return tokens_[index_]; }
  const Token& next() const { return tokens_[std::min(index_ + 1, tokens_.size() - 1)]; }
  Token Advance();
  bool IsOperator(std::string_view text) const;
  bool IsWord(std::string_view text) const;
  bool SkipOperator(std::string_view text);
  bool SkipWord(std::string_view text);
  void ExpectOperator(std::string_view text);
  void ExpectWord(std::string_view text);
  // The name that stands here; empty after a failure.
  std::string ExpectName();

  bool failed() const { return error_.has_value(); }
  void Fail(std::string_view message) { FailAt(current().line, message, ErrorCode::kBadFile); }
  void FailAt(int line, std::string_view message, ErrorCode code);
  const Error& error() const { return *error_; }
  // The current token in words, for messages.
  std::string Describe() const;

  int Intern(const std::string& name);
  std::vector<std::string> TakeNames() { return std::move(names_); }

  ExprPtr ParseExpression(bool with_condition = true);
  // One expression, or a tuple of several with commas. `end_word`: a name that ends the tuple.
  ExprPtr ParseTuple(bool with_condition = true, std::string_view end_word = {});
  // `| filter | filter ...` upon `input`, which may be null; `start_inline`: the first has no bar.
  ExprPtr ParseFilters(ExprPtr input, bool start_inline);

  // Macros whose body is being parsed.
  std::vector<MacroStatement*> open_macros_;

 private:
  ExprPtr New(ExprKind kind, int line);
  // Sets the depth of a node whose children are complete, and checks it.
  ExprPtr Finish(ExprPtr node);
  ExprPtr Unary(ExprKind kind, int line, ExprPtr operand);
  ExprPtr Binary(ExprKind kind, int line, ExprPtr left, ExprPtr right);

  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  std::optional<Op> TakeCompareOp();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool with_filters);
  ExprPtr ParsePrimary();
  ExprPtr ParseName();
  ExprPtr ParseLiteral();
  ExprPtr ParseParenthesized();
  ExprPtr ParseList();
  ExprPtr ParseDict();
  ExprPtr ParsePostfix(ExprPtr node);
  ExprPtr ParseFilterChain(ExprPtr node);
  ExprPtr ParseAttribute(ExprPtr node);
  ExprPtr ParseSubscript(ExprPtr node);
  ExprPtr ParseSlice(ExprPtr node, ExprPtr start, int line);
  ExprPtr ParseCall(ExprPtr node);
  ExprPtr ParseTest(ExprPtr node);
  void ParseArguments(ArgumentList* arguments);
  void ParseArgument(ArgumentList* arguments);
  bool TupleEnds(std::string_view end_word) const;

  std::vector<Token> tokens_;  // ends with kEnd
  size_t index_ = 0;
  int nesting_ = 0;
  std::optional<Error> error_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> name_ids_;
};

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_EXPRESSION_PARSER_H_
