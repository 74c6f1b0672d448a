#include "chat/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/print.h"

namespace hunch::chat {
namespace {

std::string_view Symbol(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    case Op::kPower:
      return "**";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kGreater:
      return ">";
    case Op::kGreaterEqual:
      return ">=";
    default:
      return "in";
  }
}

Value Unsupported(Runtime& runtime, Op op, const Value& left, const Value& right) {
  return runtime.Fail(fmt::format("unsupported operand types for {}: '{}' and '{}'", Symbol(op),
                                  TypeName(left), TypeName(right)));
}

Value Overflow(Runtime& runtime, Op op) {
  return runtime.Fail(fmt::format("the result of {} does not fit 64 bits", Symbol(op)));
}

int64_t FloorDivide(int64_t left, int64_t right) {
  const int64_t quotient = left / right;
  return quotient - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
}

// By squaring; whole exponents only, so that no library function is needed.
Value IntegerPower(Runtime& runtime, int64_t base, int64_t exponent) {
  int64_t result = 1;
  bool overflow = false;
  while (exponent > 0 && !overflow) {
    if (exponent & 1) overflow = __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) overflow = true;
  }
  return overflow ? Overflow(runtime, Op::kPower) : Value::Int(result);
}

Value FloatPower(Runtime& runtime, double base, double exponent) {
  if (exponent != std::floor(exponent) || std::abs(exponent) > 1'000'000) {
    return runtime.Fail("** with an exponent that is not whole", ErrorCode::kUnsupported);
  }
  double result = 1;
  for (auto left = static_cast<int64_t>(std::abs(exponent)); left > 0; left >>= 1) {
    if (left & 1) result *= base;
    base *= base;
  }
  return Value::Float(exponent < 0 ? 1 / result : result);
}

Value IntegerOperation(Runtime& runtime, Op op, int64_t left, int64_t right) {
  int64_t result = 0;
  const bool divides = op == Op::kDivide || op == Op::kFloorDivide || op == Op::kModulo;
  if (divides && right == 0) return runtime.Fail("division by zero");
  switch (op) {
    case Op::kAdd:
      if (__builtin_add_overflow(left, right, &result)) return Overflow(runtime, op);
      return Value::Int(result);
    case Op::kSubtract:
      if (__builtin_sub_overflow(left, right, &result)) return Overflow(runtime, op);
      return Value::Int(result);
    case Op::kMultiply:
      if (__builtin_mul_overflow(left, right, &result)) return Overflow(runtime, op);
      return Value::Int(result);
    case Op::kDivide:
      return Value::Float(static_cast<double>(left) / static_cast<double>(right));
    case Op::kPower:
      if (right < 0) {
        return FloatPower(runtime, static_cast<double>(left), static_cast<double>(right));
      }
      return IntegerPower(runtime, left, right);
    default:
      break;
  }
  // The one quotient that does not fit, and a trap on some machines.
  if (right == -1) {
    if (op == Op::kModulo) return Value::Int(0);
    if (__builtin_sub_overflow(int64_t{0}, left, &result)) return Overflow(runtime, op);
    return Value::Int(result);
  }
  const int64_t quotient = FloorDivide(left, right);
  return Value::Int(op == Op::kModulo ? left - quotient * right : quotient);
}

Value FloatOperation(Runtime& runtime, Op op, double left, double right) {
  switch (op) {
    case Op::kAdd:
      return Value::Float(left + right);
    case Op::kSubtract:
      return Value::Float(left - right);
    case Op::kMultiply:
      return Value::Float(left * right);
    case Op::kPower:
      return FloatPower(runtime, left, right);
    default:
      break;
  }
  if (right == 0) return runtime.Fail("division by zero");
  if (op == Op::kDivide) return Value::Float(left / right);
  double remainder = std::fmod(left, right);
  if (remainder != 0 && (remainder < 0) != (right < 0)) remainder += right;
  if (op == Op::kModulo) return Value::Float(remainder);
  return Value::Float(std::floor((left - remainder) / right + 0.5));
}

Value AddStrings(Runtime& runtime, const Text& left, const Text& right) {
  const bool markup = left.markup() || right.markup();
  Text sum = markup && !left.markup() ? EscapeHtml(left) : left;
  sum.Append(markup && !right.markup() ? EscapeHtml(right) : right);
  sum.set_markup(markup);
  return runtime.MakeString(std::move(sum));
}

Value AddLists(Runtime& runtime, const List& left, const List& right) {
  if (!runtime.Spend(left.items.size() + right.items.size())) return {};
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return runtime.MakeList(std::move(items), left.kind);
}

