// The parsed form of a chat template. Immutable after parsing, so rendering may share it between
// threads. Invariant: no tree is deeper than kMaxTreeDepth, so that recursion over it needs a
// bounded stack.
#ifndef HUNCH_CHAT_AST_H_
#define HUNCH_CHAT_AST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/value.h"

namespace hunch::chat {

constexpr int kMaxTreeDepth = 300;

enum class ExprKind {
  kLiteral,      // literal
  kName,         // name_id, name
  kTuple,        // children
  kList,         // children
  kDict,         // children: key, value, key, value, ...
  kAttribute,    // children[0] . name
  kSubscript,    // children[0] [ children[1] ]
  kSlice,        // children[0] [ children[1] : children[2] : children[3] ], null where left out
  kCall,         // children[0] ( arguments )
  kFilter,       // children[0] | name ( arguments ); children[0] is null in a filter block
  kTest,         // children[0] is name ( arguments )
  kNot,          // children[0]
  kNegate,       // children[0]
  kPlus,         // children[0]
  kBinary,       // children[0] op children[1]
  kConcat,       // children joined by ~
  kCompare,      // children[0] ops[0] children[1] ops[1] children[2] ...
  kAnd,          // children[0], children[1]
  kOr,           // children[0], children[1]
  kConditional,  // children[0] if children[1] else children[2], which is null when left out
};

enum class Op {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// The arguments of a call, a filter or a test, unevaluated.
struct ArgumentList {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keyword;
  ExprPtr star;         // *list
  ExprPtr double_star;  // **dict
};

struct Expr {
  ExprKind kind;
  int line = 0;
  int depth = 1;
  int name_id = -1;
  std::string name;
  Value literal;
  std::vector<ExprPtr> children;
  std::vector<Op> ops;
  ArgumentList arguments;
};

// What `set`, `for` and `with` assign to: a name, an attribute of a namespace, or a tuple of
// targets.
struct Target {
  int line = 0;
  int name_id = -1;
  std::string name;
  std::string attribute;         // of the namespace `name`; empty for a plain name
  std::vector<Target> elements;  // not empty: a tuple
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

struct MacroStatement {
  struct Parameter {
    int name_id;
    std::string name;
    ExprPtr default_value;  // null: none
  };
  std::string name;
  int name_id = -1;  // -1 for the body of a call block
  std::vector<Parameter> parameters;
  Block body;
  // Whether the body mentions these, which decides if surplus arguments are errors.
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

enum class StatementKind {
  kText,         // literal
  kOutput,       // expression
  kIf,           // branches
  kFor,          // target in expression if condition: body, else_body
  kSet,          // target = expression
  kSetBlock,     // target = body, through the filters of expression unless that is null
  kMacro,        // macro
  kCallBlock,    // expression (a call) with macro as its caller
  kFilterBlock,  // body through the filters of expression
  kWith,         // targets = values: body
  kScope,        // body in a scope of its own: {% generation %}
  kBreak,
  kContinue
};

struct Branch {
  ExprPtr condition;  // null: else
  Block body;
};

struct Statement {
  StatementKind kind;
  int line = 0;
  Value literal;
  ExprPtr expression;
  ExprPtr condition;
  Target target;
  std::vector<Branch> branches;
  Block body, else_body;
  std::unique_ptr<MacroStatement> macro;
  std::vector<std::pair<Target, ExprPtr>> assignments;
};

struct Program {
  Block body;
  std::vector<std::string> names;  // by name_id
};

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_AST_H_
