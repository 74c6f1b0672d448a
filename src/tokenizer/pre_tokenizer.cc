#include "tokenizer/pre_tokenizer.h"

#include <array>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace hunch {
namespace {

constexpr std::array kPreTokenizers = {
    PreTokenizerInfo{"gpt-2", PreTokenizer::kGpt2, false, false, false},
    PreTokenizerInfo{"smollm", PreTokenizer::kSmolLm, false, false, false},
    PreTokenizerInfo{"qwen2", PreTokenizer::kQwen2, true, false, false},
    PreTokenizerInfo{"llama-bpe", PreTokenizer::kLlama3, false, true, true},
    PreTokenizerInfo{"llama3", PreTokenizer::kLlama3, false, true, true},
    PreTokenizerInfo{"llama-v3", PreTokenizer::kLlama3, false, true, true},
};

struct ScannedChar {
  CharClass type;
  uint32_t length;
};

ScannedChar CharAt(std::string_view text, size_t position) {
  const Utf8Char character = DecodeUtf8(text, position);
  if (character.state != Utf8State::kValid) return {CharClass::kOther, 1};
  return {ClassOf(character.code_point), character.length};
}

bool IsSpace(CharClass type) { return type == CharClass::kSpace || type == CharClass::kNewline; }

// End of the run of `type` that starts at `position`.
size_t RunEnd(std::string_view text, size_t position, CharClass type) {
  while (position < text.size()) {
    const ScannedChar next = CharAt(text, position);
    if (next.type != type) break;
    position += next.length;
  }
  return position;
}

// Length of 's 't 're 've 'm 'll 'd at the start of `text`, which begins with an apostrophe; 0:
// none.
size_t ContractionLength(std::string_view text, bool any_case) {
  const auto letter = [&](size_t i) -> char {
    if (i >= text.size()) return '\0';
    const char c = text[i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return letter(2) == 'e' ? 3 : 0;
    case 'l':
      return letter(2) == 'l' ? 3 : 0;
    default:
      // U+017F, the long s, is an s when case does not matter.
      return any_case && text.substr(1, 2) == "\xC5\xBF" ? 3 : 0;
  }
}

// What the whitespace that starts at `position` looks like.
struct SpaceRun {
  size_t end;
  size_t last;          // where its last character starts
  size_t newlines_end;  // behind its last \r or \n; 0: it has none
};

SpaceRun ScanSpaces(std::string_view text, size_t position) {
  SpaceRun run{position, position, 0};
  while (run.end < text.size()) {
    const ScannedChar next = CharAt(text, run.end);
    if (!IsSpace(next.type)) break;
    run.last = run.end;
    run.end += next.length;
    if (next.type == CharClass::kNewline) run.newlines_end = run.end;
  }
  return run;
}

// \s+(?!\S)|\s+ : leaves the last space to the word behind, unless it is the only one.
size_t SpacesEnd(const SpaceRun& run, size_t position, size_t text_end) {
  return run.end == text_end || run.last == position ? run.end : run.last;
}

size_t Gpt2End(std::string_view text, size_t position) {
  if (text[position] == '\'') {
    const size_t length = ContractionLength(text.substr(position), false);
    if (length != 0) return position + length;
  }
  size_t start = position;
  if (text[position] == ' ' && position + 1 < text.size()) ++start;
  const ScannedChar first = CharAt(text, start);
  if (!IsSpace(first.type)) return RunEnd(text, start + first.length, first.type);
  return SpacesEnd(ScanSpaces(text, position), position, text.size());
}

// kQwen2 and kLlama3 differ in how many digits stay together.
size_t Qwen2End(std::string_view text, size_t position, int digits) {
  if (text[position] == '\'') {
    const size_t length = ContractionLength(text.substr(position), true);
    if (length != 0) return position + length;
  }
  const ScannedChar first = CharAt(text, position);
  const size_t second = position + first.length;
  if (first.type == CharClass::kLetter) return RunEnd(text, second, CharClass::kLetter);
  if (first.type == CharClass::kNumber) {
    size_t end = second;
    for (int i = 1; i < digits && end < text.size(); ++i) {
      const ScannedChar next = CharAt(text, end);
      if (next.type != CharClass::kNumber) break;
      end += next.length;
    }
    return end;
  }
  const CharClass second_type =
      second < text.size() ? CharAt(text, second).type : CharClass::kNewline;
  if (first.type != CharClass::kNewline && second_type == CharClass::kLetter) {
    return RunEnd(text, second, CharClass::kLetter);
  }
  if (first.type == CharClass::kOther ||
      (text[position] == ' ' && second_type == CharClass::kOther)) {
    const size_t end = RunEnd(text, second, CharClass::kOther);
    return RunEnd(text, end, CharClass::kNewline);
  }
  const SpaceRun run = ScanSpaces(text, position);
  if (run.newlines_end != 0) return run.newlines_end;
  return SpacesEnd(run, position, text.size());
}

}  // namespace

const PreTokenizerInfo* FindPreTokenizer(std::string_view name) {
  for (const PreTokenizerInfo& info : kPreTokenizers) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string KnownPreTokenizers() {
  std::string names;
  for (const PreTokenizerInfo& info : kPreTokenizers) {
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

bool PreTokenScanner::Next(std::string_view* piece) {
  if (position_ >= text_.size()) return false;
  size_t end = 0;
  switch (kind_) {
    case PreTokenizer::kGpt2:
      end = Gpt2End(text_, position_);
      break;
    case PreTokenizer::kSmolLm: {
      const ScannedChar first = CharAt(text_, position_);
      if (first.type == CharClass::kNumber) {
        end = position_ + first.length;
        break;
      }
      if (span_end_ <= position_) {
        span_end_ = position_ + first.length;
        while (span_end_ < text_.size()) {
          const ScannedChar next = CharAt(text_, span_end_);
          if (next.type == CharClass::kNumber) break;
          span_end_ += next.length;
        }
      }
      end = Gpt2End(text_.substr(0, span_end_), position_);
      break;
    }
    case PreTokenizer::kQwen2:
      end = Qwen2End(text_, position_, 1);
      break;
    case PreTokenizer::kLlama3:
      end = Qwen2End(text_, position_, 3);
      break;
  }
  *piece = text_.substr(position_, end - position_);
  position_ = end;
  return true;
}

}  // namespace hunch
