// json.dumps, as far as the filter tojson can reach it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chat/code_points.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

void AppendJsonEscape(uint32_t code, std::string* out) {
  switch (code) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\r':
      *out += "\\r";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '\f':
      *out += "\\f";
      return;
    case '\b':
      *out += "\\b";
      return;
    default:
      if (code >= 0x10000) {
        const uint32_t rest = code - 0x10000;
        *out += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
      } else {
        *out += fmt::format("\\u{:04x}", code);
      }
  }
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  void Write(const Value& value) {
    if (!runtime_.Spend(1)) return;
    switch (value.kind()) {
      case Value::Kind::kNone:
      case Value::Kind::kBool:
      case Value::Kind::kInt:
      case Value::Kind::kFloat:
        from_request_ |= value.from_request();
        return Put(Scalar(value));
      case Value::Kind::kString:
        from_request_ |= value.AsText().HasRequest();
        return WriteString(value.AsBytes());
      case Value::Kind::kDict:
        return WriteDict(value.AsDict());
      case Value::Kind::kList:
        if (value.AsList().kind == ListKind::kList || value.AsList().kind == ListKind::kTuple) {
          return WriteList(value.AsList());
        }
        [[fallthrough]];
      default:
        runtime_.Fail(
            fmt::format("Object of type {} is not JSON serializable (tojson)", TypeName(value)));
    }
  }

  Text Take() { return Text(std::move(out_), from_request_); }

 private:
  void Put(std::string_view text) {
    if (runtime_.SpendBytes(text.size())) out_ += text;
  }

  static std::string Scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (value.is_bool()) return value.AsBool() ? "true" : "false";
    if (value.is_int()) return fmt::format("{}", value.AsInt());
    const double number = value.AsDouble();
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
    return FloatRepr(number);
  }

  void WriteString(std::string_view text) {
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
      const CodePoint point = DecodeAt(text, i);
      const bool escape = point.code < 0x20 || point.code == '"' || point.code == '\\' ||
                          (style_.ensure_ascii && point.code > 0x7e);
      if (escape) {
        AppendJsonEscape(point.code, &out);
      } else {
        out += text.substr(i, point.length);
      }
      i += point.length;
    }
    out += '"';
    Put(out);
  }

  void NewLine() {
    if (!style_.indent) return;
    Put("\n");
    for (int i = 0; i < level_; ++i) Put(*style_.indent);
  }

  void WriteList(const List& list) {
    if (list.items.empty()) return Put("[]");
    Put("[");
    ++level_;
    for (size_t i = 0; i < list.items.size() && !runtime_.failed(); ++i) {
      if (i > 0) Put(style_.item_separator);
      NewLine();
      Write(list.items[i]);
    }
    --level_;
    NewLine();
    Put("]");
  }

  void WriteKey(const Value& key) {
    from_request_ |= key.is_string() ? key.AsText().HasRequest() : key.from_request();
    if (key.is_string()) return WriteString(key.AsBytes());
    if (key.is_number() || key.is_none()) return WriteString(Scalar(key));
    runtime_.Fail(
        fmt::format("keys must be str, int, float, bool or None, not {} (tojson)", TypeName(key)));
  }

  void WriteDict(const Dict& dict) {
    if (dict.entries.empty()) return Put("{}");
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) SortKeys(&entries);
    Put("{");
    ++level_;
    for (size_t i = 0; i < entries.size() && !runtime_.failed(); ++i) {
      if (i > 0) Put(style_.item_separator);
      NewLine();
      WriteKey(entries[i]->first);
      Put(style_.key_separator);
      Write(entries[i]->second);
    }
    --level_;
    NewLine();
    Put("}");
  }

  void SortKeys(std::vector<const std::pair<Value, Value>*>* entries) {
    for (const auto* entry : *entries) {
      if (!entry->first.is_string()) {
        runtime_.Fail("tojson with sort_keys needs keys that are all strings");
        return;
      }
    }
    // UTF-8 sorts as its code points do.
    std::stable_sort(entries->begin(), entries->end(), [](const auto* a, const auto* b) {
      return a->first.AsBytes() < b->first.AsBytes();
    });
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  std::string out_;
  int level_ = 0;
  bool from_request_ = false;
};

}  // namespace

Text ToJson(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  writer.Write(value);
  return writer.Take();
}

}  // namespace hunch::chat
