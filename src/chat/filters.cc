// Finding filters by name, and the tests.
#include "chat/filters.h"

#include <fmt/format.h>

#include <unordered_map>

#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

using TestFunction = bool (*)(Runtime&, const Value&, const Arguments&);

bool IsKind(const Value& value, Value::Kind kind) { return value.kind() == kind; }

template <Value::Kind kind>
bool OfKind(Runtime&, const Value& value, const Arguments&) {
  return IsKind(value, kind);
}

bool IsDefined(Runtime&, const Value& value, const Arguments&) { return !value.is_undefined(); }

template <bool expected>
bool IsExactly(Runtime&, const Value& value, const Arguments&) {
  return value.is_bool() && value.AsBool() == expected;
}

bool IsNumber(Runtime&, const Value& value, const Arguments&) { return value.is_number(); }

// jinja2 asks for __iter__; its Undefined has one.
bool IsIterable(Runtime&, const Value& value, const Arguments&) {
  return value.is_undefined() || value.is_string() || value.is_list() || value.is_dict() ||
         IsKind(value, Value::Kind::kLoop);
}

// jinja2 asks for __len__ and __getitem__, which dicts and Undefined have too.
bool IsSequence(Runtime&, const Value& value, const Arguments&) {
  if (value.is_list()) {
    return value.AsList().kind == ListKind::kList || value.AsList().kind == ListKind::kTuple;
  }
  return value.is_undefined() || value.is_string() || value.is_dict();
}

// The one argument of tests such as `divisibleby`; undefined, with a failure, when it is missing.
Value TestArgument(Runtime& runtime, const Arguments& arguments) {
  if (!arguments.positional.empty()) return arguments.positional[0];
  if (!arguments.keyword.empty()) return arguments.keyword[0].second;
  return runtime.Fail("a test lacks its argument");
}

bool HasRemainder(Runtime& runtime, const Value& value, const Value& divisor, int64_t remainder) {
  return Equals(runtime, BinaryOperation(runtime, Op::kModulo, value, divisor),
                Value::Int(remainder));
}

bool IsOdd(Runtime& runtime, const Value& value, const Arguments&) {
  return HasRemainder(runtime, value, Value::Int(2), 1);
}
bool IsEven(Runtime& runtime, const Value& value, const Arguments&) {
  return HasRemainder(runtime, value, Value::Int(2), 0);
}
bool IsDivisibleBy(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return HasRemainder(runtime, value, TestArgument(runtime, arguments), 0);
}

template <Op op>
bool Compares(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return CompareOperation(runtime, op, value, TestArgument(runtime, arguments));
}

bool IsSameAs(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value other = TestArgument(runtime, arguments);
  if (value.is_list() || value.is_dict()) return value.SameObject(other);
  return value.kind() == other.kind() && Equals(runtime, value, other);
}

bool HasCase(Runtime& runtime, const Value& value, std::string_view method) {
  const Value text = runtime.MakeString(ToText(runtime, value));
  return !runtime.failed() && Truthy(FindStringMethod(method)(runtime, text, {}));
}
bool IsUpper(Runtime& runtime, const Value& value, const Arguments&) {
  return HasCase(runtime, value, "isupper");
}
bool IsLower(Runtime& runtime, const Value& value, const Arguments&) {
  return HasCase(runtime, value, "islower");
}

bool IsEscaped(Runtime&, const Value& value, const Arguments&) {
  return value.is_string() && value.AsText().markup();
}

BuiltinFunction FindFilter(std::string_view name) {
  for (const auto find : {FindTextFilter, FindNumberFilter, FindSequenceFilter, FindOrderFilter}) {
    if (const BuiltinFunction filter = find(name)) return filter;
  }
  return nullptr;
}

bool IsFilter(Runtime&, const Value& value, const Arguments&) {
  return value.is_string() && FindFilter(value.AsBytes()) != nullptr;
}

const std::unordered_map<std::string_view, TestFunction>& Tests() {
  static const std::unordered_map<std::string_view, TestFunction> kTests = {
      {"defined", IsDefined},
      {"undefined", OfKind<Value::Kind::kUndefined>},
      {"none", OfKind<Value::Kind::kNone>},
      {"boolean", OfKind<Value::Kind::kBool>},
      {"integer", OfKind<Value::Kind::kInt>},
      {"float", OfKind<Value::Kind::kFloat>},
      {"string", OfKind<Value::Kind::kString>},
      {"mapping", OfKind<Value::Kind::kDict>},
      {"callable", OfKind<Value::Kind::kCallable>},
      {"true", IsExactly<true>},
      {"false", IsExactly<false>},
      {"number", IsNumber},
      {"iterable", IsIterable},
      {"sequence", IsSequence},
      {"odd", IsOdd},
      {"even", IsEven},
      {"divisibleby", IsDivisibleBy},
      {"sameas", IsSameAs},
      {"upper", IsUpper},
      {"lower", IsLower},
      {"escaped", IsEscaped},
      {"filter", IsFilter},
      {"in", Compares<Op::kIn>},
      {"eq", Compares<Op::kEqual>},
      {"equalto", Compares<Op::kEqual>},
      {"==", Compares<Op::kEqual>},
      {"ne", Compares<Op::kNotEqual>},
      {"!=", Compares<Op::kNotEqual>},
      {"lt", Compares<Op::kLess>},
      {"lessthan", Compares<Op::kLess>},
      {"<", Compares<Op::kLess>},
      {"le", Compares<Op::kLessEqual>},
      {"<=", Compares<Op::kLessEqual>},
      {"gt", Compares<Op::kGreater>},
      {"greaterthan", Compares<Op::kGreater>},
      {">", Compares<Op::kGreater>},
      {"ge", Compares<Op::kGreaterEqual>},
      {">=", Compares<Op::kGreaterEqual>},
  };
  return kTests;
}

}  // namespace

Value ApplyFilter(Runtime& runtime, std::string_view name, const Value& value,
                  const Arguments& arguments) {
  if (!runtime.Spend(1)) return {};
  if (const BuiltinFunction filter = FindFilter(name)) return filter(runtime, value, arguments);
  return runtime.Fail(fmt::format("there is no filter named '{}'", name.substr(0, 40)),
                      ErrorCode::kUnsupported);
}

bool ApplyTest(Runtime& runtime, std::string_view name, const Value& value,
               const Arguments& arguments) {
  if (!runtime.Spend(1)) return false;
  const auto found = Tests().find(name);
  if (found != Tests().end()) return found->second(runtime, value, arguments);
  runtime.Fail(fmt::format("there is no test named '{}'", name.substr(0, 40)),
               ErrorCode::kUnsupported);
  return false;
}

Value GetPath(Runtime& runtime, const Value& item, const Value& path, const Value* otherwise) {
  const auto step = [&](const Value& from, const Value& index) {
    Value found = GetItem(runtime, from, index);
    return found.is_undefined() && otherwise != nullptr ? *otherwise : found;
  };
  if (!path.is_string()) return step(item, path);
  Value value = item;
  const std::string& bytes = path.AsBytes();
  for (size_t begin = 0; begin <= bytes.size() && !runtime.failed();) {
    const size_t end = std::min(bytes.find('.', begin), bytes.size());
    const std::string part = bytes.substr(begin, end - begin);
    const bool index = !part.empty() && part.size() < 10 &&
                       part.find_first_not_of("0123456789") == std::string::npos;
    value = step(value, index ? Value::Int(std::stoll(part))
                              : runtime.MakeString(part, /*from_request=*/false));
    begin = end + 1;
  }
  return value;
}

}  // namespace hunch::chat
