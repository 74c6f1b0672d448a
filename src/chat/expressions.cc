// The expressions of a template.
#include <fmt/format.h>

#include "chat/filters.h"
#include "chat/interpreter.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {

Value Interpreter::Evaluate(const Expr& expr) {
  const Depth depth(this);
  if (!runtime_.Spend(1)) return {};
  runtime_.set_line(expr.line);
  return EvaluateNow(expr);
}

Value Interpreter::EvaluateNow(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return expr.literal;
    case ExprKind::kName:
      return EvaluateName(expr);
    case ExprKind::kTuple:
    case ExprKind::kList:
      return EvaluateItems(expr);
    case ExprKind::kDict:
      return EvaluateDict(expr);
    case ExprKind::kAttribute:
      return GetAttribute(runtime_, Evaluate(*expr.children[0]), expr.name);
    case ExprKind::kSubscript: {
      const Value value = Evaluate(*expr.children[0]);
      return GetItem(runtime_, value, Evaluate(*expr.children[1]));
    }
    case ExprKind::kSlice:
      return EvaluateSlice(expr);
    case ExprKind::kCall:
      return EvaluateCall(expr);
    case ExprKind::kFilter:
      return EvaluateFilter(expr, nullptr);
    case ExprKind::kTest:
      return EvaluateTest(expr);
    case ExprKind::kNot:
      return Value::Bool(!Truthy(Evaluate(*expr.children[0])));
    case ExprKind::kNegate:
      return Negate(runtime_, Evaluate(*expr.children[0]));
    case ExprKind::kPlus:
      return Negate(runtime_, Negate(runtime_, Evaluate(*expr.children[0])));
    case ExprKind::kBinary:
      return EvaluateBinary(expr);
    case ExprKind::kConcat:
      return EvaluateConcat(expr);
    case ExprKind::kCompare:
      return EvaluateCompare(expr);
    case ExprKind::kAnd: {
      const Value left = Evaluate(*expr.children[0]);
      return Truthy(left) ? Evaluate(*expr.children[1]) : left;
    }
    case ExprKind::kOr: {
      const Value left = Evaluate(*expr.children[0]);
      return Truthy(left) ? left : Evaluate(*expr.children[1]);
    }
    case ExprKind::kConditional:
      return EvaluateConditional(expr);
  }
  return {};
}

Value Interpreter::EvaluateName(const Expr& expr) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    if (const Value* found = scope->FindHere(expr.name_id)) return *found;
    if (!runtime_.Spend(scope->variables.size() / 16)) return {};
  }
  return Value::Undefined(fmt::format("'{}' is undefined", expr.name));
}

Value Interpreter::EvaluateItems(const Expr& expr) {
  std::vector<Value> items;
  items.reserve(expr.children.size());
  for (const auto& child : expr.children) items.push_back(Evaluate(*child));
  return runtime_.MakeList(std::move(items),
                           expr.kind == ExprKind::kTuple ? ListKind::kTuple : ListKind::kList);
}

Value Interpreter::EvaluateDict(const Expr& expr) {
  Dict dict;
  for (size_t i = 0; i < expr.children.size() && !runtime_.failed(); i += 2) {
    const Value key = Evaluate(*expr.children[i]);
    SetKey(runtime_, &dict, key, Evaluate(*expr.children[i + 1]));
  }
  return runtime_.MakeDict(std::move(dict.entries));
}

