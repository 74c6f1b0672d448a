// The statements of a template.
#include <fmt/format.h>

#include <algorithm>

#include "chat/interpreter.h"
#include "chat/print.h"

namespace hunch::chat {

const Value* Scope::FindHere(int name_id) const {
  for (const auto& [id, value] : variables) {
    if (id == name_id) return &value;
  }
  return nullptr;
}

void Scope::Set(int name_id, Value value) {
  for (auto& [id, old] : variables) {
    if (id == name_id) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name_id, std::move(value));
}

Interpreter::Interpreter(const Program& program, Runtime& runtime)
    : program_(program),
      runtime_(runtime),
      global_(std::make_shared<Scope>()),
      scope_(global_),
      loop_id_(NameId("loop")),
      caller_id_(NameId("caller")),
      varargs_id_(NameId("varargs")),
      kwargs_id_(NameId("kwargs")) {}

Interpreter::~Interpreter() {
  for (const auto& scope : scopes_with_macros_) scope->variables.clear();
}

int Interpreter::NameId(std::string_view name) const {
  const auto found = std::find(program_.names.begin(), program_.names.end(), name);
  return found == program_.names.end() ? -1 : static_cast<int>(found - program_.names.begin());
}

void Interpreter::SetGlobal(std::string_view name, Value value) {
  // A name that the template never mentions cannot be looked at.
  if (const int id = NameId(name); id >= 0) global_->Set(id, std::move(value));
}

Text Interpreter::Run() {
  Text out;
  out_ = &out;
  {
    const ScopeGuard top(this);
    ExecuteBlock(program_.body);
  }
  out_ = nullptr;
  return out;
}

void Interpreter::Print(const Text& text) {
  if (out_->size() + text.size() > RenderLimits::kOutputBytes) {
    runtime_.Fail(fmt::format("the template prints more than {} bytes", RenderLimits::kOutputBytes),
                  ErrorCode::kResourceExhausted);
    return;
  }
  out_->Append(text);
}

Interpreter::Flow Interpreter::ExecuteBlock(const Block& block) {
  for (const auto& statement : block) {
    const Flow flow = Execute(*statement);
    if (runtime_.failed()) return Flow::kBreak;
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Execute(const Statement& statement) {
  const Depth depth(this);
  if (!runtime_.Spend(1)) return Flow::kBreak;
  runtime_.set_line(statement.line);
  switch (statement.kind) {
    case StatementKind::kText:
      Print(statement.literal.AsText());
      return Flow::kNext;
    case StatementKind::kOutput:
      Print(ToText(runtime_, Evaluate(*statement.expression)));
      return Flow::kNext;
    case StatementKind::kIf:
      return ExecuteIf(statement);
    case StatementKind::kFor:
      return ExecuteFor(statement);
    case StatementKind::kSet:
      Assign(statement.target, Evaluate(*statement.expression));
      return Flow::kNext;
    case StatementKind::kSetBlock:
      ExecuteSetBlock(statement);
      return Flow::kNext;
    case StatementKind::kMacro:
      ExecuteMacro(statement);
      return Flow::kNext;
    case StatementKind::kCallBlock:
      ExecuteCallBlock(statement);
      return Flow::kNext;
    case StatementKind::kFilterBlock:
      ExecuteFilterBlock(statement);
      return Flow::kNext;
    case StatementKind::kWith:
      return ExecuteWith(statement);
    case StatementKind::kScope: {
      const ScopeGuard scope(this);
      return ExecuteBlock(statement.body);
    }
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::ExecuteIf(const Statement& statement) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition && !Truthy(Evaluate(*branch.condition))) {
      if (runtime_.failed()) return Flow::kBreak;
      continue;
    }
    return ExecuteBlock(branch.body);
  }
  return Flow::kNext;
}

// The items for which the condition of `for ... if` holds; it sees the target but no `loop`.
std::vector<Value> Interpreter::FilterItems(const Statement& statement, std::vector<Value> items) {
  std::vector<Value> kept;
  const ScopeGuard scope(this);
  for (Value& item : items) {
    Assign(statement.target, item);
    if (Truthy(Evaluate(*statement.condition))) kept.push_back(std::move(item));
    if (runtime_.failed()) break;
  }
  return kept;
}

Interpreter::Flow Interpreter::ExecuteFor(const Statement& statement) {
  const Value iterable = Evaluate(*statement.expression);
  if (runtime_.failed()) return Flow::kBreak;
  auto items = Iterate(runtime_, iterable);
  if (statement.condition && !runtime_.failed()) items = FilterItems(statement, std::move(items));
  const Value list = runtime_.MakeList(std::move(items));
  if (runtime_.failed()) return Flow::kBreak;
  if (list.AsList().items.empty()) {
    const ScopeGuard scope(this);
    return ExecuteBlock(statement.else_body);
  }
  Loop* loop = runtime_.MakeLoop();
  loop->items = list.SharedList();
  for (; loop->index0 < loop->items->items.size() && runtime_.Spend(1); ++loop->index0) {
    const ScopeGuard scope(this);
    if (loop_id_ >= 0) scope_->Set(loop_id_, Value(loop));
    Assign(statement.target, loop->items->items[loop->index0]);
    if (ExecuteBlock(statement.body) == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Text Interpreter::Capture(const Block& block) {
  Text captured;
  Text* const outer = std::exchange(out_, &captured);
  {
    const ScopeGuard scope(this);
    ExecuteBlock(block);
  }
  out_ = outer;
  return captured;
}

void Interpreter::ExecuteSetBlock(const Statement& statement) {
  Value value = runtime_.MakeString(Capture(statement.body));
  if (statement.expression) value = EvaluateFilter(*statement.expression, &value);
  Assign(statement.target, value);
}

void Interpreter::ExecuteFilterBlock(const Statement& statement) {
  const Value body = runtime_.MakeString(Capture(statement.body));
  Print(ToText(runtime_, EvaluateFilter(*statement.expression, &body)));
}

Value Interpreter::MakeMacro(const MacroStatement& macro) {
  auto callable = std::make_shared<Callable>();
  callable->name = macro.name;
  callable->macro = &macro;
  callable->scope = scope_;
  runtime_.SpendBytes(sizeof(Callable));
  return Value(std::shared_ptr<const Callable>(std::move(callable)));
}

void Interpreter::ExecuteMacro(const Statement& statement) {
  scope_->Set(statement.macro->name_id, MakeMacro(*statement.macro));
  scopes_with_macros_.push_back(scope_);
  runtime_.SpendBytes(sizeof(Scope) + scope_->variables.capacity() * sizeof(Value));
}

void Interpreter::ExecuteCallBlock(const Statement& statement) {
  const Expr& call = *statement.expression;
  const Value callee = Evaluate(*call.children[0]);
  Arguments arguments = EvaluateArguments(call.arguments);
  arguments.keyword.emplace_back("caller", MakeMacro(*statement.macro));
  Print(ToText(runtime_, Call(callee, arguments)));
}

Interpreter::Flow Interpreter::ExecuteWith(const Statement& statement) {
  // All values are computed before any name is bound.
  std::vector<Value> values;
  for (const auto& [target, expression] : statement.assignments) {
    values.push_back(Evaluate(*expression));
  }
  const ScopeGuard scope(this);
  for (size_t i = 0; i < values.size(); ++i) Assign(statement.assignments[i].first, values[i]);
  return ExecuteBlock(statement.body);
}

void Interpreter::Assign(const Target& target, const Value& value) {
  if (runtime_.failed()) return;
  if (!target.elements.empty()) return AssignTuple(target, value);
  if (target.attribute.empty()) {
    runtime_.Spend(1 + scope_->variables.size() / 16);
    scope_->Set(target.name_id, value);
    return;
  }
  const Value* found = nullptr;
  for (const Scope* s = scope_.get(); s != nullptr && found == nullptr; s = s->parent.get()) {
    found = s->FindHere(target.name_id);
  }
  if (found == nullptr || found->kind() != Value::Kind::kNamespace) {
    runtime_.Fail(fmt::format("cannot assign attribute '{}': '{}' is not a namespace",
                              target.attribute, target.name));
    return;
  }
  auto& attributes = found->AsNamespace()->attributes;
  runtime_.Spend(1 + attributes.size() / 8);
  for (auto& [name, old] : attributes) {
    if (name == target.attribute) {
      old = value;
      return;
    }
  }
  attributes.emplace_back(target.attribute, value);
}

void Interpreter::AssignTuple(const Target& target, const Value& value) {
  if (value.is_undefined() || value.kind() == Value::Kind::kLoop) {
    runtime_.Fail(fmt::format("cannot unpack '{}'", TypeName(value)));
    return;
  }
  const std::vector<Value> items = Iterate(runtime_, value);
  if (runtime_.failed()) return;
  if (items.size() != target.elements.size()) {
    runtime_.Fail(fmt::format("{} values to unpack (expected {}, got {})",
                              items.size() > target.elements.size() ? "too many" : "not enough",
                              target.elements.size(), items.size()));
    return;
  }
  for (size_t i = 0; i < items.size(); ++i) Assign(target.elements[i], items[i]);
}

}  // namespace hunch::chat
