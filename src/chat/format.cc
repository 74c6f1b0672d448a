// Strings with places to fill: str.format and the % operator.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "chat/format_spec.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

// Fills the fields of str.format. Fields inside format specs ("{:{}}") are not supported.
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Text& text, const Arguments& arguments)
      : runtime_(runtime), text_(text), arguments_(arguments) {}

  Text Run() {
    const std::string& bytes = text_.bytes();
    for (size_t i = 0; i < bytes.size() && runtime_.Spend(1);) {
      const size_t brace = std::min(bytes.find_first_of("{}", i), bytes.size());
      out_.Append(text_, i, brace);
      i = brace;
      if (i == bytes.size()) break;
      if (i + 1 < bytes.size() && bytes[i + 1] == bytes[i]) {
        out_.Append(text_, i, i + 1);
        i += 2;
        continue;
      }
      const size_t end = bytes[i] == '{' ? bytes.find('}', i) : std::string::npos;
      if (end == std::string::npos) {
        runtime_.Fail("a format string has a single brace");
        break;
      }
      Fill(std::string_view(bytes).substr(i + 1, end - i - 1));
      i = end + 1;
    }
    return std::move(out_);
  }

 private:
  void Fill(std::string_view field) {
    const size_t colon = std::min(field.find(':'), field.size());
    const auto spec = ParseFormatSpec(field.substr(std::min(colon + 1, field.size())));
    std::string_view name = field.substr(0, colon);
    char conversion = '\0';
    if (name.size() >= 2 && name[name.size() - 2] == '!') {
      conversion = name.back();
      name.remove_suffix(2);
    }
    if (!spec || (conversion != '\0' && conversion != 's' && conversion != 'r')) {
      runtime_.Fail(fmt::format("the format field '{{{}}}' is not supported", field.substr(0, 40)),
                    ErrorCode::kUnsupported);
      return;
    }
    Value value = LookUp(name);
    if (runtime_.failed()) return;
    if (conversion == 'r') value = runtime_.MakeString(ToRepr(runtime_, value));
    if (conversion == 's') value = runtime_.MakeString(ToText(runtime_, value));
    // Without a spec even numbers and bools are shown as str() does.
    const Text filled =
        colon + 1 >= field.size() ? ToText(runtime_, value) : FormatValue(runtime_, value, *spec);
    if (runtime_.SpendBytes(filled.size())) out_.Append(filled);
  }

  // "", "0", "name", and then any ".attribute" or "[key]".
  Value LookUp(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = Argument(name.substr(0, end));
    size_t i = end;
    while (i < name.size() && !runtime_.failed()) {
      const bool bracket = name[i] == '[';
      const size_t stop =
          bracket ? name.find(']', i) : std::min(name.find_first_of(".[", i + 1), name.size());
      if (stop == std::string_view::npos) return runtime_.Fail("expected ']' in a format string");
      const std::string_view key = name.substr(i + 1, stop - i - 1);
      int index = 0;
      size_t read = 0;
      if (bracket && !key.empty() && ReadFormatNumber(key, &read, &index) && read == key.size()) {
        value = GetItem(runtime_, value, Value::Int(index));
      } else if (bracket) {
        value = GetItem(runtime_, value, Value::TemplateString(key));
      } else {
        value = GetAttribute(runtime_, value, key);
      }
      i = stop + (bracket ? 1 : 0);
    }
    return value;
  }

  Value Argument(std::string_view name) {
    int index = 0;
    size_t read = 0;
    if (name.empty()) {
      index = next_++;
    } else if (!ReadFormatNumber(name, &read, &index) || read != name.size()) {
      for (const auto& [keyword, value] : arguments_.keyword) {
        if (keyword == name) return value;
      }
      return runtime_.Fail(fmt::format("format() was not given '{}'", name.substr(0, 40)));
    }
    if (static_cast<size_t>(index) >= arguments_.positional.size()) {
      return runtime_.Fail(fmt::format("replacement index {} is out of range for format()", index));
    }
    return arguments_.positional[static_cast<size_t>(index)];
  }

  Runtime& runtime_;
  const Text& text_;
  const Arguments& arguments_;
  Text out_;
  int next_ = 0;
};

// Fills the conversions of `text % arguments`.
class PercentFormatter {
 public:
  PercentFormatter(Runtime& runtime, const Text& text, const Value& arguments)
      : runtime_(runtime), text_(text), arguments_(arguments) {
    const bool tuple = arguments.is_list() && arguments.AsList().kind == ListKind::kTuple;
    if (tuple) {
      values_ = arguments.AsList().items;
    } else {
      values_ = {arguments};
    }
  }

