// Filters that make text.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/utf8.h"
#include "chat/code_points.h"
#include "chat/filters.h"
#include "chat/methods.h"
#include "chat/operators.h"
#include "chat/print.h"

namespace hunch::chat {
namespace {

Value Trim(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return StripText(runtime, ToText(runtime, value), arguments.Get(0, "chars"), true, true);
}

template <Case to>
Value ChangeTo(Runtime& runtime, const Value& value, const Arguments&) {
  return ChangeCase(runtime, ToText(runtime, value), to);
}

// Not str.title: words begin after white space and after - ( { [ <, so "it's" stays one word.
Value Title(Runtime& runtime, const Value& value, const Arguments&) {
  const Text text = ToText(runtime, value);
  if (!runtime.Spend(1 + text.size() / 4)) return {};
  Text out;
  bool begins = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = DecodeAt(text.bytes(), i);
    const size_t end = i + point.length;
    const bool separates =
        IsSpace(point.code) ||
        (point.code < 0x80 &&
         std::string_view("-({[<").find(static_cast<char>(point.code)) != std::string_view::npos);
    if (point.length == 1 && point.code >= 0x80) {
      out.Append(text, i, end);
    } else {
      std::string changed;
      AppendUtf8(begins ? ToUpper(point.code) : ToLower(point.code), &changed);
      out.Append(changed, text.FromRequestAt(i));
    }
    begins = separates;
    i = end;
  }
  return runtime.MakeString(std::move(out));
}

Value Replace(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* from = arguments.Get(0, "old");
  const Value* to = arguments.Get(1, "new");
  const Value* count = arguments.Get(2, "count");
  if (from == nullptr || to == nullptr) return runtime.Fail("replace needs two arguments");
  if (count != nullptr && !count->is_integral() && !count->is_none()) {
    return runtime.Fail("the count of replace must be an integer");
  }
  return ReplaceText(runtime, ToText(runtime, value), ToText(runtime, *from), ToText(runtime, *to),
                     count != nullptr && count->is_integral() ? count->AsInt() : -1);
}

bool JsonSeparators(Runtime& runtime, const Value& value, JsonStyle* style) {
  const bool pair = value.is_list() && value.AsList().items.size() == 2 &&
                    value.AsList().items[0].is_string() && value.AsList().items[1].is_string();
  if (!pair) {
    runtime.Fail("the separators of tojson must be two strings");
    return false;
  }
  style->item_separator = value.AsList().items[0].AsBytes();
  style->key_separator = value.AsList().items[1].AsBytes();
  return true;
}

Value ToJsonFilter(Runtime& runtime, const Value& value, const Arguments& arguments) {
  JsonStyle style;
  const Value* ascii = arguments.Get(0, "ensure_ascii");
  const Value* indent = arguments.Get(1, "indent");
  const Value* separators = arguments.Get(2, "separators");
  const Value* sort_keys = arguments.Get(3, "sort_keys");
  style.ensure_ascii = ascii != nullptr && Truthy(*ascii);
  style.sort_keys = sort_keys != nullptr && Truthy(*sort_keys);
  if (indent != nullptr && !indent->is_none()) {
    if (indent->is_string()) {
      style.indent = indent->AsBytes();
    } else if (indent->is_integral() && indent->AsInt() <= 1000) {
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(indent->AsInt(), 0)), ' ');
    } else {
      return runtime.Fail("the indent of tojson must be a string or an integer up to 1000");
    }
    style.item_separator.assign(1, ',');
  }
  if (separators != nullptr && !separators->is_none() &&
      !JsonSeparators(runtime, *separators, &style)) {
    return {};
  }
  return runtime.MakeString(ToJson(runtime, value, style));
}

Value Safe(Runtime& runtime, const Value& value, const Arguments&) {
  Text text = ToText(runtime, value);
  text.set_markup(true);
  return runtime.MakeString(std::move(text));
}

Value Escape(Runtime& runtime, const Value& value, const Arguments&) {
  if (value.is_string() && value.AsText().markup()) return value;
  return runtime.MakeString(EscapeHtml(ToText(runtime, value)));
}

Value ForceEscape(Runtime& runtime, const Value& value, const Arguments&) {
  return runtime.MakeString(EscapeHtml(ToText(runtime, value)));
}

Value String(Runtime& runtime, const Value& value, const Arguments&) {
  return value.is_string() ? value : runtime.MakeString(ToText(runtime, value));
}

