#include "chat/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/literals.h"

namespace hunch::chat {

Token ExpressionParser::Advance() {
  const Token token = tokens_[index_];
  if (index_ + 1 < tokens_.size()) ++index_;
  return token;
}

bool ExpressionParser::IsOperator(std::string_view text) const {
  return current().kind == TokenKind::kOperator && current().text == text;
}

bool ExpressionParser::IsWord(std::string_view text) const {
  return current().kind == TokenKind::kName && current().text == text;
}

bool ExpressionParser::SkipOperator(std::string_view text) {
  if (!IsOperator(text)) return false;
  Advance();
  return true;
}

bool ExpressionParser::SkipWord(std::string_view text) {
  if (!IsWord(text)) return false;
  Advance();
  return true;
}

void ExpressionParser::ExpectOperator(std::string_view text) {
  if (!SkipOperator(text)) Fail(fmt::format("expected '{}', got {}", text, Describe()));
}

void ExpressionParser::ExpectWord(std::string_view text) {
  if (!SkipWord(text)) Fail(fmt::format("expected '{}', got {}", text, Describe()));
}

std::string ExpressionParser::ExpectName() {
  if (current().kind != TokenKind::kName) {
    Fail(fmt::format("expected a name, got {}", Describe()));
    return {};
  }
  return std::string(Advance().text);
}

void ExpressionParser::FailAt(int line, std::string_view message, ErrorCode code) {
  if (!error_) error_ = Error{code, fmt::format("chat template line {}: {}", line, message)};
  index_ = tokens_.size() - 1;
}

std::string ExpressionParser::Describe() const {
  switch (current().kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kBlockEnd:
      return "the end of the statement";
    case TokenKind::kVariableEnd:
      return "the end of the expression";
    default:
      // A hostile template may have a token of a megabyte.
      return fmt::format("'{}'", current().text.substr(0, 40));
  }
}

int ExpressionParser::Intern(const std::string& name) {
  const auto [entry, added] = name_ids_.emplace(name, static_cast<int>(names_.size()));
  if (added) names_.push_back(name);
  return entry->second;
}

ExprPtr ExpressionParser::New(ExprKind kind, int line) {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExprPtr ExpressionParser::Finish(ExprPtr node) {
  int below = 0;
  const auto look = [&below](const ExprPtr& child) {
    if (child) below = std::max(below, child->depth);
  };
  for (const auto& child : node->children) look(child);
  for (const auto& child : node->arguments.positional) look(child);
  for (const auto& [name, child] : node->arguments.keyword) look(child);
  look(node->arguments.star);
  look(node->arguments.double_star);
  node->depth = below + 1;
  if (node->depth > kMaxTreeDepth) {
    FailAt(node->line, fmt::format("an expression has more than {} levels", kMaxTreeDepth),
           ErrorCode::kBadFile);
  }
  return node;
}

ExprPtr ExpressionParser::Unary(ExprKind kind, int line, ExprPtr operand) {
  auto node = New(kind, line);
  node->children.push_back(std::move(operand));
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Binary(ExprKind kind, int line, ExprPtr left, ExprPtr right) {
  auto node = New(kind, line);
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::ParseExpression(bool with_condition) {
  const Nesting nesting(this);
  auto node = ParseOr();
  if (!with_condition) return node;
  while (IsWord("if")) {
    const int line = Advance().line;
    auto conditional = New(ExprKind::kConditional, line);
    conditional->children.push_back(std::move(node));
    conditional->children.push_back(ParseOr());
    conditional->children.push_back(SkipWord("else") ? ParseExpression() : nullptr);
    node = Finish(std::move(conditional));
  }
  return node;
}

ExprPtr ExpressionParser::ParseOr() {
  auto node = ParseAnd();
  while (IsWord("or")) {
    const int line = Advance().line;
    node = Binary(ExprKind::kOr, line, std::move(node), ParseAnd());
  }
  return node;
}

ExprPtr ExpressionParser::ParseAnd() {
  auto node = ParseNot();
  while (IsWord("and")) {
    const int line = Advance().line;
    node = Binary(ExprKind::kAnd, line, std::move(node), ParseNot());
  }
  return node;
}

ExprPtr ExpressionParser::ParseNot() {
  if (!IsWord("not")) return ParseCompare();
  const Nesting nesting(this);
  const int line = Advance().line;
  return Unary(ExprKind::kNot, line, ParseNot());
}

std::optional<Op> ExpressionParser::TakeCompareOp() {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::kEqual},     {"!=", Op::kNotEqual}, {"<", Op::kLess},
      {"<=", Op::kLessEqual}, {">", Op::kGreater},   {">=", Op::kGreaterEqual}};
  for (const auto& [text, op] : kOps) {
    if (SkipOperator(text)) return op;
  }
  if (SkipWord("in")) return Op::kIn;
  if (IsWord("not") && next().kind == TokenKind::kName && next().text == "in") {
    Advance();
    Advance();
    return Op::kNotIn;
  }
  return std::nullopt;
}

ExprPtr ExpressionParser::ParseCompare() {
  const int line = current().line;
  auto first = ParseSum();
  auto op = TakeCompareOp();
  if (!op) return first;
  auto node = New(ExprKind::kCompare, line);
  node->children.push_back(std::move(first));
  for (; op; op = TakeCompareOp()) {
    node->ops.push_back(*op);
    node->children.push_back(ParseSum());
  }
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::ParseSum() {
  auto node = ParseConcat();
  while (IsOperator("+") || IsOperator("-")) {
    const Token token = Advance();
    node = Binary(ExprKind::kBinary, token.line, std::move(node), ParseConcat());
    node->ops = {token.text == "+" ? Op::kAdd : Op::kSubtract};
  }
  return node;
}

ExprPtr ExpressionParser::ParseConcat() {
  const int line = current().line;
  auto first = ParseProduct();
  if (!IsOperator("~")) return first;
  auto node = New(ExprKind::kConcat, line);
  node->children.push_back(std::move(first));
  while (SkipOperator("~")) node->children.push_back(ParseProduct());
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::ParseProduct() {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"*", Op::kMultiply}, {"/", Op::kDivide}, {"//", Op::kFloorDivide}, {"%", Op::kModulo}};
  auto node = ParsePower();
  for (;;) {
    const auto found = std::find_if(std::begin(kOps), std::end(kOps),
                                    [this](const auto& op) { return IsOperator(op.first); });
    if (found == std::end(kOps)) return node;
    const int line = Advance().line;
    node = Binary(ExprKind::kBinary, line, std::move(node), ParsePower());
    node->ops = {found->second};
  }
}

// Binds to the left and looser than a sign, as in jinja2 (not as in Python).
ExprPtr ExpressionParser::ParsePower() {
  auto node = ParseUnary(/*with_filters=*/true);
  while (IsOperator("**")) {
    const int line = Advance().line;
    node = Binary(ExprKind::kBinary, line, std::move(node), ParseUnary(/*with_filters=*/true));
    node->ops = {Op::kPower};
  }
  return node;
}

ExprPtr ExpressionParser::ParseUnary(bool with_filters) {
  ExprPtr node;
  if (IsOperator("-") || IsOperator("+")) {
    const Nesting nesting(this);
    const Token sign = Advance();
    const ExprKind kind = sign.text == "-" ? ExprKind::kNegate : ExprKind::kPlus;
    node = Unary(kind, sign.line, ParseUnary(/*with_filters=*/false));
  } else {
    node = ParsePrimary();
  }
  node = ParsePostfix(std::move(node));
  return with_filters ? ParseFilterChain(std::move(node)) : std::move(node);
}

bool ExpressionParser::TupleEnds(std::string_view end_word) const {
  const TokenKind kind = current().kind;
  return kind == TokenKind::kVariableEnd || kind == TokenKind::kBlockEnd ||
         kind == TokenKind::kEnd || IsOperator(")") || (!end_word.empty() && IsWord(end_word));
}

ExprPtr ExpressionParser::ParseTuple(bool with_condition, std::string_view end_word) {
  const int line = current().line;
  if (TupleEnds(end_word)) {
    Fail(fmt::format("expected an expression, got {}", Describe()));
    return New(ExprKind::kLiteral, line);
  }
  auto first = ParseExpression(with_condition);
  if (!IsOperator(",")) return first;
  auto node = New(ExprKind::kTuple, line);
  node->children.push_back(std::move(first));
  while (SkipOperator(",") && !TupleEnds(end_word)) {
    node->children.push_back(ParseExpression(with_condition));
  }
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::ParsePrimary() {
  switch (current().kind) {
    case TokenKind::kName:
      return ParseName();
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseLiteral();
    default:
      if (IsOperator("(")) return ParseParenthesized();
      if (IsOperator("[")) return ParseList();
      if (IsOperator("{")) return ParseDict();
      Fail(fmt::format("expected an expression, got {}", Describe()));
      return New(ExprKind::kLiteral, current().line);
  }
}

ExprPtr ExpressionParser::ParseName() {
  const Token token = Advance();
  auto node = New(ExprKind::kLiteral, token.line);
  if (token.text == "true" || token.text == "True") {
    node->literal = Value::Bool(true);
  } else if (token.text == "false" || token.text == "False") {
    node->literal = Value::Bool(false);
  } else if (token.text == "none" || token.text == "None") {
    node->literal = Value::None();
  } else {
    node->kind = ExprKind::kName;
    node->name = token.text;
    node->name_id = Intern(node->name);
    for (MacroStatement* macro : open_macros_) {
      macro->uses_caller |= token.text == "caller";
      macro->uses_varargs |= token.text == "varargs";
      macro->uses_kwargs |= token.text == "kwargs";
    }
  }
  return node;
}

ExprPtr ExpressionParser::ParseLiteral() {
  auto node = New(ExprKind::kLiteral, current().line);
  if (current().kind == TokenKind::kString) {
    std::string text;
    while (current().kind == TokenKind::kString) {
      const auto part = DecodeStringLiteral(current().text);
      if (!part) {
        Fail("a string literal has a malformed escape");
        return node;
      }
      text += *part;
      Advance();
    }
    node->literal = Value::TemplateString(text);
    return node;
  }
  if (current().kind == TokenKind::kFloat) {
    const auto value = DecodeFloat(current().text);
    if (value) node->literal = Value::Float(*value);
  } else if (const auto value = DecodeInteger(current().text)) {
    node->literal = Value::Int(*value);
  }
  if (node->literal.is_undefined()) {
    Fail(fmt::format("the number {} is malformed or does not fit 64 bits", Describe()));
  }
  Advance();
  return node;
}

ExprPtr ExpressionParser::ParseParenthesized() {
  const int line = Advance().line;
  if (SkipOperator(")")) return New(ExprKind::kTuple, line);
  auto node = ParseTuple();
  ExpectOperator(")");
  return node;
}

ExprPtr ExpressionParser::ParseList() {
  auto node = New(ExprKind::kList, Advance().line);
  while (!failed() && !IsOperator("]")) {
    node->children.push_back(ParseExpression());
    if (!SkipOperator(",")) break;
  }
  ExpectOperator("]");
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::ParseDict() {
  auto node = New(ExprKind::kDict, Advance().line);
  while (!failed() && !IsOperator("}")) {
    node->children.push_back(ParseExpression());
    ExpectOperator(":");
    node->children.push_back(ParseExpression());
    if (!SkipOperator(",")) break;
  }
  ExpectOperator("}");
  return Finish(std::move(node));
}

}  // namespace hunch::chat
