#include "session/corpus.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "draft/ngram_cache_builder.h"
#include "model/token_list.h"
#include "weights/temporary_file.h"

namespace hunch {
namespace {

constexpr size_t kPiece = 1 << 20;

Error CannotRead(const std::string& path, std::string_view why) {
  return {ErrorCode::kNotFound, fmt::format("{}: {}", path, why)};
}

uint64_t Mixed(uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3ull;
  return hash;
}

// Before minutes of reading and not after them.
Status CheckWritable(const std::string& path) {
  const TemporaryFile trial(path);
  if (!trial.ok()) return trial.Failure();
  return Ok{};
}

}  // namespace

VocabularyId VocabularyIdOf(const Tokenizer& tokenizer) {
  uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a
  for (TokenId token = 0; token < tokenizer.vocab_size(); ++token) {
    hash = Mixed(hash, tokenizer.TokenBytes(token));
    // No token's bytes hold this separator alone: it tells "ab" "c" from "a" "bc".
    hash = Mixed(hash, tokenizer.IsSpecial(token) ? std::string_view("\xFF\x01", 2)
                                                  : std::string_view("\xFF\x00", 2));
  }
  return {hash, tokenizer.vocab_size()};
}

Result<CorpusCount> ReadCorpus(const Tokenizer& tokenizer, std::span<const std::string> files,
                               const OnCorpus& on_corpus,
                               const std::function<void(std::span<const TokenId>)>& on_text) {
  int64_t total = 0;
  for (const std::string& path : files) {
    std::error_code error;
    const auto kind = std::filesystem::status(path, error).type();
    if (!error && kind != std::filesystem::file_type::regular) {
      return CannotRead(path, "not a regular file; name text files");
    }
    const uintmax_t size = std::filesystem::file_size(path, error);
    if (error) return CannotRead(path, error.message());
    total += static_cast<int64_t>(size);
  }
  if (total == 0)
    return Error{ErrorCode::kInvalidArgument, "the files are empty: nothing to count"};
  CorpusCount count;
  std::string piece;
  const auto use = [&](size_t length) {
    const std::vector<TokenId> tokens =
        tokenizer.Encode(std::string_view(piece).substr(0, length), false);
    on_text(tokens);
    count.tokens += static_cast<int64_t>(tokens.size());
    count.bytes += static_cast<int64_t>(length);
    piece.erase(0, length);
    return on_corpus == nullptr || on_corpus(count.bytes, total);
  };
  for (const std::string& path : files) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) return CannotRead(path, std::strerror(errno));
    piece.clear();
    bool more = true;
    while (more) {
      const size_t kept = piece.size();
      piece.resize(kPiece);
      in.read(piece.data() + kept, static_cast<std::streamsize>(kPiece - kept));
      piece.resize(kept + static_cast<size_t>(in.gcount()));
      more = static_cast<bool>(in);
      if (in.bad()) return CannotRead(path, "cannot be read to its end");
      const size_t line = piece.rfind('\n');
      const size_t length = !more || line == std::string::npos ? piece.size() : line + 1;
      if (length > 0 && !use(length)) return Error{ErrorCode::kInternal, "stopped"};
    }
  }
  return count;
}

Result<CorpusCount> BuildNgramFile(const std::string& model, std::span<const std::string> files,
                                   const std::string& out, const OnCorpus& on_corpus) {
  HUNCH_RETURN_IF_ERROR(CheckWritable(out));
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(model));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  NgramCacheBuilder builder;
  HUNCH_ASSIGN_OR_RETURN(const CorpusCount count,
                         ReadCorpus(*tokenizer, files, on_corpus,
                                    [&](std::span<const TokenId> text) { builder.Add(text); }));
  HUNCH_RETURN_IF_ERROR(builder.Write(out, VocabularyIdOf(*tokenizer)));
  return count;
}

Result<CorpusCount> WriteFrequentTokens(const std::string& model,
                                        std::span<const std::string> files, int size,
                                        const std::string& out, const OnCorpus& on_corpus) {
  HUNCH_RETURN_IF_ERROR(CheckWritable(out));
  HUNCH_ASSIGN_OR_RETURN(const auto file, GgufFile::Open(model));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  std::vector<int64_t> counts(tokenizer->vocab_size());
  HUNCH_ASSIGN_OR_RETURN(const CorpusCount count, ReadCorpus(*tokenizer, files, on_corpus,
                                                             [&](std::span<const TokenId> text) {
                                                               for (const TokenId token : text)
                                                                 ++counts[token];
                                                             }));
  const std::vector<TokenId> tokens = MostFrequentTokens(counts, size, tokenizer->end_tokens());
  const std::string text = TokenListText(tokens, tokenizer->vocab_size());
  TemporaryFile list(out);
  list.Write(std::as_bytes(std::span(text)));
  list.MoveIntoPlace();
  if (!list.ok()) return list.Failure();
  return count;
}

}  // namespace hunch
