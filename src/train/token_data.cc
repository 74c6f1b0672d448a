#include "train/token_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/fnv.h"

namespace hunch {
namespace {

constexpr std::array<char, 8> kMagic = {'H', 'U', 'N', 'C', 'H', 'T', 'O', 'K'};
constexpr uint32_t kVersion = 1;
// Far more than any context; it keeps a damaged length from asking for absurd memory.
constexpr uint32_t kMostTokens = 1 << 20;

// Little-endian, as everything in these files.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t vocabulary_size;
  uint64_t vocabulary;
  uint64_t recipe;
  uint64_t checksum;  // of all before it
};
static_assert(sizeof(Header) == 40);

struct TextHeader {
  uint32_t request;
  uint32_t tokens;
  uint32_t prompt;
  float temperature;
  uint64_t checksum;  // of all before it, then of the tokens
};
static_assert(sizeof(TextHeader) == 24);

std::string_view Chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t ChecksumOf(const Header& header) {
  return Fnv64(Chars(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum))));
}

uint64_t ChecksumOf(const TextHeader& header, std::span<const TokenId> tokens) {
  const auto bytes = std::as_bytes(std::span(&header, 1)).first(offsetof(TextHeader, checksum));
  return Fnv64(Chars(std::as_bytes(tokens)), Fnv64(Chars(bytes)));
}

}  // namespace

Result<TokenData> TokenData::Open(const std::string& path, const VocabularyId& vocabulary,
                                  uint64_t recipe) {
  HUNCH_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path, "token file"));
  TokenData data(std::move(file));
  Header wanted = {.magic = kMagic,
                   .version = kVersion,
                   .vocabulary_size = static_cast<uint32_t>(vocabulary.size),
                   .vocabulary = vocabulary.fingerprint,
                   .recipe = recipe,
                   .checksum = 0};
  wanted.checksum = ChecksumOf(wanted);
  const auto wanted_bytes = std::as_bytes(std::span(&wanted, 1));
  Header found = {};
  const size_t there = std::min<uint64_t>(data.file_.size(), sizeof(found));
  HUNCH_RETURN_IF_ERROR(
      data.file_.Read(0, std::as_writable_bytes(std::span(&found, 1)).first(there)));
  if (std::memcmp(&found, &wanted, there) != 0) {
    const bool ours = there == sizeof(found) && found.magic == kMagic &&
                      found.version == kVersion && found.checksum == ChecksumOf(found);
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {}; delete it, or name another folder with --work", path,
                             ours ? "was made with another model or other settings"
                                  : "is no token file of this version")};
  }
  if (there < sizeof(found)) {  // new, or killed at its very beginning
    HUNCH_RETURN_IF_ERROR(data.file_.Cut(0));
    HUNCH_RETURN_IF_ERROR(data.file_.Append(wanted_bytes));
    return data;
  }
  HUNCH_RETURN_IF_ERROR(data.ReadTexts(vocabulary.size));
  return data;
}

Status TokenData::ReadTexts(int vocab_size) {
  const auto bad = [&](uint64_t at) {
    return Error{ErrorCode::kBadFile,
                 fmt::format("{}: is damaged at byte {}; delete it", file_.path(), at)};
  };
  uint64_t at = sizeof(Header);
  while (at < file_.size()) {
    const uint64_t left = file_.size() - at;
    TextHeader header;
    if (left < sizeof(header)) break;
    HUNCH_RETURN_IF_ERROR(file_.Read(at, std::as_writable_bytes(std::span(&header, 1))));
    if (header.tokens > kMostTokens || header.prompt > header.tokens) return bad(at);
    const uint64_t size = sizeof(header) + uint64_t{header.tokens} * sizeof(TokenId);
    if (left < size) break;
    TrainText text = {header.temperature, header.prompt, std::vector<TokenId>(header.tokens)};
    HUNCH_RETURN_IF_ERROR(
        file_.Read(at + sizeof(header), std::as_writable_bytes(std::span(text.tokens))));
    if (header.checksum != ChecksumOf(header, text.tokens) || Has(header.request)) return bad(at);
    for (const TokenId token : text.tokens) {
      if (token < 0 || token >= vocab_size) return bad(at);
    }
    Keep(header.request, std::move(text));
    at += size;
  }
  if (at < file_.size()) return file_.Cut(at);
  return Ok{};
}

void TokenData::Keep(uint32_t request, TrainText text) {
  answer_tokens_ += static_cast<int64_t>(text.answer().size());
  texts_.emplace(request, std::move(text));
}

Status TokenData::Add(uint32_t request, TrainText text) {
  HUNCH_CHECK(!Has(request) && text.prompt <= text.tokens.size());
  HUNCH_CHECK_LE(text.tokens.size(), kMostTokens);
  TextHeader header = {.request = request,
                       .tokens = static_cast<uint32_t>(text.tokens.size()),
                       .prompt = text.prompt,
                       .temperature = text.temperature,
                       .checksum = 0};
  header.checksum = ChecksumOf(header, text.tokens);
  const auto head = std::as_bytes(std::span(&header, 1));
  const auto tokens = std::as_bytes(std::span(text.tokens));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), tokens.begin(), tokens.end());
  HUNCH_RETURN_IF_ERROR(file_.Append(bytes));
  Keep(request, std::move(text));
  return Ok{};
}

}  // namespace hunch