  Text Run() {
    const std::string& bytes = text_.bytes();
    for (size_t i = 0; i < bytes.size() && runtime_.Spend(1);) {
      const size_t percent = std::min(bytes.find('%', i), bytes.size());
      out_.Append(text_, i, percent);
      if (percent == bytes.size()) break;
      i = Fill(percent + 1);
    }
    if (next_ < values_.size() && !arguments_.is_dict()) {
      runtime_.Fail("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  char At(size_t i) const { return i < text_.size() ? text_.bytes()[i] : '\0'; }

  // Fills the conversion whose '%' is before `i`; returns where the text goes on.
  size_t Fill(size_t i) {
    if (At(i) == '%') {
      out_.Append(text_, i, i + 1);
      return i + 1;
    }
    std::optional<Value> named;
    if (At(i) == '(') {
      const size_t close = text_.bytes().find(')', i);
      if (close == std::string::npos || !arguments_.is_dict()) {
        runtime_.Fail("a format with a (name) needs a dict");
        return text_.size();
      }
      named = Named(std::string_view(text_.bytes()).substr(i + 1, close - i - 1));
      i = close + 1;
    }
    FormatSpec spec;
    i = ReadFlags(i, &spec);
    const bool sized = ReadFormatNumber(text_.bytes(), &i, &spec.width);
    bool precise = true;
    if (At(i) == '.') precise = ReadFormatNumber(text_.bytes(), &++i, &spec.precision);
    if (!sized || !precise) {
      runtime_.Fail(fmt::format("a format is limited to a width of {}", kMaxFormatWidth));
      return text_.size();
    }
    const Value value = named ? *named : NextValue();
    if (!runtime_.failed()) Convert(At(i), value, spec);
    return i + 1;
  }

  size_t ReadFlags(size_t i, FormatSpec* spec) {
    for (;; ++i) {
      switch (At(i)) {
        case '-':
          spec->align = '<';
          spec->fill = " ";
          continue;
        case '+':
          spec->sign = '+';
          continue;
        case ' ':
          spec->sign = ' ';
          continue;
        case '#':
          spec->alternate = true;
          continue;
        case '0':
          if (spec->align == '\0') {
            spec->align = '=';
            spec->fill = "0";
          }
          continue;
        default:
          return i;
      }
    }
  }

  Value Named(std::string_view name) {
    runtime_.Spend(1 + arguments_.AsDict().entries.size() / 8);
    const Value* found = arguments_.AsDict().Find(name);
    return found != nullptr
               ? *found
               : runtime_.Fail(fmt::format("format was not given '{}'", name.substr(0, 40)));
  }

  Value NextValue() {
    if (next_ < values_.size()) return values_[next_++];
    return runtime_.Fail("not enough arguments for format string");
  }

  void Convert(char type, const Value& value, FormatSpec spec) {
    Value shown = value;
    if (type == 's' || type == 'r') {
      shown = runtime_.MakeString(type == 's' ? ToText(runtime_, value) : ToRepr(runtime_, value));
      spec.type = 's';
      // % pads to the left where str.format pads to the right.
      if (spec.align == '\0' || spec.align == '=') spec.align = '>';
      spec.fill = " ";
    } else if (std::string_view("diuxXoeEfFgG").find(type) != std::string_view::npos &&
               value.is_number()) {
      const bool integer = std::string_view("diuxXo").find(type) != std::string_view::npos;
      spec.type = type == 'i' || type == 'u' ? 'd' : type;
      if (integer && value.is_float()) {
        if (!(std::abs(value.AsDouble()) < 0x1p63)) {
          runtime_.Fail("a number does not fit 64 bits");
          return;
        }
        shown =
            Value::Int(static_cast<int64_t>(value.AsDouble())).WithRequest(value.from_request());
      }
    } else {
      runtime_.Fail(fmt::format("the format '%{}' does not fit a '{}'",
                                type == '\0' ? std::string() : std::string(1, type),
                                TypeName(value)));
      return;
    }
    if (runtime_.failed()) return;
    const Text filled = FormatValue(runtime_, shown, spec);
    if (runtime_.SpendBytes(filled.size())) out_.Append(filled);
  }

  Runtime& runtime_;
  const Text& text_;
  const Value& arguments_;
  std::vector<Value> values_;
  size_t next_ = 0;
  Text out_;
};

}  // namespace

Value FormatBraces(Runtime& runtime, const Value& receiver, const Arguments& arguments) {
  return runtime.MakeString(BraceFormatter(runtime, receiver.AsText(), arguments).Run());
}

Value FormatPercent(Runtime& runtime, const Text& text, const Value& arguments) {
  return runtime.MakeString(PercentFormatter(runtime, text, arguments).Run());
}

}  // namespace hunch::chat
