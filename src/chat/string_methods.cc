// Python's string methods. Every part of a result keeps the origin that it had in the arguments.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "chat/code_points.h"
#include "chat/methods.h"

namespace hunch::chat {
namespace {

const Text& Self(const Value& receiver) { return receiver.AsText(); }

// The string argument at `index`; fails unless it is one.
const Text* TextArgument(Runtime& runtime, const Arguments& arguments, size_t index,
                         std::string_view name, std::string_view method) {
  const Value* value = arguments.Get(index, name);
  if (value != nullptr && value->is_string()) return &value->AsText();
  runtime.Fail(fmt::format("{}() needs a string as argument {}", method, index + 1));
  return nullptr;
}

// An optional whole number.
int64_t IntArgument(Runtime& runtime, const Arguments& arguments, size_t index,
                    std::string_view name, int64_t otherwise) {
  const Value* value = arguments.Get(index, name);
  if (value == nullptr) return otherwise;
  if (value->is_integral()) return value->AsInt();
  runtime.Fail(fmt::format("'{}' object cannot be interpreted as an integer", TypeName(*value)));
  return otherwise;
}

Value Strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return StripText(runtime, Self(self), arguments.Get(0, "chars"), true, true);
}
Value LeftStrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return StripText(runtime, Self(self), arguments.Get(0, "chars"), true, false);
}
Value RightStrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return StripText(runtime, Self(self), arguments.Get(0, "chars"), false, true);
}

// Splits at runs of white space, at most `limit` times (negative: no limit).
std::vector<Text> SplitAtSpace(Runtime& runtime, const Text& text, int64_t limit) {
  const std::string& bytes = text.bytes();
  std::vector<Text> parts;
  size_t i = 0;
  const auto skip_space = [&] {
    while (i < bytes.size() && IsSpace(DecodeAt(bytes, i).code)) i += DecodeAt(bytes, i).length;
  };
  for (skip_space(); i < bytes.size() && runtime.Spend(1); skip_space()) {
    const size_t begin = i;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text.Slice(begin, bytes.size()));  // white space at the end included
      break;
    }
    while (i < bytes.size() && !IsSpace(DecodeAt(bytes, i).code)) i += DecodeAt(bytes, i).length;
    parts.push_back(text.Slice(begin, i));
  }
  return parts;
}

