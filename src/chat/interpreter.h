// Runs a parsed template: statements, expressions, scopes and macro calls. One object per
// rendering, confined to one thread; the Program is only read.
#ifndef HUNCH_CHAT_INTERPRETER_H_
#define HUNCH_CHAT_INTERPRETER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/ast.h"
#include "chat/runtime.h"
#include "chat/value.h"

namespace hunch::chat {

// The variables that were assigned in one block. Looked up linearly: a block assigns few.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<int, Value>> variables;  // by name_id

  const Value* FindHere(int name_id) const;
  void Set(int name_id, Value value);
};

class Interpreter {
 public:
  Interpreter(const Program& program, Runtime& runtime);
  // A scope that defines a macro is held by that macro: the circle is cut here.
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // A variable of the outermost scope.
  void SetGlobal(std::string_view name, Value value);
  // What the template prints; to be read only if the runtime has not failed.
  Text Run();

 private:
  enum class Flow { kNext, kBreak, kContinue };  // a failure is told by the runtime
  class Depth;
  class ScopeGuard;

  // statements.cc
  Flow ExecuteBlock(const Block& block);
  Flow Execute(const Statement& statement);
  Flow ExecuteIf(const Statement& statement);
  Flow ExecuteFor(const Statement& statement);
  std::vector<Value> FilterItems(const Statement& statement, std::vector<Value> items);
  void ExecuteSetBlock(const Statement& statement);
  void ExecuteMacro(const Statement& statement);
  void ExecuteCallBlock(const Statement& statement);
  void ExecuteFilterBlock(const Statement& statement);
  Flow ExecuteWith(const Statement& statement);
  // What the block prints, in a scope of its own.
  Text Capture(const Block& block);
  void Assign(const Target& target, const Value& value);
  void AssignTuple(const Target& target, const Value& value);
  void Print(const Text& text);
  Value MakeMacro(const MacroStatement& macro);

  // expressions.cc
  Value Evaluate(const Expr& expr);
  Value EvaluateNow(const Expr& expr);
  Value EvaluateName(const Expr& expr);
  Value EvaluateItems(const Expr& expr);
  Value EvaluateDict(const Expr& expr);
  Value EvaluateSlice(const Expr& expr);
  Value EvaluateCall(const Expr& expr);
  Value EvaluateTest(const Expr& expr);
  Value EvaluateBinary(const Expr& expr);
  Value EvaluateConcat(const Expr& expr);
  Value EvaluateCompare(const Expr& expr);
  Value EvaluateConditional(const Expr& expr);
  // Applies the filters of `expr` to what it filters, or to `input` where that is left out.
  Value EvaluateFilter(const Expr& expr, const Value* input);
  Arguments EvaluateArguments(const ArgumentList& list);
  void UnpackStars(const ArgumentList& list, Arguments* arguments);
  Value Call(const Value& callee, const Arguments& arguments);

  // macros.cc
  Value CallMacro(const Callable& callable, const Arguments& arguments);
  void BindParameters(const MacroStatement& macro, const Arguments& arguments);
  void BindSurplus(const MacroStatement& macro, const Arguments& arguments);
  int NameId(std::string_view name) const;

  const Program& program_;
  Runtime& runtime_;
  std::shared_ptr<Scope> global_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> scopes_with_macros_;
  const int loop_id_, caller_id_, varargs_id_, kwargs_id_;  // -1: the template never says that name
  Text* out_ = nullptr;
  int depth_ = 0;
};

// Counts evaluations inside each other, and fails before they could overflow the stack.
class Interpreter::Depth {
 public:
  explicit Depth(Interpreter* interpreter) : interpreter_(interpreter) {
    if (++interpreter_->depth_ > RenderLimits::kCallDepth) {
      interpreter_->runtime_.Fail("macros or expressions call each other too deeply",
                                  ErrorCode::kResourceExhausted);
    }
  }
  ~Depth() { --interpreter_->depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter* interpreter_;
};

// Makes a new scope current for as long as it lives.
class Interpreter::ScopeGuard {
 public:
  ScopeGuard(Interpreter* interpreter, std::shared_ptr<Scope> parent)
      : interpreter_(interpreter), outer_(std::move(interpreter->scope_)) {
    interpreter_->scope_ = std::make_shared<Scope>();
    interpreter_->scope_->parent = std::move(parent);
  }
  explicit ScopeGuard(Interpreter* interpreter) : ScopeGuard(interpreter, interpreter->scope_) {}
  ~ScopeGuard() { interpreter_->scope_ = std::move(outer_); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Interpreter* interpreter_;
  std::shared_ptr<Scope> outer_;
};

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_INTERPRETER_H_
