#include "tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/byte_level.h"

namespace hunch {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kEotKey = "tokenizer.ggml.eot_token_id";
constexpr std::string_view kEomKey = "tokenizer.ggml.eom_token_id";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";

// Past any real model; keeps ids and offsets inside 32 bits.
constexpr size_t kMaxTokens = 1 << 24;
constexpr size_t kMaxArenaBytes = std::numeric_limits<uint32_t>::max();
// Bounds the work of the matcher at each position; the longest published marker has about 40.
constexpr size_t kMaxMatchedBytes = 1024;

// Markers that end a turn or a text in published models. A file names at most one or two of its own
// as eos and eot, and which one differs between converters. Only control tokens count: `</s>` in
// Qwen2.5 is ordinary text.
constexpr auto kEndMarkers = std::to_array<std::string_view>(
    {"<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>",
     "<|endofturn|>", "<|end_of_turn|>", "<end_of_turn>", "<|eot|>", "<eos>", "</s>", "<EOT>",
     "<｜end▁of▁sentence｜>"});

Error BadFile(std::string message) { return {ErrorCode::kBadFile, std::move(message)}; }

Error Collisions(std::string_view key) {
  return BadFile(
      fmt::format("{}: its entries are made to collide in a hash table; no real "
                  "vocabulary does that. Use another file",
                  key));
}

Result<std::optional<int64_t>> ReadId(const GgufFile& file, std::string_view key) {
  if (file.metadata().find(key) == file.metadata().end()) return std::optional<int64_t>();
  HUNCH_ASSIGN_OR_RETURN(const int64_t id, file.GetInt(key));
  return std::optional<int64_t>(id);
}

// Kinds whose entries are ordinary text made by merges.
bool IsMergeable(TokenKind kind) {
  return kind == TokenKind::kNormal || kind == TokenKind::kByte || kind == TokenKind::kUserDefined;
}

Result<TokenKind> KindFromType(int64_t type, size_t id) {
  if (type < 1 || type > 6) {
    return BadFile(
        fmt::format("{}[{}] is {}, which is no token type (1 to 6)", kTypesKey, id, type));
  }
  return static_cast<TokenKind>(type);
}

// The file's token strings -> ids, while merges are resolved. The strings belong to the file.
class TokenIndex {
 public:
  static Result<TokenIndex> Create(std::span<const std::string> tokens,
                                   const std::vector<TokenKind>& kinds) {
    TokenIndex index(tokens, kinds);
    for (TokenId id = 0; id < static_cast<TokenId>(tokens.size()); ++id) {
      if (kinds[id] == TokenKind::kUnused) continue;
      switch (index.table_.Insert(id, index.strings_)) {
        case InsertOutcome::kInserted:
          break;
        case InsertOutcome::kPresent:
          return BadFile(fmt::format("{}[{}] and [{}] are both {}; a text would have two encodings",
                                     kTokensKey, index.table_.Find(tokens[id], index.strings_), id,
                                     Quote(tokens[id])));
        case InsertOutcome::kTooManyCollisions:
          return Collisions(kTokensKey);
      }
    }
    return index;
  }

  // -1: there is no such token, or it is a marker.
  TokenId FindMergeable(std::string_view text) const {
    const TokenId id = table_.Find(text, strings_);
    return id >= 0 && IsMergeable((*kinds_)[id]) ? id : -1;
  }

 private:
  TokenIndex(std::span<const std::string> tokens, const std::vector<TokenKind>& kinds)
      : strings_{tokens}, kinds_(&kinds), table_(tokens.size()) {}

  struct Strings {
    std::span<const std::string> tokens;
    std::string_view operator()(TokenId id) const { return tokens[id]; }
  };
  Strings strings_;
  const std::vector<TokenKind>* kinds_;
  StringIndex table_;
};

Error BadMerge(std::string_view merge, size_t rank, std::string_view why) {
  return BadFile(fmt::format("{}[{}] is {}: {}", kMergesKey, rank, Quote(merge), why));
}

struct ResolvedMerge {
  TokenId left, right, result;
};

Result<ResolvedMerge> ResolveMerge(const TokenIndex& index, std::string_view merge, size_t rank) {
  const size_t space = merge.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == merge.size() ||
      merge.find(' ', space + 1) != std::string_view::npos) {
    return BadMerge(merge, rank, "not two pieces with one space between them");
  }
  const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
  const ResolvedMerge resolved = {index.FindMergeable(left), index.FindMergeable(right),
                                  index.FindMergeable(std::string(left).append(right))};
  if (resolved.left < 0 || resolved.right < 0) {
    return BadMerge(merge, rank, "a piece is not an ordinary token of the vocabulary");
  }
  // Were a marker the result, ordinary text could turn into it.
  if (resolved.result < 0) {
    return BadMerge(merge, rank, "its result is not an ordinary token of the vocabulary");
  }
  return resolved;
}

}  // namespace