Value Interpreter::EvaluateSlice(const Expr& expr) {
  const Value value = Evaluate(*expr.children[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = expr.children[i + 1] ? Evaluate(*expr.children[i + 1]) : Value::None();
  }
  return GetSlice(runtime_, value, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::EvaluateBinary(const Expr& expr) {
  const Value left = Evaluate(*expr.children[0]);
  const Value right = Evaluate(*expr.children[1]);
  return BinaryOperation(runtime_, expr.ops[0], left, right);
}

Value Interpreter::EvaluateConcat(const Expr& expr) {
  Text text;
  for (const auto& child : expr.children) text.Append(ToText(runtime_, Evaluate(*child)));
  return runtime_.MakeString(std::move(text));
}

Value Interpreter::EvaluateCompare(const Expr& expr) {
  Value left = Evaluate(*expr.children[0]);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = Evaluate(*expr.children[i + 1]);
    if (!CompareOperation(runtime_, expr.ops[i], left, right)) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Value Interpreter::EvaluateConditional(const Expr& expr) {
  if (Truthy(Evaluate(*expr.children[1]))) return Evaluate(*expr.children[0]);
  if (expr.children[2]) return Evaluate(*expr.children[2]);
  return Value::Undefined("an inline 'if' was false and has no 'else'");
}

Value Interpreter::EvaluateFilter(const Expr& expr, const Value* input) {
  // In a filter block the chain's innermost filter has no operand of its own.
  const Expr* operand = expr.children[0].get();
  Value value;
  if (operand == nullptr) {
    if (input != nullptr) value = *input;
  } else if (input != nullptr && operand->kind == ExprKind::kFilter) {
    const Depth depth(this);
    if (runtime_.Spend(1)) value = EvaluateFilter(*operand, input);
  } else {
    value = Evaluate(*operand);
  }
  const Arguments arguments = EvaluateArguments(expr.arguments);
  if (runtime_.failed()) return {};
  runtime_.set_line(expr.line);
  return ApplyFilter(runtime_, expr.name, value, arguments);
}

Value Interpreter::EvaluateTest(const Expr& expr) {
  const Value value = Evaluate(*expr.children[0]);
  const Arguments arguments = EvaluateArguments(expr.arguments);
  if (runtime_.failed()) return {};
  return Value::Bool(ApplyTest(runtime_, expr.name, value, arguments));
}

Arguments Interpreter::EvaluateArguments(const ArgumentList& list) {
  Arguments arguments;
  arguments.positional.reserve(list.positional.size());
  for (const auto& expr : list.positional) arguments.positional.push_back(Evaluate(*expr));
  for (const auto& [name, expr] : list.keyword) {
    arguments.keyword.emplace_back(name, Evaluate(*expr));
  }
  if (list.star || list.double_star) UnpackStars(list, &arguments);
  return arguments;
}

void Interpreter::UnpackStars(const ArgumentList& list, Arguments* arguments) {
  if (list.star) {
    for (Value& item : Iterate(runtime_, Evaluate(*list.star))) {
      arguments->positional.push_back(std::move(item));
    }
  }
  if (!list.double_star) return;
  const Value named = Evaluate(*list.double_star);
  if (!named.is_dict()) {
    runtime_.Fail("the argument after ** must be a dict");
    return;
  }
  for (const auto& [key, value] : named.AsDict().entries) {
    if (!runtime_.Spend(1)) return;
    if (!key.is_string()) {
      runtime_.Fail("keywords must be strings");
      return;
    }
    arguments->keyword.emplace_back(key.AsBytes(), value);
  }
}

Value Interpreter::EvaluateCall(const Expr& expr) {
  const Value callee = Evaluate(*expr.children[0]);
  const Arguments arguments = EvaluateArguments(expr.arguments);
  if (runtime_.failed()) return {};
  runtime_.set_line(expr.line);
  Value result = Call(callee, arguments);
  runtime_.set_line(expr.line);
  return result;
}

Value Interpreter::Call(const Value& callee, const Arguments& arguments) {
  if (runtime_.failed()) return {};
  if (callee.is_undefined()) return runtime_.Fail(callee.Reason());
  if (callee.kind() != Value::Kind::kCallable) {
    return runtime_.Fail(fmt::format("'{}' object is not callable", TypeName(callee)));
  }
  const Callable& callable = callee.AsCallable();
  if (callable.macro != nullptr) return CallMacro(callable, arguments);
  return callable.builtin(runtime_, callable.receiver, arguments);
}

}  // namespace hunch::chat
