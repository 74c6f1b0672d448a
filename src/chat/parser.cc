#include "chat/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "chat/expression_parser.h"

namespace hunch::chat {
namespace {

using StatementPtr = std::unique_ptr<Statement>;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<Program> Run() {
    Program program;
    program.body = ParseBlock({}, "");
    if (failed()) return error();
    program.names = TakeNames();
    return program;
  }

 private:
  StatementPtr New(StatementKind kind, int line) {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = line;
    return statement;
  }

  // Statements up to a tag that starts with one of `ends`; stands at that word afterwards. With no
  // ends: up to the end of the template.
  Block ParseBlock(std::initializer_list<std::string_view> ends, std::string_view opener) {
    const Nesting nesting(this);
    Block block;
    const int opened_at = current().line;
    while (current().kind != TokenKind::kEnd) {
      const Token token = Advance();
      if (token.kind == TokenKind::kData) {
        block.push_back(New(StatementKind::kText, token.line));
        block.back()->literal = Value::TemplateString(token.text);
      } else if (token.kind == TokenKind::kVariableBegin) {
        block.push_back(New(StatementKind::kOutput, token.line));
        block.back()->expression = ParseTuple();
        ExpectEnd(TokenKind::kVariableEnd);
      } else {
        if (std::any_of(ends.begin(), ends.end(), [this](auto end) { return IsWord(end); })) {
          return block;
        }
        if (auto statement = ParseStatement()) block.push_back(std::move(statement));
        ExpectEnd(TokenKind::kBlockEnd);
      }
    }
    if (ends.size() > 0 && !failed()) {
      FailAt(opened_at, fmt::format("a '{}' block is never closed", opener), ErrorCode::kBadFile);
    }
    return block;
  }

  // The block of a statement with one end word, which is consumed.
  Block ParseBody(std::string_view end, std::string_view opener) {
    ExpectEnd(TokenKind::kBlockEnd);
    Block block = ParseBlock({end}, opener);
    SkipWord(end);
    return block;
  }

  void ExpectEnd(TokenKind kind) {
    if (current().kind != kind) {
      Fail(fmt::format("expected the end of the {}, got {}",
                       kind == TokenKind::kBlockEnd ? "statement" : "expression", Describe()));
    }
    Advance();
  }

  StatementPtr ParseStatement() {
    const int line = current().line;
    const std::string word = ExpectName();
    if (failed()) return nullptr;
    if (word == "if") return ParseIf(line);
    if (word == "for") return ParseFor(line);
    if (word == "set") return ParseSet(line);
    if (word == "macro") return ParseMacro(line);
    if (word == "call") return ParseCallBlock(line);
    if (word == "filter") return ParseFilterBlock(line);
    if (word == "with") return ParseWith(line);
    if (word == "generation") return ParseGeneration(line);
    if (word == "break") return ParseLoopControl(StatementKind::kBreak, line);
    if (word == "continue") return ParseLoopControl(StatementKind::kContinue, line);
    return RefuseStatement(word, line);
  }

  StatementPtr RefuseStatement(const std::string& word, int line) {
    static constexpr std::string_view kStray[] = {"else",      "elif",    "endif",        "endfor",
                                                  "endset",    "endcall", "endmacro",     "endwith",
                                                  "endfilter", "endraw",  "endgeneration"};
    if (std::find(std::begin(kStray), std::end(kStray), word) != std::end(kStray)) {
      FailAt(line, fmt::format("'{}' does not close any open block here", word),
             ErrorCode::kBadFile);
    } else {
      FailAt(line, fmt::format("the statement '{}' is not supported", word.substr(0, 40)),
             ErrorCode::kUnsupported);
    }
    return nullptr;
  }

  StatementPtr ParseIf(int line) {
    auto statement = New(StatementKind::kIf, line);
    for (bool more = true; more && !failed();) {
      Branch branch;
      branch.condition = ParseTuple(/*with_condition=*/false);
      ExpectEnd(TokenKind::kBlockEnd);
      branch.body = ParseBlock({"elif", "else", "endif"}, "if");
      statement->branches.push_back(std::move(branch));
      more = SkipWord("elif");
    }
    if (SkipWord("else")) {
      Branch branch;
      branch.body = ParseBody("endif", "if");
      statement->branches.push_back(std::move(branch));
    } else {
      SkipWord("endif");
    }
    return statement;
  }

  StatementPtr ParseFor(int line) {
    auto statement = New(StatementKind::kFor, line);
    statement->target = ParseTarget(/*with_tuple=*/true, /*with_namespace=*/false);
    ExpectWord("in");
    statement->expression = ParseTuple(/*with_condition=*/false, "recursive");
    if (SkipWord("if")) statement->condition = ParseExpression();
    if (IsWord("recursive")) {
      FailAt(line, "a recursive 'for' is not supported", ErrorCode::kUnsupported);
    }
    ExpectEnd(TokenKind::kBlockEnd);
    ++loops_;
    statement->body = ParseBlock({"endfor", "else"}, "for");
    --loops_;
    if (SkipWord("else")) {
      statement->else_body = ParseBody("endfor", "for");
    } else {
      SkipWord("endfor");
    }
    return statement;
  }