Result<VocabularyData> ReadVocabularyData(const GgufFile& file) {
  VocabularyData data;
  HUNCH_ASSIGN_OR_RETURN(data.model, file.GetString("tokenizer.ggml.model"));
  if (data.model != "gpt2") {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("tokenizer.ggml.model {} is not supported; known: \"gpt2\" (byte-level "
                    "BPE)",
                    Quote(data.model))};
  }
  if (file.metadata().find("tokenizer.ggml.pre") == file.metadata().end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the file has no tokenizer.ggml.pre, so how to cut text into words is "
                             "unknown; convert the model again. Known values: {}",
                             KnownPreTokenizers())};
  }
  HUNCH_ASSIGN_OR_RETURN(data.pre, file.GetString("tokenizer.ggml.pre"));
  HUNCH_ASSIGN_OR_RETURN(const auto* tokens, file.GetStrings(kTokensKey));
  data.tokens = *tokens;
  HUNCH_ASSIGN_OR_RETURN(const auto* merges, file.GetStrings(kMergesKey));
  data.merges = *merges;
  if (file.metadata().find(kTypesKey) != file.metadata().end()) {
    HUNCH_ASSIGN_OR_RETURN(data.types, file.GetInts(kTypesKey));
    if (data.types.size() != data.tokens.size()) {
      return BadFile(fmt::format("{} has {} entries, {} has {}; they must agree", kTypesKey,
                                 data.types.size(), kTokensKey, data.tokens.size()));
    }
  }
  HUNCH_ASSIGN_OR_RETURN(data.bos, ReadId(file, kBosKey));
  HUNCH_ASSIGN_OR_RETURN(data.eos, ReadId(file, kEosKey));
  HUNCH_ASSIGN_OR_RETURN(data.eot, ReadId(file, kEotKey));
  HUNCH_ASSIGN_OR_RETURN(data.eom, ReadId(file, kEomKey));
  if (file.metadata().find(kAddBosKey) != file.metadata().end()) {
    HUNCH_ASSIGN_OR_RETURN(data.add_bos, file.GetBoolOr(kAddBosKey, false));
  }
  return data;
}

Result<Vocabulary> Vocabulary::Create(const VocabularyData& data) {
  Vocabulary vocabulary;
  vocabulary.model_ = data.model;
  vocabulary.pre_tokenizer_ = FindPreTokenizer(data.pre);
  if (vocabulary.pre_tokenizer_ == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("tokenizer.ggml.pre {} is not supported; known: {}", Quote(data.pre),
                             KnownPreTokenizers())};
  }
  HUNCH_RETURN_IF_ERROR(vocabulary.AddTokens(data));
  HUNCH_RETURN_IF_ERROR(vocabulary.AddMerges(data));
  if (vocabulary.pre_tokenizer_->ignore_merges) {
    HUNCH_RETURN_IF_ERROR(vocabulary.IndexOrdinaryTokens());
  }
  HUNCH_RETURN_IF_ERROR(vocabulary.SetSpecialIds(data));
  return vocabulary;
}

