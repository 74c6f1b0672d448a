#include "chat/print.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "chat/code_points.h"

namespace hunch::chat {
namespace {

std::string StringRepr(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos;
  const char quote = single || text.find('"') != std::string_view::npos ? '\'' : '"';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = DecodeAt(text, i);
    if (point.code == static_cast<uint32_t>(quote) || point.code == '\\') {
      out += '\\';
      out += text[i];
    } else if (point.code == '\n') {
      out += "\\n";
    } else if (point.code == '\r') {
      out += "\\r";
    } else if (point.code == '\t') {
      out += "\\t";
    } else if (!IsUnprintable(point.code)) {
      out += text.substr(i, point.length);
    } else if (point.code < 0x100) {
      out += fmt::format("\\x{:02x}", point.code);
    } else if (point.code < 0x10000) {
      out += fmt::format("\\u{:04x}", point.code);
    } else {
      out += fmt::format("\\U{:08x}", point.code);
    }
    i += point.length;
  }
  out += quote;
  return out;
}

// Writes repr() of nested values into one string. The depth of values is bounded, so recursion is
// too; shared parts can make the text exponentially longer than the value, which the byte budget
// ends.
class ReprWriter {
 public:
  explicit ReprWriter(Runtime& runtime) : runtime_(runtime) {}

  void Write(const Value& value) {
    if (!runtime_.Spend(1)) return;
    switch (value.kind()) {
      case Value::Kind::kString:
        Put(StringRepr(value.AsBytes()));
        from_request_ |= value.AsText().HasRequest();
        return;
      case Value::Kind::kList:
        return WriteList(value.AsList());
      case Value::Kind::kDict:
        return WriteDict(value.AsDict());
      case Value::Kind::kNamespace:
        return Put("<Namespace>");
      case Value::Kind::kLoop:
        return Put(fmt::format("<LoopContext {}/{}>", value.AsLoop()->index0 + 1,
                               value.AsLoop()->items->items.size()));
      case Value::Kind::kCallable:
        return Put(fmt::format("<{} '{}'>",
                               value.AsCallable().macro != nullptr ? "Macro" : "function",
                               value.AsCallable().name));
      default:
        from_request_ |= value.from_request();
        return WriteScalar(value);
    }
  }

  Text Take() { return Text(std::move(out_), from_request_); }

 private:
  void Put(std::string_view text) {
    if (runtime_.SpendBytes(text.size())) out_ += text;
  }

  void WriteScalar(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kUndefined:
        return Put("Undefined");
      case Value::Kind::kNone:
        return Put("None");
      case Value::Kind::kBool:
        return Put(value.AsBool() ? "True" : "False");
      case Value::Kind::kInt:
        return Put(fmt::format("{}", value.AsInt()));
      default:
        return Put(FloatRepr(value.AsDouble()));
    }
  }

  void WriteList(const List& list) {
    if (list.kind == ListKind::kGenerator) return Put("<generator object>");
    const bool tuple = list.kind == ListKind::kTuple;
    Put(tuple ? "(" : list.kind == ListKind::kDictView ? "dict_items([" : "[");
    for (size_t i = 0; i < list.items.size() && !runtime_.failed(); ++i) {
      if (i > 0) Put(", ");
      Write(list.items[i]);
    }
    if (tuple && list.items.size() == 1) Put(",");
    Put(tuple ? ")" : list.kind == ListKind::kDictView ? "])" : "]");
  }

  void WriteDict(const Dict& dict) {
    Put("{");
    for (size_t i = 0; i < dict.entries.size() && !runtime_.failed(); ++i) {
      if (i > 0) Put(", ");
      Write(dict.entries[i].first);
      Put(": ");
      Write(dict.entries[i].second);
    }
    Put("}");
  }

  Runtime& runtime_;
  std::string out_;
  bool from_request_ = false;
};

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, end - buffer);
  const size_t e = text.find('e');
  std::string_view mantissa = text.substr(0, e);
  int exponent = 0;
  const size_t exponent_at = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(buffer + exponent_at, end, exponent);
  std::string out;
  if (mantissa[0] == '-') {
    out = "-";
    mantissa.remove_prefix(1);
  }
  // Python writes an exponent below 1e-4 and from 1e16 on.
  if (exponent < -4 || exponent >= 16) {
    return out + fmt::format("{}e{}{:02d}", mantissa, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  std::string digits(mantissa.substr(0, 1));
  if (mantissa.size() > 2) digits += mantissa.substr(2);
  if (exponent < 0) return out + "0." + std::string(-exponent - 1, '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

Text ToText(Runtime& runtime, const Value& value) {
  if (value.is_string()) return value.AsText();
  if (value.is_undefined()) return {};
  return ToRepr(runtime, value);
}

Text ToRepr(Runtime& runtime, const Value& value) {
  ReprWriter writer(runtime);
  writer.Write(value);
  return writer.Take();
}

}  // namespace hunch::chat