std::vector<Text> ReverseSplitAtSpace(Runtime& runtime, const Text& text, int64_t limit) {
  const std::string& bytes = text.bytes();
  std::vector<Text> parts;
  size_t end = bytes.size();
  const auto skip_space = [&] {
    while (end > 0 && IsSpace(DecodeBefore(bytes, end).code))
      end -= DecodeBefore(bytes, end).length;
  };
  for (skip_space(); end > 0 && runtime.Spend(1); skip_space()) {
    size_t begin = end;
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) {
      parts.push_back(text.Slice(0, end));
      break;
    }
    while (begin > 0 && !IsSpace(DecodeBefore(bytes, begin).code)) {
      begin -= DecodeBefore(bytes, begin).length;
    }
    parts.push_back(text.Slice(begin, end));
    end = begin;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Text> SplitAt(Runtime& runtime, const Text& text, const std::string& separator,
                          int64_t limit) {
  std::vector<Text> parts;
  size_t begin = 0;
  while (runtime.Spend(1) && (limit < 0 || static_cast<int64_t>(parts.size()) < limit)) {
    const size_t found = text.bytes().find(separator, begin);
    if (found == std::string::npos) break;
    parts.push_back(text.Slice(begin, found));
    begin = found + separator.size();
  }
  parts.push_back(text.Slice(begin, text.size()));
  return parts;
}

std::vector<Text> ReverseSplitAt(Runtime& runtime, const Text& text, const std::string& separator,
                                 int64_t limit) {
  std::vector<Text> parts;
  size_t end = text.size();
  while (runtime.Spend(1) && (limit < 0 || static_cast<int64_t>(parts.size()) < limit)) {
    if (end < separator.size()) break;
    const size_t found = text.bytes().rfind(separator, end - separator.size());
    if (found == std::string::npos) break;
    parts.push_back(text.Slice(found + separator.size(), end));
    end = found;
  }
  parts.push_back(text.Slice(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Value MakeParts(Runtime& runtime, std::vector<Text> parts, ListKind kind = ListKind::kList) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(runtime.MakeString(std::move(part)));
  return runtime.MakeList(std::move(items), kind);
}

Value AnySplit(Runtime& runtime, const Value& self, const Arguments& arguments, bool reverse) {
  const Text& text = Self(self);
  const int64_t limit = IntArgument(runtime, arguments, 1, "maxsplit", -1);
  if (!runtime.Spend(1 + text.size() / 16)) return {};
  const Value* separator = arguments.Get(0, "sep");
  if (separator == nullptr || separator->is_none()) {
    return MakeParts(runtime, reverse ? ReverseSplitAtSpace(runtime, text, limit)
                                      : SplitAtSpace(runtime, text, limit));
  }
  if (!separator->is_string()) return runtime.Fail("split() needs a string to split at");
  if (separator->AsText().empty()) return runtime.Fail("empty separator");
  if (!runtime.SpendSearch(text.size(), separator->AsText().size())) return {};
  return MakeParts(runtime, reverse ? ReverseSplitAt(runtime, text, separator->AsBytes(), limit)
                                    : SplitAt(runtime, text, separator->AsBytes(), limit));
}

Value Split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnySplit(runtime, self, arguments, /*reverse=*/false);
}
Value ReverseSplit(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnySplit(runtime, self, arguments, /*reverse=*/true);
}

bool EndsLine(uint32_t code) {
  return (code >= 0x0a && code <= 0x0d) || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

Value SplitLines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text& text = Self(self);
  const Value* keep = arguments.Get(0, "keepends");
  const bool keep_ends = keep != nullptr && Truthy(*keep);
  std::vector<Text> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size() && runtime.Spend(1);) {
    const CodePoint point = DecodeAt(text.bytes(), i);
    size_t after = i + point.length;
    if (!EndsLine(point.code)) {
      i = after;
      continue;
    }
    if (point.code == '\r' && after < text.size() && text.bytes()[after] == '\n') ++after;
    lines.push_back(text.Slice(begin, keep_ends ? after : i));
    begin = i = after;
  }
  if (begin < text.size()) lines.push_back(text.Slice(begin, text.size()));
  return MakeParts(runtime, std::move(lines));
}

Value AnyPartition(Runtime& runtime, const Value& self, const Arguments& arguments, bool last) {
  const Text& text = Self(self);
  const Text* separator = TextArgument(runtime, arguments, 0, "sep", "partition");
  if (separator == nullptr) return {};
  if (separator->empty()) return runtime.Fail("empty separator");
  if (!runtime.SpendSearch(text.size(), separator->size())) return {};
  const size_t found =
      last ? text.bytes().rfind(separator->bytes()) : text.bytes().find(separator->bytes());
  std::vector<Text> parts(3);
  if (found == std::string::npos) {
    parts[last ? 2 : 0] = text;
  } else {
    const size_t after = found + separator->size();
    parts = {text.Slice(0, found), text.Slice(found, after), text.Slice(after, text.size())};
  }
  return MakeParts(runtime, std::move(parts), ListKind::kTuple);
}
Value Partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnyPartition(runtime, self, arguments, /*last=*/false);
}
Value ReversePartition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnyPartition(runtime, self, arguments, /*last=*/true);
}

// The bytes that the optional arguments start and end (at positions 1 and 2) leave of the text.
std::string_view Window(Runtime& runtime, const Text& text, const Arguments& arguments,
                        size_t* offset) {
  *offset = 0;
  std::string_view bytes = text.bytes();
  const Value* start = arguments.Get(1, "start");
  const Value* end = arguments.Get(2, "end");
  if (start == nullptr && end == nullptr) return bytes;
  const auto size = static_cast<int64_t>(CountCodePoints(bytes));
  const auto clamp = [size](int64_t at) {
    return static_cast<size_t>(std::clamp<int64_t>(at < 0 ? at + size : at, 0, size));
  };
  const size_t first = clamp(IntArgument(runtime, arguments, 1, "start", 0));
  const size_t last = clamp(IntArgument(runtime, arguments, 2, "end", size));
  *offset = OffsetOfCodePoint(bytes, first);
  const size_t stop = OffsetOfCodePoint(bytes, std::max(first, last));
  return bytes.substr(*offset, stop - *offset);
}