Status Vocabulary::AddTokens(const VocabularyData& data) {
  const size_t count = data.tokens.size();
  if (count == 0 || count > kMaxTokens) {
    return BadFile(
        fmt::format("{} has {} entries; 1 to {} are possible", kTokensKey, count, kMaxTokens));
  }
  if (!data.types.empty() && data.types.size() != count) {
    return BadFile(fmt::format("{} has {} entries, {} has {}", kTypesKey, data.types.size(),
                               kTokensKey, count));
  }
  kinds_.reserve(count);
  offsets_.reserve(count + 1);
  offsets_.push_back(0);
  for (size_t id = 0; id < count; ++id) {
    const std::string& text = data.tokens[id];
    TokenKind kind = TokenKind::kNormal;
    if (!data.types.empty()) {
      HUNCH_ASSIGN_OR_RETURN(kind, KindFromType(data.types[id], id));
    }
    kinds_.push_back(kind);
    if (kind != TokenKind::kUnused && text.empty()) {
      return BadFile(fmt::format("{}[{}] is empty", kTokensKey, id));
    }
    if (arena_.size() + text.size() > kMaxArenaBytes) {
      return BadFile(fmt::format("{}: more than 4 GiB of text", kTokensKey));
    }
    if (kind == TokenKind::kNormal || kind == TokenKind::kByte) {
      // A string outside the alphabet cannot come out of the merges; it is its own text.
      if (!AppendByteLevelDecoded(text, &arena_)) arena_ += text;
    } else if (kind != TokenKind::kUnused) {
      if (text.size() > kMaxMatchedBytes) {
        return BadFile(fmt::format("{}[{}] is a special token of {} bytes; at most {} are possible",
                                   kTokensKey, id, text.size(), kMaxMatchedBytes));
      }
      arena_ += text;
    }
    offsets_.push_back(static_cast<uint32_t>(arena_.size()));
  }
  return Ok{};
}

Status Vocabulary::AddMerges(const VocabularyData& data) {
  HUNCH_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Create(data.tokens, kinds_));
  for (int byte = 0; byte < 256; ++byte) {
    byte_tokens_[byte] = index.FindMergeable(ByteLevelCharacter(static_cast<uint8_t>(byte)));
  }
  if (data.merges.size() > kMaxTokens) {
    return BadFile(fmt::format("{} has {} entries; at most {} are possible", kMergesKey,
                               data.merges.size(), kMaxTokens));
  }
  merges_ = MergeTable(data.merges.size());
  for (size_t rank = 0; rank < data.merges.size(); ++rank) {
    HUNCH_ASSIGN_OR_RETURN(const ResolvedMerge merge, ResolveMerge(index, data.merges[rank], rank));
    switch (merges_.Insert(merge.left, merge.right, {static_cast<uint32_t>(rank), merge.result})) {
      case InsertOutcome::kInserted:
        break;
      case InsertOutcome::kPresent:
        return BadMerge(data.merges[rank], rank, "the same merge stands there before");
      case InsertOutcome::kTooManyCollisions:
        return Collisions(kMergesKey);
    }
  }
  return Ok{};
}

Status Vocabulary::IndexOrdinaryTokens() {
  ordinary_ = StringIndex(kinds_.size());
  const auto bytes_of = [this](TokenId id) { return Bytes(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (kinds_[id] != TokenKind::kNormal && kinds_[id] != TokenKind::kByte) continue;
    // kPresent: two spellings of the same bytes; the lower id is found.
    if (ordinary_.Insert(id, bytes_of) == InsertOutcome::kTooManyCollisions) {
      return Collisions(kTokensKey);
    }
  }
  return Ok{};
}

Status Vocabulary::SetSpecialIds(const VocabularyData& data) {
  const auto check = [&](std::optional<int64_t> id, std::string_view key) -> Result<TokenId> {
    if (!id.has_value()) return TokenId{-1};
    if (*id < 0 || *id >= size()) {
      return BadFile(
          fmt::format("{} is {}, outside the vocabulary of {} tokens", key, *id, size()));
    }
    return static_cast<TokenId>(*id);
  };
  HUNCH_ASSIGN_OR_RETURN(bos_, check(data.bos, kBosKey));
  add_bos_ = data.add_bos.value_or(pre_tokenizer_->default_add_bos && bos_ >= 0);
  if (add_bos_ && bos_ < 0) {
    return BadFile(fmt::format("{} is true, but there is no {}", kAddBosKey, kBosKey));
  }
  HUNCH_ASSIGN_OR_RETURN(const TokenId eos, check(data.eos, kEosKey));
  HUNCH_ASSIGN_OR_RETURN(const TokenId eot, check(data.eot, kEotKey));
  HUNCH_ASSIGN_OR_RETURN(const TokenId eom, check(data.eom, kEomKey));
  for (const TokenId id : {eos, eot, eom}) {
    if (id >= 0) end_tokens_.push_back(id);
  }
  for (TokenId id = 0; id < size(); ++id) {
    if (IsControl(id) &&
        std::find(kEndMarkers.begin(), kEndMarkers.end(), Bytes(id)) != kEndMarkers.end()) {
      end_tokens_.push_back(id);
    }
  }
  std::sort(end_tokens_.begin(), end_tokens_.end());
  end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
  return Ok{};
}

}  // namespace hunch
