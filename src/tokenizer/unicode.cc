#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace hunch {
namespace {

constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool space = c == ' ' || (c >= 0x09 && c <= 0x0D);
    classes[c] = letter                   ? CharClass::kLetter
                 : c >= '0' && c <= '9'   ? CharClass::kNumber
                 : c == '\r' || c == '\n' ? CharClass::kNewline
                 : space                  ? CharClass::kSpace
                                          : CharClass::kOther;
  }
  return classes;
}();

// Letters and numbers that Unicode 15.1 and 16 added; the tokenizers library knows them,
// utf8proc 2.8 does not (the two agree on every other code point). Ascending.
struct NewerRange {
  uint32_t first, last;
  CharClass type;
};
constexpr auto L = CharClass::kLetter;
constexpr auto N = CharClass::kNumber;
constexpr auto kNewerRanges = std::to_array<NewerRange>(
    {{0x1C89, 0x1C8A, L},   {0xA7CB, 0xA7CD, L},   {0xA7DA, 0xA7DC, L},   {0x105C0, 0x105F3, L},
     {0x10D40, 0x10D49, N}, {0x10D4A, 0x10D65, L}, {0x10D6F, 0x10D85, L}, {0x10EC2, 0x10EC4, L},
     {0x11380, 0x11389, L}, {0x1138B, 0x1138B, L}, {0x1138E, 0x1138E, L}, {0x11390, 0x113B5, L},
     {0x113B7, 0x113B7, L}, {0x113D1, 0x113D1, L}, {0x113D3, 0x113D3, L}, {0x116D0, 0x116E3, N},
     {0x11BC0, 0x11BE0, L}, {0x11BF0, 0x11BF9, N}, {0x13460, 0x143FA, L}, {0x16100, 0x1611D, L},
     {0x16130, 0x16139, N}, {0x16D40, 0x16D6C, L}, {0x16D70, 0x16D79, N}, {0x18CFF, 0x18CFF, L},
     {0x1CCF0, 0x1CCF9, N}, {0x1E5D0, 0x1E5ED, L}, {0x1E5F0, 0x1E5F0, L}, {0x1E5F1, 0x1E5FA, N},
     {0x2EBF0, 0x2EE5D, L}});

CharClass ClassOfUnassigned(uint32_t code_point) {
  const auto range = std::lower_bound(
      kNewerRanges.begin(), kNewerRanges.end(), code_point,
      [](const NewerRange& candidate, uint32_t value) { return candidate.last < value; });
  return range != kNewerRanges.end() && range->first <= code_point ? range->type
                                                                   : CharClass::kOther;
}

// Below this every character is in form C already and never composes with what stands before it.
constexpr uint32_t kFirstNonTrivial = 0x300;

// CJK ideographs (extension A and the main block) and Hangul syllables that end in a consonant are
// inert as well, but syllables can take one: only the ideographs are worth a shortcut.
bool IsInert(uint32_t code_point) {
  return code_point < kFirstNonTrivial || (code_point >= 0x3400 && code_point <= 0x9FFF);
}

using CodePoint = utf8proc_int32_t;

void AppendDecomposed(uint32_t code_point, std::vector<CodePoint>* out) {
  std::array<CodePoint, 32> parts;  // the longest canonical decomposition has four
  int boundclass = UTF8PROC_BOUNDCLASS_START;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<CodePoint>(code_point), parts.data(), parts.size(),
                              UTF8PROC_DECOMPOSE, &boundclass);
  HUNCH_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size())) << count;
  out->insert(out->end(), parts.begin(), parts.begin() + count);
}

// Canonical order: a stable sort by combining class inside each run of marks. Done here because
// utf8proc's own exchange sort is quadratic in the length of a run.
void ReorderMarks(std::vector<CodePoint>* code_points) {
  const auto combining_class = [](CodePoint c) {
    return utf8proc_get_property(c)->combining_class;
  };
  auto run = code_points->begin();
  while (run != code_points->end()) {
    if (combining_class(*run) == 0) {
      ++run;
      continue;
    }
    auto end = run;
    while (end != code_points->end() && combining_class(*end) != 0) ++end;
    std::stable_sort(run, end, [&](CodePoint a, CodePoint b) {
      return combining_class(a) < combining_class(b);
    });
    run = end;
  }
}

// Normalises valid UTF-8 that starts at a character nothing before can combine with.
void AppendNormalized(std::string_view valid, std::vector<CodePoint>* scratch, std::string* out) {
  scratch->clear();
  for (size_t position = 0; position < valid.size();) {
    const Utf8Char character = DecodeUtf8(valid, position);
    AppendDecomposed(character.code_point, scratch);
    position += character.length;
  }
  ReorderMarks(scratch);
  const utf8proc_ssize_t length =
      utf8proc_normalize_utf32(scratch->data(), static_cast<utf8proc_ssize_t>(scratch->size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  HUNCH_CHECK_GE(length, 0);
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    AppendUtf8(static_cast<uint32_t>((*scratch)[i]), out);
  }
}

}  // namespace

CharClass ClassOf(uint32_t code_point) {
  if (code_point < 128) return kAsciiClasses[code_point];
  switch (utf8proc_category(static_cast<CodePoint>(code_point))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::kLetter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::kNumber;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return CharClass::kSpace;
    case UTF8PROC_CATEGORY_CN:
      return ClassOfUnassigned(code_point);
    default:
      return code_point == 0x85 ? CharClass::kSpace : CharClass::kOther;
  }
}

bool NormalizeNfc(std::string_view text, std::string* normalized) {
  std::string out;
  std::vector<CodePoint> scratch;
  size_t copied = 0;    // text[0, copied) is in `out`
  size_t boundary = 0;  // the last place that nothing before can combine across
  bool changed = false;
  size_t position = 0;
  while (position < text.size()) {
    const Utf8Char character = DecodeUtf8(text, position);
    if (character.state != Utf8State::kValid) {
      position += character.length;
      boundary = position;
      continue;
    }
    if (IsInert(character.code_point)) {
      boundary = position;
      position += character.length;
      continue;
    }
    size_t end = position;
    while (end < text.size()) {
      const Utf8Char next = DecodeUtf8(text, end);
      if (next.state != Utf8State::kValid || IsInert(next.code_point)) break;
      end += next.length;
    }
    out.append(text.substr(copied, boundary - copied));
    const size_t before = out.size();
    AppendNormalized(text.substr(boundary, end - boundary), &scratch, &out);
    changed |= std::string_view(out).substr(before) != text.substr(boundary, end - boundary);
    copied = boundary = position = end;
  }
  if (!changed) return false;
  out.append(text.substr(copied));
  *normalized = std::move(out);
  return true;
}

}  // namespace hunch