// sequence * count
Value Repeat(Runtime& runtime, const Value& sequence, int64_t count) {
  const size_t size =
      sequence.is_string() ? sequence.AsText().size() : sequence.AsList().items.size() * 16;
  if (count < 0) count = 0;
  if (size > 0 && static_cast<uint64_t>(count) > RenderLimits::kBytes / size) {
    return runtime.Fail("repetition makes a value that is too large",
                        ErrorCode::kResourceExhausted);
  }
  if (size == 0) count = 0;
  const auto times = static_cast<size_t>(count);
  if (!runtime.Spend(1 + times * size / 64)) return {};
  if (sequence.is_string()) {
    Text out;
    Text unit = sequence.AsText();  // doubled from bit to bit of the count
    for (size_t left = times; left > 0; left >>= 1) {
      if (left & 1) out.Append(unit);
      if (left > 1) unit.Append(Text(unit));
    }
    return runtime.MakeString(std::move(out));
  }
  const List& list = sequence.AsList();
  std::vector<Value> items;
  for (int64_t i = 0; i < count; ++i) {
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return runtime.MakeList(std::move(items), list.kind);
}

bool IsSequence(const Value& value) {
  return value.is_string() || (value.is_list() && (value.AsList().kind == ListKind::kList ||
                                                   value.AsList().kind == ListKind::kTuple));
}

bool ListsEqual(Runtime& runtime, const List& left, const List& right) {
  if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
  for (size_t i = 0; i < left.items.size(); ++i) {
    if (!Equals(runtime, left.items[i], right.items[i])) return false;
  }
  return true;
}

bool DictsEqual(Runtime& runtime, const Dict& left, const Dict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const auto& [key, value] : left.entries) {
    const Value* other = FindKey(runtime, right, key);
    if (other == nullptr || !Equals(runtime, value, *other)) return false;
  }
  return true;
}

bool ListLess(Runtime& runtime, const List& left, const List& right) {
  const size_t common = std::min(left.items.size(), right.items.size());
  for (size_t i = 0; i < common; ++i) {
    if (Equals(runtime, left.items[i], right.items[i])) continue;
    return Less(runtime, left.items[i], right.items[i]);
  }
  return left.items.size() < right.items.size();
}

bool NumberLess(const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) return left.AsInt() < right.AsInt();
  return left.AsDouble() < right.AsDouble();
}

// left < right, or left <= right when `or_equal`.
bool Ordered(Runtime& runtime, Op op, const Value& left, const Value& right, bool or_equal) {
  if (left.is_undefined() || right.is_undefined()) {
    runtime.Fail(left.is_undefined() ? left.Reason() : right.Reason());
    return false;
  }
  if (left.is_number() && right.is_number()) {
    return NumberLess(left, right) || (or_equal && Equals(runtime, left, right));
  }
  if (left.is_string() && right.is_string()) {
    runtime.Spend(1 + std::min(left.AsText().size(), right.AsText().size()) / 64);
    const int order = left.AsBytes().compare(right.AsBytes());  // UTF-8 sorts as code points do
    return order < 0 || (or_equal && order == 0);
  }
  if (left.is_list() && right.is_list() && left.AsList().kind == right.AsList().kind &&
      runtime.Spend(1)) {
    return ListLess(runtime, left.AsList(), right.AsList()) ||
           (or_equal && Equals(runtime, left, right));
  }
  runtime.Fail(fmt::format("'{}' not supported between '{}' and '{}'", Symbol(op), TypeName(left),
                           TypeName(right)));
  return false;
}

}  // namespace

Value BinaryOperation(Runtime& runtime, Op op, const Value& left, const Value& right) {
  if (left.is_undefined()) return runtime.Fail(left.Reason());
  if (right.is_undefined() && !(op == Op::kModulo && left.is_string())) {
    return runtime.Fail(right.Reason());
  }
  if (left.is_number() && right.is_number()) {
    const bool whole = left.is_integral() && right.is_integral();
    return (whole ? IntegerOperation(runtime, op, left.AsInt(), right.AsInt())
                  : FloatOperation(runtime, op, left.AsDouble(), right.AsDouble()))
        .WithRequest(left.from_request() || right.from_request());
  }
  if (op == Op::kAdd && left.is_string() && right.is_string()) {
    return AddStrings(runtime, left.AsText(), right.AsText());
  }
  if (op == Op::kAdd && left.is_list() && right.is_list() && IsSequence(left) &&
      left.AsList().kind == right.AsList().kind) {
    return AddLists(runtime, left.AsList(), right.AsList());
  }
  if (op == Op::kMultiply && IsSequence(left) && right.is_integral()) {
    return Repeat(runtime, left, right.AsInt());
  }
  if (op == Op::kMultiply && left.is_integral() && IsSequence(right)) {
    return Repeat(runtime, right, left.AsInt());
  }
  if (op == Op::kModulo && left.is_string()) return FormatPercent(runtime, left.AsText(), right);
  return Unsupported(runtime, op, left, right);
}

