#include "tokenizer/bpe_tokenizer.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/unicode.h"

namespace hunch {
namespace {

// Some vocabularies (SmolLM2's) have no token for bytes that their training text never held, 0xFF
// for one. Such a byte outside well-formed UTF-8 becomes U+FFFD, so that it leaves a trace. Inside
// a valid character, or a control below 0x20, it is dropped later on, as the model's own tokenizer
// does.
bool ReplaceUnknownBytes(const Vocabulary& vocabulary, std::string_view text,
                         std::string* replaced) {
  std::string out;
  size_t copied = 0;
  for (size_t position = 0; position < text.size();) {
    const Utf8Char character = DecodeUtf8(text, position);
    if (character.state == Utf8State::kValid) {
      position += character.length;
      continue;
    }
    if (vocabulary.ByteToken(static_cast<uint8_t>(text[position])) < 0) {
      out.append(text.substr(copied, position - copied)).append(kReplacementCharacter);
      copied = position + 1;
    }
    ++position;
  }
  if (copied == 0) return false;
  out.append(text.substr(copied));
  *replaced = std::move(out);
  return true;
}

}  // namespace

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), matcher_(vocabulary_), lacks_bytes_(false) {
  for (int byte = 0x80; byte < 0x100; ++byte) {
    lacks_bytes_ |= vocabulary_.ByteToken(static_cast<uint8_t>(byte)) < 0;
  }
}

std::vector<TokenId> BpeTokenizer::Encode(std::string_view text, bool parse_special) const {
  const Region region{text.size(), parse_special};
  return EncodeRegions(text, {&region, 1});
}

std::vector<TokenId> BpeTokenizer::EncodePieces(std::span<const TextPiece> pieces) const {
  std::string text;
  std::vector<Region> regions;
  for (const TextPiece& piece : pieces) {
    text += piece.text;
    if (!regions.empty() && regions.back().parse_special == piece.parse_special) {
      regions.back().end = text.size();
    } else {
      regions.push_back({text.size(), piece.parse_special});
    }
  }
  return EncodeRegions(text, regions);
}

std::vector<TokenId> BpeTokenizer::EncodeRegions(std::string_view text,
                                                 std::span<const Region> regions) const {
  std::vector<TokenId> tokens;
  BpeMerger merger(vocabulary_);
  size_t ordinary = 0;  // text[ordinary, position) has no special token
  size_t position = 0;
  for (const Region& region : regions) {
    const size_t control_end = region.parse_special ? region.end : 0;
    while (position < region.end) {
      const SpecialMatcher::Match match = matcher_.At(text, position, control_end);
      if (match.id < 0) {
        ++position;
        continue;
      }
      AppendOrdinary(text.substr(ordinary, position - ordinary), &merger, &tokens);
      tokens.push_back(match.id);
      position += match.length;
      ordinary = position;
    }
  }
  AppendOrdinary(text.substr(ordinary), &merger, &tokens);
  return tokens;
}

void BpeTokenizer::AppendOrdinary(std::string_view text, BpeMerger* merger,
                                  std::vector<TokenId>* tokens) const {
  const PreTokenizerInfo& info = vocabulary_.pre_tokenizer();
  std::string replaced, normalized;
  if (lacks_bytes_ && ReplaceUnknownBytes(vocabulary_, text, &replaced)) text = replaced;
  if (info.nfc && NormalizeNfc(text, &normalized)) text = normalized;
  PreTokenScanner scanner(info.kind, text);
  std::string_view piece;
  while (scanner.Next(&piece)) {
    if (info.ignore_merges) {
      const TokenId whole = vocabulary_.FindOrdinary(piece);
      if (whole >= 0) {
        tokens->push_back(whole);
        continue;
      }
    }
    merger->Append(piece, tokens);
  }
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::Create(const GgufFile& file) {
  const auto create = [&]() -> Result<Vocabulary> {
    HUNCH_ASSIGN_OR_RETURN(const VocabularyData data, ReadVocabularyData(file));
    return Vocabulary::Create(data);
  };
  Result<Vocabulary> vocabulary = create();
  if (!vocabulary.ok()) {
    // Which of a target's and a drafter's files it is. The lookups of keys name theirs.
    const Error& error = vocabulary.error();
    if (error.message.starts_with(file.name())) return error;
    return Error{error.code, fmt::format("{}: {}", file.name(), error.message)};
  }
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(vocabulary).value()));
}

}  // namespace hunch