Value AnyAffix(Runtime& runtime, const Value& self, const Arguments& arguments, bool prefix) {
  size_t offset = 0;
  const std::string_view text = Window(runtime, Self(self), arguments, &offset);
  const auto matches = [&](const Value& affix) {
    if (!affix.is_string()) {
      runtime.Fail(fmt::format("{} first arg must be str or a tuple of str, not {}",
                               prefix ? "startswith" : "endswith", TypeName(affix)));
      return false;
    }
    return prefix ? text.starts_with(affix.AsBytes()) : text.ends_with(affix.AsBytes());
  };
  const Value* affix = arguments.Get(0, "prefix");
  if (affix == nullptr) return runtime.Fail("startswith() and endswith() need an argument");
  bool any = false;
  if (affix->is_list() && affix->AsList().kind == ListKind::kTuple) {
    for (const Value& one : affix->AsList().items) any = any || matches(one);
  } else {
    any = matches(*affix);
  }
  return Value::Bool(any);
}
Value StartsWith(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnyAffix(runtime, self, arguments, /*prefix=*/true);
}
Value EndsWith(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return AnyAffix(runtime, self, arguments, /*prefix=*/false);
}

int64_t FindIn(Runtime& runtime, const Value& self, const Arguments& arguments, bool last) {
  const Text& text = Self(self);
  const Text* what = TextArgument(runtime, arguments, 0, "sub", "find");
  size_t offset = 0;
  const std::string_view window = Window(runtime, text, arguments, &offset);
  if (what == nullptr || !runtime.SpendSearch(text.size(), what->size())) return -1;
  const size_t found = last ? window.rfind(what->bytes()) : window.find(what->bytes());
  if (found == std::string_view::npos) return -1;
  return static_cast<int64_t>(
      CountCodePoints(std::string_view(text.bytes()).substr(0, offset + found)));
}
Value Find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return Value::Int(FindIn(runtime, self, arguments, /*last=*/false));
}
Value ReverseFind(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return Value::Int(FindIn(runtime, self, arguments, /*last=*/true));
}
Value Index(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const int64_t found = FindIn(runtime, self, arguments, /*last=*/false);
  return found < 0 ? runtime.Fail("substring not found") : Value::Int(found);
}

Value Count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text* what = TextArgument(runtime, arguments, 0, "sub", "count");
  size_t offset = 0;
  const std::string_view window = Window(runtime, Self(self), arguments, &offset);
  if (what == nullptr || !runtime.SpendSearch(window.size(), what->size())) return {};
  if (what->empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(window)) + 1);
  int64_t count = 0;
  for (size_t at = window.find(what->bytes()); at != std::string_view::npos;
       at = window.find(what->bytes(), at + what->size())) {
    ++count;
  }
  return Value::Int(count);
}

Value Replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text* from = TextArgument(runtime, arguments, 0, "old", "replace");
  const Text* to = TextArgument(runtime, arguments, 1, "new", "replace");
  const int64_t count = IntArgument(runtime, arguments, 2, "count", -1);
  if (from == nullptr || to == nullptr) return {};
  return ReplaceText(runtime, Self(self), *from, *to, count);
}

Value Join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Value* list = arguments.Get(0, "iterable");
  if (list == nullptr) return runtime.Fail("join() needs a list");
  std::vector<Text> parts;
  for (const Value& item : Iterate(runtime, *list)) {
    if (!item.is_string()) {
      return runtime.Fail(fmt::format("sequence item {}: expected str instance, {} found",
                                      parts.size(), TypeName(item)));
    }
    parts.push_back(item.AsText());
  }
  return JoinTexts(runtime, Self(self), parts);
}

template <Case to>
Value ChangeTo(Runtime& runtime, const Value& self, const Arguments&) {
  return ChangeCase(runtime, Self(self), to);
}

// Whether the text is not empty and all its code points satisfy the predicate.
template <typename Predicate>
Value All(Runtime& runtime, const Text& text, Predicate predicate) {
  runtime.Spend(1 + text.size() / 16);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = DecodeAt(text.bytes(), i);
    if (!predicate(point.code)) return Value::Bool(false);
    i += point.length;
  }
  return Value::Bool(!text.empty());
}

bool IsDigitCode(uint32_t code) {
  return (code >= '0' && code <= '9') || (code >= 0x660 && code <= 0x669) ||
         (code >= 0x966 && code <= 0x96f) || (code >= 0xff10 && code <= 0xff19);
}

