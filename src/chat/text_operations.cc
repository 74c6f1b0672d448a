// What string methods and filters of the same names share.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/code_points.h"
#include "chat/methods.h"

namespace hunch::chat {

Value StripText(Runtime& runtime, const Text& text, const Value* characters, bool left,
                bool right) {
  std::vector<uint32_t> set;
  const bool given = characters != nullptr && !characters->is_none();
  if (given) {
    if (!characters->is_string()) {
      return runtime.Fail(
          fmt::format("strip arg must be None or str, not {}", TypeName(*characters)));
    }
    const std::string& bytes = characters->AsBytes();
    for (size_t i = 0; i < bytes.size();) {
      set.push_back(DecodeAt(bytes, i).code);
      i += DecodeAt(bytes, i).length;
    }
  }
  const auto strips = [&](uint32_t code) {
    return given ? std::find(set.begin(), set.end(), code) != set.end() : IsSpace(code);
  };
  if (!runtime.Spend(1 + text.size() / 64 * (1 + set.size() / 4))) return {};
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    const CodePoint point = DecodeAt(text.bytes(), begin);
    if (!strips(point.code)) break;
    begin += point.length;
  }
  while (right && end > begin) {
    const CodePoint point = DecodeBefore(text.bytes(), end);
    if (!strips(point.code)) break;
    end -= point.length;
  }
  return runtime.MakeString(text.Slice(begin, end));
}

Value ReplaceText(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                  int64_t count) {
  if (!runtime.SpendSearch(text.size(), from.size())) return {};
  const std::string& bytes = text.bytes();
  Text out;
  out.set_markup(text.markup());
  size_t begin = 0;
  for (int64_t done = 0; count < 0 || done < count; ++done) {
    // An empty `from` stands before every code point and at the end.
    size_t found = begin;
    if (!from.empty()) {
      found = bytes.find(from.bytes(), begin);
      if (found == std::string::npos) break;
    } else if (done > 0) {
      if (begin >= bytes.size()) break;
      found = begin + DecodeAt(bytes, begin).length;
    }
    // Paid here, because the result can be far longer than what MakeString would be asked for in
    // one piece.
    if (!runtime.SpendBytes(to.size()) || !runtime.Spend(1)) return {};
    out.Append(text, begin, found);
    out.Append(to);
    begin = found + from.size();
  }
  out.Append(text, begin, text.size());
  return runtime.MakeString(std::move(out));
}

Value JoinTexts(Runtime& runtime, const Text& separator, const std::vector<Text>& parts) {
  Text out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!runtime.SpendBytes(separator.size() + parts[i].size())) return {};
    if (i > 0) out.Append(separator);
    out.Append(parts[i]);
  }
  return runtime.MakeString(std::move(out));
}

Value ChangeCase(Runtime& runtime, const Text& text, Case to) {
  if (!runtime.Spend(1 + text.size() / 4)) return {};
  Text out;
  out.set_markup(text.markup());
  bool word_goes_on = false;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = DecodeAt(text.bytes(), i);
    const bool broken = point.length == 1 && point.code >= 0x80;
    const bool upper = to == Case::kUpper || (to == Case::kTitle && !word_goes_on) ||
                       (to == Case::kCapitalize && i == 0);
    if (broken) {
      out.Append(text, i, i + 1);
    } else if (upper && point.code == 0xdf) {
      out.Append(to == Case::kUpper ? "SS" : "Ss", text.FromRequestAt(i));
    } else {
      std::string changed;
      AppendUtf8(upper ? ToUpper(point.code) : ToLower(point.code), &changed);
      out.Append(changed, text.FromRequestAt(i));
    }
    word_goes_on = !broken && (IsCased(point.code) || point.code == 0xdf);
    i += point.length;
  }
  return runtime.MakeString(std::move(out));
}

}  // namespace hunch::chat
