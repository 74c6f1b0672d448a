// A vocabulary as a file states it, and the checked form that the tokenizer works with.
// The file is hostile input: every id, length and string is checked in Vocabulary::Create.
// A Vocabulary is immutable and thread safe once made.
#ifndef HUNCH_TOKENIZER_VOCABULARY_H_
#define HUNCH_TOKENIZER_VOCABULARY_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seq/types.h"
#include "tokenizer/hash_tables.h"
#include "tokenizer/pre_tokenizer.h"
#include "weights/gguf.h"

namespace hunch {

// The values of tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,      // treated as kControl
  kControl = 3,      // a marker: only made from text that may contain special tokens
  kUserDefined = 4,  // an added token that is ordinary text: always made, before any merging
  kUnused = 5,       // padding: no text, never made
  kByte = 6,         // treated as kNormal
};

// tokenizer.ggml.*, unchecked. The spans point into the file's metadata.
struct VocabularyData {
  std::string model;
  std::string pre;
  std::span<const std::string> tokens;  // [vocabulary]
  std::span<const std::string> merges;  // "left right", in the order of their ranks
  std::vector<int64_t> types;           // [vocabulary], or empty: all normal
  std::optional<int64_t> bos, eos, eot, eom;
  std::optional<bool> add_bos;
};

Result<VocabularyData> ReadVocabularyData(const GgufFile& file);

class Vocabulary {
 public:
  static Result<Vocabulary> Create(const VocabularyData& data);

  int size() const { return static_cast<int>(kinds_.size()); }
  // Markers and added tokens: their text. Ids outside the vocabulary and unused ones: "".
  std::string_view Bytes(TokenId id) const {
    if (id < 0 || id >= size()) return {};
    return std::string_view(arena_).substr(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  TokenKind kind(TokenId id) const { return kinds_[id]; }
  bool IsControl(TokenId id) const {
    return id >= 0 && id < size() &&
           (kinds_[id] == TokenKind::kControl || kinds_[id] == TokenKind::kUnknown);
  }
  // -1: the vocabulary has no token for this byte.
  TokenId ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }
  const MergeTable& merges() const { return merges_; }
  // The ordinary token with exactly these bytes, or -1. Only kept for pre-tokenizers with
  // ignore_merges.
  TokenId FindOrdinary(std::string_view bytes) const {
    return ordinary_.Find(bytes, [this](TokenId id) { return Bytes(id); });
  }

  const std::string& model() const { return model_; }
  const PreTokenizerInfo& pre_tokenizer() const { return *pre_tokenizer_; }
  TokenId bos() const { return bos_; }  // -1: none
  bool add_bos() const { return add_bos_; }
  const std::vector<TokenId>& end_tokens() const { return end_tokens_; }  // ascending

 private:
  Vocabulary() : ordinary_(0) {}
  Status AddTokens(const VocabularyData& data);
  Status AddMerges(const VocabularyData& data);
  Status IndexOrdinaryTokens();
  Status SetSpecialIds(const VocabularyData& data);

  std::string model_;
  const PreTokenizerInfo* pre_tokenizer_ = nullptr;
  std::string arena_;              // every token's bytes, one behind the other
  std::vector<uint32_t> offsets_;  // [vocabulary + 1] into arena_
  std::vector<TokenKind> kinds_;   // [vocabulary]
  std::array<TokenId, 256> byte_tokens_{};
  MergeTable merges_;
  StringIndex ordinary_;
  TokenId bos_ = -1;
  bool add_bos_ = false;
  std::vector<TokenId> end_tokens_;
};

}  // namespace hunch

#endif  // HUNCH_TOKENIZER_VOCABULARY_H_