  StatementPtr ParseLoopControl(StatementKind kind, int line) {
    if (loops_ == 0) {
      FailAt(line, "'break' and 'continue' belong into a 'for' block", ErrorCode::kBadFile);
    }
    return New(kind, line);
  }

  StatementPtr ParseSet(int line) {
    auto statement = New(StatementKind::kSet, line);
    statement->target = ParseTarget(/*with_tuple=*/true, /*with_namespace=*/true);
    if (SkipOperator("=")) {
      statement->expression = ParseTuple();
      return statement;
    }
    statement->kind = StatementKind::kSetBlock;
    statement->expression = ParseFilters(nullptr, /*start_inline=*/false);
    statement->body = ParseBody("endset", "set");
    return statement;
  }

  Target ParseTarget(bool with_tuple, bool with_namespace) {
    Target target = ParseSimpleTarget(with_namespace);
    if (!with_tuple || !IsOperator(",")) return target;
    Target tuple;
    tuple.line = target.line;
    tuple.elements.push_back(std::move(target));
    while (SkipOperator(",") && (current().kind == TokenKind::kName || IsOperator("(")) &&
           !IsWord("in")) {
      tuple.elements.push_back(ParseSimpleTarget(with_namespace));
    }
    return tuple;
  }

  Target ParseSimpleTarget(bool with_namespace) {
    const Nesting nesting(this);
    Target target;
    target.line = current().line;
    if (SkipOperator("(")) {
      target = ParseTarget(/*with_tuple=*/true, with_namespace);
      ExpectOperator(")");
      return target;
    }
    target.name = ExpectName();
    static constexpr std::string_view kConstants[] = {"true",  "True", "false",
                                                      "False", "none", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), target.name) !=
        std::end(kConstants)) {
      Fail(fmt::format("cannot assign to '{}'", target.name));
    }
    target.name_id = Intern(target.name);
    if (with_namespace && SkipOperator(".")) target.attribute = ExpectName();
    return target;
  }

  void ParseSignature(MacroStatement* macro) {
    ExpectOperator("(");
    while (!failed() && !IsOperator(")")) {
      MacroStatement::Parameter parameter;
      parameter.name = ExpectName();
      parameter.name_id = Intern(parameter.name);
      if (SkipOperator("=")) {
        parameter.default_value = ParseExpression();
      } else if (!macro->parameters.empty() && macro->parameters.back().default_value) {
        Fail("a parameter without a default follows one with a default");
      }
      macro->parameters.push_back(std::move(parameter));
      if (!SkipOperator(",")) break;
    }
    ExpectOperator(")");
  }

  void ParseMacroBody(MacroStatement* macro, std::string_view end, std::string_view opener) {
    open_macros_.push_back(macro);
    const int outer_loops = std::exchange(loops_, 0);
    macro->body = ParseBody(end, opener);
    loops_ = outer_loops;
    open_macros_.pop_back();
  }

  StatementPtr ParseMacro(int line) {
    auto statement = New(StatementKind::kMacro, line);
    statement->macro = std::make_unique<MacroStatement>();
    MacroStatement* macro = statement->macro.get();
    macro->name = ExpectName();
    macro->name_id = Intern(macro->name);
    ParseSignature(macro);
    ParseMacroBody(macro, "endmacro", "macro");
    return statement;
  }

  StatementPtr ParseCallBlock(int line) {
    auto statement = New(StatementKind::kCallBlock, line);
    statement->macro = std::make_unique<MacroStatement>();
    statement->macro->name = "caller";
    if (IsOperator("(")) ParseSignature(statement->macro.get());
    statement->expression = ParseExpression();
    if (!failed() && statement->expression->kind != ExprKind::kCall) {
      FailAt(line, "'call' needs a call of a macro", ErrorCode::kBadFile);
    }
    ParseMacroBody(statement->macro.get(), "endcall", "call");
    return statement;
  }

  StatementPtr ParseFilterBlock(int line) {
    auto statement = New(StatementKind::kFilterBlock, line);
    statement->expression = ParseFilters(nullptr, /*start_inline=*/true);
    statement->body = ParseBody("endfilter", "filter");
    return statement;
  }

  StatementPtr ParseWith(int line) {
    auto statement = New(StatementKind::kWith, line);
    while (!failed() && current().kind != TokenKind::kBlockEnd) {
      Target target = ParseTarget(/*with_tuple=*/false, /*with_namespace=*/false);
      ExpectOperator("=");
      statement->assignments.emplace_back(std::move(target), ParseExpression());
      if (!SkipOperator(",")) break;
    }
    statement->body = ParseBody("endwith", "with");
    return statement;
  }

  // Hugging Face's mark for what the assistant said; it only matters to training.
  StatementPtr ParseGeneration(int line) {
    auto statement = New(StatementKind::kScope, line);
    statement->body = ParseBody("endgeneration", "generation");
    return statement;
  }

  int loops_ = 0;  // for statements around the current place, within its macro
};

}  // namespace

Result<Program> ParseTemplate(std::string_view source) {
  const std::string normalized = NormalizeSource(source);
  HUNCH_ASSIGN_OR_RETURN(auto tokens, Tokenize(normalized));
  return Parser(std::move(tokens)).Run();
}

}  // namespace hunch::chat