// Letters outside ASCII are taken by their blocks: everything from U+00C0 that is no space, sign or
// emoji.
bool IsAlphaCode(uint32_t code) {
  if (code < 0x80) return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  if (code < 0xc0) return code == 0xaa || code == 0xb5 || code == 0xba;
  if (code == 0xd7 || code == 0xf7 || IsDigitCode(code) || IsSpace(code)) return false;
  return !(code >= 0x2000 && code <= 0x2bff) && !(code >= 0x3000 && code <= 0x303f) &&
         !(code >= 0xfe00 && code <= 0xff20) && code < 0x1f000;
}

Value IsDigit(Runtime& runtime, const Value& self, const Arguments&) {
  return All(runtime, Self(self), IsDigitCode);
}
Value IsAlpha(Runtime& runtime, const Value& self, const Arguments&) {
  return All(runtime, Self(self), IsAlphaCode);
}
Value IsAlnum(Runtime& runtime, const Value& self, const Arguments&) {
  return All(runtime, Self(self), [](uint32_t c) { return IsAlphaCode(c) || IsDigitCode(c); });
}
Value IsSpaceMethod(Runtime& runtime, const Value& self, const Arguments&) {
  return All(runtime, Self(self), IsSpace);
}

Value HasOneCase(Runtime& runtime, const Text& text, bool upper) {
  bool cased = false;
  runtime.Spend(1 + text.size() / 16);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = DecodeAt(text.bytes(), i);
    if (IsCased(point.code)) {
      const bool is_upper = ToLower(point.code) != point.code;
      if (is_upper != upper) return Value::Bool(false);
      cased = true;
    }
    i += point.length;
  }
  return Value::Bool(cased);
}
Value IsUpper(Runtime& runtime, const Value& self, const Arguments&) {
  return HasOneCase(runtime, Self(self), /*upper=*/true);
}
Value IsLower(Runtime& runtime, const Value& self, const Arguments&) {
  return HasOneCase(runtime, Self(self), /*upper=*/false);
}

Value RemovePrefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text* prefix = TextArgument(runtime, arguments, 0, "prefix", "removeprefix");
  if (prefix == nullptr || !Self(self).bytes().starts_with(prefix->bytes())) return self;
  return runtime.MakeString(Self(self).Slice(prefix->size(), Self(self).size()));
}
Value RemoveSuffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  const Text* suffix = TextArgument(runtime, arguments, 0, "suffix", "removesuffix");
  if (suffix == nullptr || !Self(self).bytes().ends_with(suffix->bytes())) return self;
  return runtime.MakeString(Self(self).Slice(0, Self(self).size() - suffix->size()));
}

}  // namespace

BuiltinFunction FindStringMethod(std::string_view name) {
  static const std::unordered_map<std::string_view, BuiltinFunction> kMethods = {
      {"strip", Strip},
      {"lstrip", LeftStrip},
      {"rstrip", RightStrip},
      {"split", Split},
      {"rsplit", ReverseSplit},
      {"splitlines", SplitLines},
      {"partition", Partition},
      {"rpartition", ReversePartition},
      {"startswith", StartsWith},
      {"endswith", EndsWith},
      {"find", Find},
      {"rfind", ReverseFind},
      {"index", Index},
      {"count", Count},
      {"replace", Replace},
      {"join", Join},
      {"format", FormatBraces},
      {"upper", ChangeTo<Case::kUpper>},
      {"lower", ChangeTo<Case::kLower>},
      {"casefold", ChangeTo<Case::kLower>},
      {"title", ChangeTo<Case::kTitle>},
      {"capitalize", ChangeTo<Case::kCapitalize>},
      {"isdigit", IsDigit},
      {"isdecimal", IsDigit},
      {"isnumeric", IsDigit},
      {"isalpha", IsAlpha},
      {"isalnum", IsAlnum},
      {"isspace", IsSpaceMethod},
      {"isupper", IsUpper},
      {"islower", IsLower},
      {"removeprefix", RemovePrefix},
      {"removesuffix", RemoveSuffix},
  };
  const auto found = kMethods.find(name);
  return found == kMethods.end() ? nullptr : found->second;
}

}  // namespace hunch::chat