// The white space in front of each line.
bool Indention(Runtime& runtime, const Value* width, Text* out) {
  if (width == nullptr) {
    out->Append("    ", false);
  } else if (width->is_string()) {
    *out = width->AsText();
  } else if (width->is_integral() && width->AsInt() <= 1000) {
    out->Append(std::string(static_cast<size_t>(std::max<int64_t>(width->AsInt(), 0)), ' '), false);
  } else {
    runtime.Fail("the width of indent must be a string or an integer up to 1000");
    return false;
  }
  return true;
}

Value Indent(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (!value.is_string()) {
    return runtime.Fail(fmt::format("indent needs a string, not {}", TypeName(value)));
  }
  Text indention;
  if (!Indention(runtime, arguments.Get(0, "width"), &indention)) return {};
  const Value* first = arguments.Get(1, "first");
  const Value* blank = arguments.Get(2, "blank");
  Text with_newline = value.AsText();
  with_newline.Append("\n", with_newline.HasRequest());
  const Value lines =
      FindStringMethod("splitlines")(runtime, runtime.MakeString(std::move(with_newline)), {});
  if (runtime.failed()) return {};
  Text out;
  out.set_markup(value.AsText().markup());
  const auto& items = lines.AsList().items;
  for (size_t i = 0; i < items.size(); ++i) {
    const Text& line = items[i].AsText();
    if (!runtime.SpendBytes(line.size() + indention.size() + 1)) return {};
    if (i > 0) out.Append("\n", value.AsText().HasRequest());
    const bool indented = i == 0 ? first != nullptr && Truthy(*first)
                                 : !line.empty() || (blank != nullptr && Truthy(*blank));
    if (indented) out.Append(indention);
    out.Append(line);
  }
  return runtime.MakeString(std::move(out));
}

Value Join(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* separator = arguments.Get(0, "d");
  const Value* attribute = arguments.Get(1, "attribute");
  std::vector<Text> parts;
  for (const Value& item : Iterate(runtime, value)) {
    if (!runtime.Spend(1)) return {};
    const bool look_up = attribute != nullptr && !attribute->is_none();
    parts.push_back(ToText(runtime, look_up ? GetPath(runtime, item, *attribute) : item));
  }
  return JoinTexts(runtime, separator == nullptr ? Text() : ToText(runtime, *separator), parts);
}

Value Format(Runtime& runtime, const Value& value, const Arguments& arguments) {
  if (arguments.keyword.empty()) {
    return FormatPercent(runtime, ToText(runtime, value),
                         runtime.MakeList(arguments.positional, ListKind::kTuple));
  }
  if (!arguments.positional.empty()) {
    return runtime.Fail("format takes positional or keyword arguments, not both");
  }
  std::vector<std::pair<Value, Value>> named;
  for (const auto& [name, argument] : arguments.keyword) {
    named.emplace_back(Value::TemplateString(name), argument);
  }
  return FormatPercent(runtime, ToText(runtime, value), runtime.MakeDict(std::move(named)));
}

Value Center(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const Value* width = arguments.Get(0, "width");
  const Text text = ToText(runtime, value);
  const int64_t wanted = width != nullptr && width->is_integral() ? width->AsInt() : 80;
  const auto size = static_cast<int64_t>(CountCodePoints(text.bytes()));
  if (wanted > 10'000) return runtime.Fail("center is limited to a width of 10000");
  const int64_t fill = std::max<int64_t>(wanted - size, 0);
  const int64_t left = fill / 2 + (fill & wanted & 1);
  Text out(std::string(static_cast<size_t>(left), ' '), false);
  out.Append(text);
  out.Append(std::string(static_cast<size_t>(fill - left), ' '), false);
  return runtime.MakeString(std::move(out));
}

}  // namespace

BuiltinFunction FindTextFilter(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinFunction> kFilters = {
      {"trim", Trim},
      {"upper", ChangeTo<Case::kUpper>},
      {"lower", ChangeTo<Case::kLower>},
      {"capitalize", ChangeTo<Case::kCapitalize>},
      {"title", Title},
      {"replace", Replace},
      {"tojson", ToJsonFilter},
      {"safe", Safe},
      {"escape", Escape},
      {"e", Escape},
      {"forceescape", ForceEscape},
      {"string", String},
      {"indent", Indent},
      {"join", Join},
      {"format", Format},
      {"center", Center},
  };
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace hunch::chat
