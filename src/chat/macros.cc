// Calls of macros, with jinja2's rules for missing and surplus arguments.
#include <fmt/format.h>

#include <algorithm>

#include "chat/interpreter.h"

namespace hunch::chat {

Value Interpreter::CallMacro(const Callable& callable, const Arguments& arguments) {
  Text captured;
  Text* const outer = std::exchange(out_, &captured);
  {
    const ScopeGuard scope(this, callable.scope);
    BindParameters(*callable.macro, arguments);
    BindSurplus(*callable.macro, arguments);
    if (!runtime_.failed()) ExecuteBlock(callable.macro->body);
  }
  out_ = outer;
  return runtime_.MakeString(std::move(captured));
}

void Interpreter::BindParameters(const MacroStatement& macro, const Arguments& arguments) {
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const auto& parameter = macro.parameters[i];
    if (!runtime_.Spend(1 + i / 16 + arguments.keyword.size() / 8)) return;
    const Value* given = arguments.Get(i, parameter.name);
    if (given != nullptr) {
      scope_->Set(parameter.name_id, *given);
    } else if (parameter.default_value) {
      scope_->Set(parameter.name_id, Evaluate(*parameter.default_value));
    } else {
      scope_->Set(parameter.name_id,
                  Value::Undefined(fmt::format("parameter '{}' was not provided", parameter.name)));
    }
  }
}

void Interpreter::BindSurplus(const MacroStatement& macro, const Arguments& arguments) {
  const size_t expected = macro.parameters.size();
  std::vector<Value> surplus;
  for (size_t i = expected; i < arguments.positional.size(); ++i) {
    surplus.push_back(arguments.positional[i]);
  }
  if (!surplus.empty() && !macro.uses_varargs) {
    runtime_.Fail(
        fmt::format("macro '{}' takes not more than {} argument(s)", macro.name, expected));
    return;
  }
  std::vector<std::pair<Value, Value>> named;
  Value caller = Value::Undefined("no caller defined");
  for (const auto& [name, value] : arguments.keyword) {
    if (!runtime_.Spend(1 + macro.parameters.size() / 8)) return;
    const auto parameter = std::find_if(macro.parameters.begin(), macro.parameters.end(),
                                        [&name = name](const auto& p) { return p.name == name; });
    if (parameter != macro.parameters.end()) {
      if (static_cast<size_t>(parameter - macro.parameters.begin()) < arguments.positional.size()) {
        runtime_.Fail(
            fmt::format("macro '{}' got multiple values for argument '{}'", macro.name, name));
      }
    } else if (name == "caller" && macro.uses_caller) {
      caller = value;
    } else if (macro.uses_kwargs) {
      named.emplace_back(Value::TemplateString(name), value);
    } else {
      runtime_.Fail(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name, name));
    }
  }
  if (macro.uses_caller) scope_->Set(caller_id_, caller);
  if (macro.uses_varargs) {
    scope_->Set(varargs_id_, runtime_.MakeList(std::move(surplus), ListKind::kTuple));
  }
  if (macro.uses_kwargs) scope_->Set(kwargs_id_, runtime_.MakeDict(std::move(named)));
}

}  // namespace hunch::chat