Value Negate(Runtime& runtime, const Value& value) {
  if (value.is_integral()) {
    return IntegerOperation(runtime, Op::kSubtract, 0, value.AsInt())
        .WithRequest(value.from_request());
  }
  if (value.is_float()) return Value::Float(-value.AsDouble()).WithRequest(value.from_request());
  if (value.is_undefined()) return runtime.Fail(value.Reason());
  return runtime.Fail(fmt::format("bad operand type for unary -: '{}'", TypeName(value)));
}

bool Equals(Runtime& runtime, const Value& left, const Value& right) {
  if (!runtime.Spend(1)) return false;
  if (left.is_number() && right.is_number()) {
    if (left.is_integral() && right.is_integral()) return left.AsInt() == right.AsInt();
    return left.AsDouble() == right.AsDouble();
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString:
      runtime.Spend(std::min(left.AsText().size(), right.AsText().size()) / 64);
      return left.AsBytes() == right.AsBytes();
    case Value::Kind::kList:
      return left.SameObject(right) || ListsEqual(runtime, left.AsList(), right.AsList());
    case Value::Kind::kDict:
      return left.SameObject(right) || DictsEqual(runtime, left.AsDict(), right.AsDict());
    default:
      return left.SameObject(right);
  }
}

bool Less(Runtime& runtime, const Value& left, const Value& right) {
  return Ordered(runtime, Op::kLess, left, right, /*or_equal=*/false);
}

bool CompareOperation(Runtime& runtime, Op op, const Value& left, const Value& right) {
  switch (op) {
    case Op::kEqual:
      return Equals(runtime, left, right);
    case Op::kNotEqual:
      return !Equals(runtime, left, right);
    case Op::kIn:
      return Contains(runtime, right, left);
    case Op::kNotIn:
      return !Contains(runtime, right, left);
    case Op::kGreater:
      return Ordered(runtime, op, right, left, /*or_equal=*/false);
    case Op::kGreaterEqual:
      return Ordered(runtime, op, right, left, /*or_equal=*/true);
    default:
      return Ordered(runtime, op, left, right, op == Op::kLessEqual);
  }
}

bool Contains(Runtime& runtime, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Value::Kind::kUndefined:
      return false;
    case Value::Kind::kString:
      if (!item.is_string()) {
        runtime.Fail(
            fmt::format("'in <string>' requires string as left operand, not {}", TypeName(item)));
        return false;
      }
      runtime.SpendSearch(container.AsText().size(), item.AsText().size());
      return container.AsBytes().find(item.AsBytes()) != std::string::npos;
    case Value::Kind::kDict:
      return FindKey(runtime, container.AsDict(), item) != nullptr;
    case Value::Kind::kList:
      for (const Value& element : container.AsList().items) {
        if (Equals(runtime, element, item)) return true;
        if (runtime.failed()) return false;
      }
      return false;
    default:
      runtime.Fail(fmt::format("argument of type '{}' is not iterable", TypeName(container)));
      return false;
  }
}

const Value* FindKey(Runtime& runtime, const Dict& dict, const Value& key) {
  if (key.is_string()) {
    runtime.Spend(1 + dict.entries.size() / 8);
    return dict.Find(key.AsBytes());
  }
  for (const auto& [k, value] : dict.entries) {
    if (Equals(runtime, k, key)) return &value;
  }
  return nullptr;
}

void SetKey(Runtime& runtime, Dict* dict, const Value& key, Value value) {
  if (key.is_dict() || (key.is_list() && key.AsList().kind != ListKind::kTuple)) {
    runtime.Fail(fmt::format("unhashable type: '{}'", TypeName(key)));
    return;
  }
  for (auto& [k, old] : dict->entries) {
    if (!Equals(runtime, k, key)) continue;
    old = std::move(value);
    return;
  }
  dict->entries.emplace_back(key, std::move(value));
}

}  // namespace hunch::chat
