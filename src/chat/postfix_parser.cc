// What may follow a primary expression: attributes, subscripts, calls, filters and tests.
#include <fmt/format.h>

#include "chat/expression_parser.h"
#include "chat/literals.h"

namespace hunch::chat {

ExprPtr ExpressionParser::ParsePostfix(ExprPtr node) {
  while (!failed()) {
    if (IsOperator(".")) {
      node = ParseAttribute(std::move(node));
    } else if (IsOperator("[")) {
      node = ParseSubscript(std::move(node));
    } else if (IsOperator("(")) {
      node = ParseCall(std::move(node));
    } else {
      break;
    }
  }
  return node;
}

ExprPtr ExpressionParser::ParseFilterChain(ExprPtr node) {
  while (!failed()) {
    if (IsOperator("|")) {
      node = ParseFilters(std::move(node), /*start_inline=*/false);
    } else if (IsWord("is")) {
      node = ParseTest(std::move(node));
    } else if (IsOperator("(")) {
      node = ParseCall(std::move(node));
    } else {
      break;
    }
  }
  return node;
}

ExprPtr ExpressionParser::ParseAttribute(ExprPtr node) {
  const int line = Advance().line;
  if (current().kind == TokenKind::kInteger) {
    const auto index = DecodeInteger(Advance().text);
    auto literal = New(ExprKind::kLiteral, line);
    literal->literal = Value::Int(index.value_or(0));
    return Binary(ExprKind::kSubscript, line, std::move(node), std::move(literal));
  }
  auto attribute = Unary(ExprKind::kAttribute, line, std::move(node));
  attribute->name = ExpectName();
  return attribute;
}

ExprPtr ExpressionParser::ParseSubscript(ExprPtr node) {
  const int line = Advance().line;
  ExprPtr index;
  if (!IsOperator(":")) index = ParseExpression();
  if (IsOperator(":")) return ParseSlice(std::move(node), std::move(index), line);
  if (IsOperator(",")) {
    auto tuple = New(ExprKind::kTuple, line);
    tuple->children.push_back(std::move(index));
    while (SkipOperator(",") && !IsOperator("]")) tuple->children.push_back(ParseExpression());
    index = Finish(std::move(tuple));
  }
  ExpectOperator("]");
  return Binary(ExprKind::kSubscript, line, std::move(node), std::move(index));
}

ExprPtr ExpressionParser::ParseSlice(ExprPtr node, ExprPtr start, int line) {
  auto slice = New(ExprKind::kSlice, line);
  slice->children.push_back(std::move(node));
  slice->children.push_back(std::move(start));
  for (int part = 0; part < 2; ++part) {
    ExprPtr bound;
    if (SkipOperator(":") && !IsOperator(":") && !IsOperator("]")) bound = ParseExpression();
    slice->children.push_back(std::move(bound));
  }
  ExpectOperator("]");
  return Finish(std::move(slice));
}

ExprPtr ExpressionParser::ParseCall(ExprPtr node) {
  auto call = New(ExprKind::kCall, current().line);
  call->children.push_back(std::move(node));
  ParseArguments(&call->arguments);
  return Finish(std::move(call));
}

ExprPtr ExpressionParser::ParseFilters(ExprPtr input, bool start_inline) {
  while (!failed() && (start_inline || IsOperator("|"))) {
    if (!start_inline) Advance();
    start_inline = false;
    auto filter = New(ExprKind::kFilter, current().line);
    filter->name = ExpectName();
    filter->children.push_back(std::move(input));
    if (IsOperator("(")) ParseArguments(&filter->arguments);
    input = Finish(std::move(filter));
  }
  return input;
}

ExprPtr ExpressionParser::ParseTest(ExprPtr node) {
  const int line = Advance().line;
  const bool negated = SkipWord("not");
  auto test = New(ExprKind::kTest, line);
  test->name = ExpectName();
  test->children.push_back(std::move(node));
  const TokenKind kind = current().kind;
  if (IsOperator("(")) {
    ParseArguments(&test->arguments);
  } else if (IsWord("is")) {
    Fail("tests cannot be chained with 'is'");
  } else if ((kind == TokenKind::kName && !IsWord("else") && !IsWord("or") && !IsWord("and")) ||
             kind == TokenKind::kString || kind == TokenKind::kInteger ||
             kind == TokenKind::kFloat || IsOperator("[") || IsOperator("{")) {
    test->arguments.positional.push_back(ParsePostfix(ParsePrimary()));
  }
  auto finished = Finish(std::move(test));
  return negated ? Unary(ExprKind::kNot, line, std::move(finished)) : std::move(finished);
}

void ExpressionParser::ParseArguments(ArgumentList* arguments) {
  const Nesting nesting(this);
  ExpectOperator("(");
  while (!failed() && !IsOperator(")")) {
    ParseArgument(arguments);
    if (!SkipOperator(",")) break;
  }
  ExpectOperator(")");
}

void ExpressionParser::ParseArgument(ArgumentList* arguments) {
  const bool stars = arguments->star || arguments->double_star;
  if (SkipOperator("*")) {
    if (stars) Fail("a call takes one *argument at most, before any **argument");
    arguments->star = ParseExpression();
  } else if (SkipOperator("**")) {
    if (arguments->double_star) Fail("a call takes one **argument at most");
    arguments->double_star = ParseExpression();
  } else if (current().kind == TokenKind::kName && next().kind == TokenKind::kOperator &&
             next().text == "=") {
    if (arguments->double_star) Fail("a named argument follows a **argument");
    std::string name(Advance().text);
    Advance();
    arguments->keyword.emplace_back(std::move(name), ParseExpression());
  } else {
    if (stars || !arguments->keyword.empty()) {
      Fail("a positional argument follows a named one");
    }
    arguments->positional.push_back(ParseExpression());
  }
}

}  // namespace hunch::chat
