#include "chat/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/code_points.h"

namespace hunch::chat {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

size_t SkipSpace(std::string_view text, size_t position) {
  while (position < text.size()) {
    const CodePoint point = DecodeAt(text, position);
    if (!IsSpace(point.code)) break;
    position += point.length;
  }
  return position;
}

std::string_view StripRight(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = DecodeBefore(text, text.size());
    if (!IsSpace(point.code)) break;
    text.remove_suffix(point.length);
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> Run() {
    while (position_ < source_.size()) HUNCH_RETURN_IF_ERROR(LexOutside());
    Add(TokenKind::kEnd, {});
    return std::move(tokens_);
  }

 private:
  Error Fail(std::string message) const {
    return {ErrorCode::kBadFile, fmt::format("chat template line {}: {}", line_, message)};
  }

  bool At(std::string_view text) const { return source_.substr(position_).starts_with(text); }

  void AdvanceTo(size_t position) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + position_, source_.begin() + position, '\n'));
    position_ = position;
  }

  void Add(TokenKind kind, std::string_view text) { tokens_.push_back({kind, text, line_}); }

  // Finds the next tag: "{{", "{%" or "{#".
  size_t FindTag(size_t from) const {
    for (size_t brace = source_.find('{', from); brace != std::string_view::npos;
         brace = source_.find('{', brace + 1)) {
      if (brace + 1 >= source_.size()) break;
      const char next = source_[brace + 1];
      if (next == '{' || next == '%' || next == '#') return brace;
    }
    return source_.size();
  }

  // What is left of the text before a tag whose opening sign is followed by `control`.
  std::string_view TextBefore(std::string_view text, char control, bool variable) const {
    if (control == '-') return StripRight(text);
    if (control == '+' || variable) return text;
    const size_t newline = text.rfind('\n');
    const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
    if (line_start == 0 && !LineStarts()) return text;
    if (SkipSpace(text, line_start) != text.size()) return text;
    return text.substr(0, line_start);
  }

  // Whether the text at position_ is at the start of a line.
  bool LineStarts() const { return position_ == 0 || source_[position_ - 1] == '\n'; }

  Status LexOutside() {
    const size_t tag = FindTag(position_);
    std::string_view text = source_.substr(position_, tag - position_);
    const char kind = tag < source_.size() ? source_[tag + 1] : '\0';
    size_t after = std::min(tag + 2, source_.size());
    char control = '\0';
    if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) {
      control = source_[after];
    }
    if (tag < source_.size()) text = TextBefore(text, control, kind == '{');
    if (!text.empty()) Add(TokenKind::kData, text);
    if (control != '\0') ++after;
    AdvanceTo(after);
    if (tag == source_.size()) return Ok{};
    if (kind == '#') return SkipComment();
    if (kind == '{') {
      Add(TokenKind::kVariableBegin, {});
      return LexInside(/*variable=*/true);
    }
    if (const size_t raw = RawBegin(); raw != 0) return LexRaw(raw);
    Add(TokenKind::kBlockBegin, {});
    return LexInside(/*variable=*/false);
  }

  // Where the text after a block or comment end at `end` (of "%}" or "#}") goes on.
  size_t AfterEnd(size_t end, char control) const {
    const size_t after = end + 2;
    if (control == '-') return SkipSpace(source_, after);
    if (control != '+' && after < source_.size() && source_[after] == '\n') return after + 1;
    return after;
  }

  Status SkipComment() {
    const size_t end = source_.find("#}", position_);
    if (end == std::string_view::npos) return Fail("a comment {# is never closed by #}");
    const char control = end > position_ ? source_[end - 1] : '\0';
    AdvanceTo(AfterEnd(end, control));
    return Ok{};
  }

  // After "{%": where the text of a raw block begins, or 0 if this is another block.
  size_t RawBegin() const {
    size_t at = SkipSpace(source_, position_);
    if (!source_.substr(at).starts_with("raw")) return 0;
    at = SkipSpace(source_, at + 3);
    if (source_.substr(at).starts_with("-%}")) return SkipSpace(source_, at + 3);
    return source_.substr(at).starts_with("%}") ? at + 2 : 0;
  }

  Status LexRaw(size_t begin) {
    AdvanceTo(begin);
    for (size_t tag = source_.find("{%", begin); tag != std::string_view::npos;
         tag = source_.find("{%", tag + 1)) {
      size_t at = tag + 2;
      char open = '\0';
      if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) open = source_[at++];
      at = SkipSpace(source_, at);
      if (!source_.substr(at).starts_with("endraw")) continue;
      at = SkipSpace(source_, at + 6);
      char close = '\0';
      if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) close = source_[at++];
      if (!source_.substr(at).starts_with("%}")) continue;
      const auto text = TextBefore(source_.substr(begin, tag - begin), open, /*variable=*/false);
      if (!text.empty()) Add(TokenKind::kData, text);
      AdvanceTo(AfterEnd(at, close));
      return Ok{};
    }
    return Fail("a {% raw %} block is never closed by {% endraw %}");
  }

  // Tokens up to and including the end of the tag.
  Status LexInside(bool variable) {
    const int opened_at = line_;
    std::string brackets;  // those that are still open, as the sign that closes each
    for (;;) {
      AdvanceTo(SkipSpace(source_, position_));
      if (position_ >= source_.size()) {
        line_ = opened_at;
        return Fail(variable ? "an expression {{ is never closed by }}"
                             : "a statement {% is never closed by %}");
      }
      if (brackets.empty() && LexTagEnd(variable)) return Ok{};
      HUNCH_RETURN_IF_ERROR(LexToken(&brackets));
    }
  }

  bool LexTagEnd(bool variable) {
    const std::string_view end = variable ? "}}" : "%}";
    char control = '\0';
    size_t at = position_;
    if (source_[at] == '-' || (!variable && source_[at] == '+')) control = source_[at++];
    if (!source_.substr(at).starts_with(end)) return false;
    Add(variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, {});
    if (variable) {
      AdvanceTo(control == '-' ? SkipSpace(source_, at + 2) : at + 2);
    } else {
      AdvanceTo(AfterEnd(at, control));
    }
    return true;
  }

  void Take(TokenKind kind, size_t length) {
    Add(kind, source_.substr(position_, length));
    AdvanceTo(position_ + length);
  }

  Status LexToken(std::string* brackets) {
    const char c = source_[position_];
    if (IsNameStart(c)) {
      size_t end = position_ + 1;
      while (end < source_.size() && (IsNameStart(source_[end]) || IsDigit(source_[end]))) ++end;
      Take(TokenKind::kName, end - position_);
      return Ok{};
    }
    if (IsDigit(c)) return LexNumber();
    if (c == '"' || c == '\'') return LexString(c);
    return LexOperator(brackets);
  }

  Status LexString(char quote) {
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return Fail("a string literal is never closed");
    Take(TokenKind::kString, end + 1 - position_);
    return Ok{};
  }

  // Digits with single underscores between them.
  template <typename Predicate>
  size_t SkipDigits(size_t at, Predicate is_digit) const {
    while (at < source_.size() &&
           (is_digit(source_[at]) ||
            (source_[at] == '_' && at + 1 < source_.size() && is_digit(source_[at + 1])))) {
      ++at;
    }
    return at;
  }

  char CharAt(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

  Status LexNumber() {
    const char prefix = static_cast<char>(CharAt(position_ + 1) | 0x20);
    if (source_[position_] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      const size_t end = SkipDigits(position_ + 2, IsHexDigit);
      Take(TokenKind::kInteger, end - position_);
      return Ok{};
    }
    size_t end = SkipDigits(position_, IsDigit);
    // "1.0.2" is 1 . 0 . 2 after a dot: what follows a dot is an index, not a fraction.
    const bool after_dot = !tokens_.empty() && tokens_.back().text == ".";
    bool is_float = false;
    if (!after_dot && CharAt(end) == '.' && IsDigit(CharAt(end + 1))) {
      end = SkipDigits(end + 1, IsDigit);
      is_float = true;
    }
    if (!after_dot && (CharAt(end) | 0x20) == 'e') {
      const bool sign = CharAt(end + 1) == '+' || CharAt(end + 1) == '-';
      const size_t digits = end + (sign ? 2 : 1);
      if (IsDigit(CharAt(digits))) {
        end = SkipDigits(digits, IsDigit);
        is_float = true;
      }
    }
    Take(is_float ? TokenKind::kFloat : TokenKind::kInteger, end - position_);
    return Ok{};
  }

  Status LexOperator(std::string* brackets) {
    static constexpr std::array<std::string_view, 6> kDouble = {"**", "//", "==", "!=", "<=", ">="};
    for (const std::string_view two : kDouble) {
      if (!At(two)) continue;
      Take(TokenKind::kOperator, 2);
      return Ok{};
    }
    const char c = source_[position_];
    if (std::string_view("+-*/%~[](){}<>=.:|,").find(c) == std::string_view::npos) {
      return Fail(fmt::format("unexpected character {:?}", c));
    }
    if (c == '(') brackets->push_back(')');
    if (c == '[') brackets->push_back(']');
    if (c == '{') brackets->push_back('}');
    if (c == ')' || c == ']' || c == '}') {
      if (brackets->empty()) return Fail(fmt::format("unexpected '{}'", c));
      if (brackets->back() != c) {
        return Fail(fmt::format("unexpected '{}', expected '{}'", c, brackets->back()));
      }
      brackets->pop_back();
    }
    Take(TokenKind::kOperator, 1);
    return Ok{};
  }

  std::string_view source_;
  size_t position_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::string NormalizeSource(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace hunch::chat
