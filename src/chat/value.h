// Value: what a chat template computes with. Lists and dicts are immutable (Hugging Face's sandbox
// forbids templates to change them), so values share structure and can form no cycle; only a
// Namespace can be changed. Confined to the thread that renders, except literals of a parsed
// template, which are only read.
#ifndef HUNCH_CHAT_VALUE_H_
#define HUNCH_CHAT_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat/text.h"

namespace hunch::chat {

class Value;
class Runtime;
struct Arguments;
struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Callable;

class Value {
 public:
  // The order is that of the variant's alternatives.
  enum class Kind {
    kUndefined,
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kDict,
    kNamespace,
    kLoop,
    kCallable
  };

  Value() = default;  // undefined without a reason
  static Value Undefined(std::string reason);
  static Value None() { return Value(Rep(std::in_place_index<1>)); }
  static Value Bool(bool value) { return Value(Rep(std::in_place_index<2>, value)); }
  static Value Int(int64_t value) { return Value(Rep(std::in_place_index<3>, value)); }
  static Value Float(double value) { return Value(Rep(std::in_place_index<4>, value)); }
  static Value String(Text text);
  static Value TemplateString(std::string_view text);
  explicit Value(std::shared_ptr<const List> list) : rep_(std::move(list)) {}
  explicit Value(std::shared_ptr<const Dict> dict) : rep_(std::move(dict)) {}
  explicit Value(Namespace* space) : rep_(space) {}
  explicit Value(Loop* loop) : rep_(loop) {}
  explicit Value(std::shared_ptr<const Callable> callable) : rep_(std::move(callable)) {}

  Kind kind() const { return static_cast<Kind>(rep_.index()); }
  bool is_undefined() const { return kind() == Kind::kUndefined; }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_float() const { return kind() == Kind::kFloat; }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_dict() const { return kind() == Kind::kDict; }
  // Bool counts as a number, as in Python.
  bool is_integral() const { return is_int() || is_bool(); }
  bool is_number() const { return is_integral() || is_float(); }

  bool AsBool() const { return std::get<2>(rep_); }
  // Of an int or a bool.
  int64_t AsInt() const { return is_bool() ? (AsBool() ? 1 : 0) : std::get<3>(rep_); }
  // Of any number.
  double AsDouble() const { return is_float() ? std::get<4>(rep_) : static_cast<double>(AsInt()); }
  const Text& AsText() const { return *std::get<5>(rep_); }
  const std::string& AsBytes() const { return AsText().bytes(); }
  const List& AsList() const { return *std::get<6>(rep_); }
  const Dict& AsDict() const { return *std::get<7>(rep_); }
  Namespace* AsNamespace() const { return std::get<8>(rep_); }
  Loop* AsLoop() const { return std::get<9>(rep_); }
  const Callable& AsCallable() const { return *std::get<10>(rep_); }
  std::shared_ptr<const List> SharedList() const { return std::get<6>(rep_); }

  // For Undefined: what is undefined, in words.
  std::string Reason() const;

  // For numbers: whether the request had a part in it (strings carry that in their Text).
  bool from_request() const { return from_request_; }
  Value WithRequest(bool from_request) && {
    from_request_ = from_request;
    return std::move(*this);
  }

  // How many containers are inside each other: 0 for what is no container.
  int depth() const;
  // The same object (not: an equal one), for containers.
  bool SameObject(const Value& other) const { return rep_ == other.rep_; }

 private:
  struct Nothing {
    bool operator==(const Nothing&) const = default;
  };
  using Rep =
      std::variant<std::shared_ptr<const std::string>, Nothing, bool, int64_t, double,
                   std::shared_ptr<const Text>, std::shared_ptr<const List>,
                   std::shared_ptr<const Dict>, Namespace*, Loop*, std::shared_ptr<const Callable>>;
  explicit Value(Rep rep) : rep_(std::move(rep)) {}

  Rep rep_;
  bool from_request_ = false;
};

// Python's sequences, as far as a template can tell them apart.
enum class ListKind { kList, kTuple, kDictView, kGenerator };

struct List {
  std::vector<Value> items;
  ListKind kind = ListKind::kList;
  int depth = 1;
};

// In order of insertion. Looked up linearly: a message has about four keys; the caller spends steps
// for more.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  int depth = 1;
  const Value* Find(std::string_view key) const;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> attributes;
  const Value* Find(std::string_view name) const;
};

// The `loop` of a for statement.
struct Loop {
  std::shared_ptr<const List> items;
  size_t index0 = 0;
  int depth0 = 0;      // for statements around this one
  Value last_checked;  // loop.changed's memory
  bool checked = false;
};

struct MacroStatement;
struct Scope;

using BuiltinFunction = Value (*)(Runtime& runtime, const Value& receiver,
                                  const Arguments& arguments);

// A macro, or a function of ours bound to the value that it was taken from.
struct Callable {
  std::string name;
  BuiltinFunction builtin = nullptr;  // null for a macro
  Value receiver;
  const MacroStatement* macro = nullptr;
  std::shared_ptr<Scope> scope;  // where the macro was defined
};

// What a call was given.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;

  // The argument at `index` or called `name`; null when not given.
  const Value* Get(size_t index, std::string_view name) const;
};

// Python's type name ("str", "NoneType", ...).
std::string_view TypeName(const Value& value);
// The form of jinja2's messages: "dict object", "None".
std::string ObjectTypeName(const Value& value);

bool Truthy(const Value& value);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_VALUE_H_
