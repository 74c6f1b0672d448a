#include "learn/segment_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fnv.h"
#include "weights/fingerprint.h"

namespace hunch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'H', 'U', 'N', 'C', 'H', 'S', 'E', 'G'};
constexpr std::string_view kPrefix = "segment-", kSuffix = ".rows";
constexpr int kSegmentsInCap = 8;

// Little-endian, as everything in these files.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = 1;
  uint32_t hidden = 0;
  uint32_t sources = 0;
  uint32_t unused = 0;
  uint64_t key = 0;
};
static_assert(sizeof(Header) == 32);

struct TextHeader {
  uint32_t tokens = 0;
  uint32_t prompt = 0;
  float temperature = 0;
  uint32_t unused = 0;
  uint64_t checksum = 0;  // of all before it, then of tokens and rows
};
static_assert(sizeof(TextHeader) == 24);

template <typename T>
std::span<const std::byte> AsBytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

uint64_t Hash(std::span<const std::byte> bytes, uint64_t hash = kFnvStart) {
  return Fnv64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, hash);
}

uint64_t ChecksumOf(const TextHeader& header, std::span<const std::byte> body) {
  return Hash(body, Hash(AsBytes(header).first(offsetof(TextHeader, checksum))));
}

Header HeaderOf(const SegmentKind& kind) {
  Header header;
  header.hidden = static_cast<uint32_t>(kind.layout.hidden);
  header.sources = static_cast<uint32_t>(kind.layout.sources);
  header.key = kind.key;
  return header;
}

bool HasKind(std::span<const std::byte> bytes, const SegmentKind& kind) {
  const Header wanted = HeaderOf(kind);
  return bytes.size() >= sizeof(Header) && std::memcmp(bytes.data(), &wanted, sizeof(wanted)) == 0;
}

Error OtherKind(const std::string& path) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}: was kept for another model or a head with other taps; name another "
                      "folder with --learn",
                      path)};
}

// Numbers of the segments in a folder, ascending.
Result<std::vector<uint32_t>> ListSegments(const std::string& folder) {
  std::vector<uint32_t> numbers;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (const auto number = SegmentNumber(at->path().filename().string())) {
      numbers.push_back(*number);
    }
  }
  if (error) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot read the folder {}: {}", folder, error.message())};
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string SegmentPath(const std::string& folder, uint32_t number) {
  return fmt::format("{}/{}{:08}{}", folder, kPrefix, number, kSuffix);
}

}  // namespace

SegmentKind SegmentKindOf(const GgufFile& target, const HeadConfig& head) {
  return {LayoutOf(head),
          Fnv64(fmt::format("{:x} {}", FingerprintOf(target), fmt::join(head.taps, ",")))};
}

std::optional<uint32_t> SegmentNumber(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Result<SegmentWriter> SegmentWriter::Open(const std::string& folder, const SegmentKind& kind,
                                          uint64_t cap) {
  // What users said is nobody else's.
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make the folder {}: {}", folder, std::strerror(errno))};
  }
  HUNCH_ASSIGN_OR_RETURN(AppendFile lock, AppendFile::Open(folder + "/lock", "folder"));
  SegmentWriter writer(folder, kind, cap, std::move(lock));
  HUNCH_ASSIGN_OR_RETURN(const std::vector<uint32_t> numbers, ListSegments(folder));
  for (const uint32_t number : numbers) {
    HUNCH_ASSIGN_OR_RETURN(const AppendFile file,
                           AppendFile::Open(writer.PathOf(number), "segment"));
    Header header;
    const size_t there = std::min<uint64_t>(file.size(), sizeof(header));
    HUNCH_RETURN_IF_ERROR(file.Read(0, std::as_writable_bytes(std::span(&header, 1)).first(there)));
    // One that is shorter was killed at its beginning.
    if (there == sizeof(header) && !HasKind(AsBytes(header), kind)) return OtherKind(file.path());
    writer.there_.push_back({number, file.size()});
    writer.bytes_ += file.size();
  }
  return writer;
}

std::string SegmentWriter::PathOf(uint32_t number) const { return SegmentPath(folder_, number); }

Status SegmentWriter::Begin() {
  file_.reset();
  const uint32_t number = there_.empty() ? 1 : there_.back().number + 1;
  HUNCH_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(PathOf(number), "segment"));
  there_.push_back({number, 0});
  file_.emplace(std::move(file));
  const Header header = HeaderOf(kind_);
  HUNCH_RETURN_IF_ERROR(file_->Append(AsBytes(header)));
  there_.back().bytes = sizeof(header);
  bytes_ += sizeof(header);
  return Ok{};
}

Status SegmentWriter::DropOldest() {
  std::error_code error;
  fs::remove(PathOf(there_.front().number), error);
  if (error) {
    return Error{ErrorCode::kIo, fmt::format("cannot remove {}: {}", PathOf(there_.front().number),
                                             error.message())};
  }
  bytes_ -= there_.front().bytes;
  there_.erase(there_.begin());
  return Ok{};
}

Status SegmentWriter::Add(const LearnedText& text) {
  HUNCH_CHECK_EQ(text.rows.size(), text.tokens.size() * kind_.layout.row_bytes());
  const auto tokens = std::as_bytes(std::span(text.tokens));
  TextHeader header = {.tokens = static_cast<uint32_t>(text.tokens.size()),
                       .prompt = text.prompt,
                       .temperature = text.temperature};
  header.checksum = Hash(text.rows, ChecksumOf(header, tokens));
  const uint64_t size = sizeof(header) + tokens.size() + text.rows.size();
  if (sizeof(Header) + size > cap_ / kSegmentsInCap) return Ok{};
  if (!file_ || there_.back().bytes + size > cap_ / kSegmentsInCap) {
    HUNCH_RETURN_IF_ERROR(Begin());
  }
  while (bytes_ + size > cap_ && there_.size() > 1) HUNCH_RETURN_IF_ERROR(DropOldest());
  record_.clear();
  for (const auto part : {AsBytes(header), tokens, std::span<const std::byte>(text.rows)}) {
    record_.insert(record_.end(), part.begin(), part.end());
  }
  HUNCH_RETURN_IF_ERROR(file_->Append(record_));
  there_.back().bytes += size;
  bytes_ += size;
  return Ok{};
}

std::vector<SegmentReader::Text> SegmentReader::TextsIn(std::span<const std::byte> bytes,
                                                        const SegmentKind& kind, int vocab_size) {
  std::vector<Text> texts;
  if (!HasKind(bytes, kind)) return texts;
  bytes = bytes.subspan(sizeof(Header));
  TextHeader header;
  while (bytes.size() >= sizeof(header)) {
    std::memcpy(&header, bytes.data(), sizeof(header));
    bytes = bytes.subspan(sizeof(header));
    if (header.tokens > kMostLearnedTokens || header.prompt >= header.tokens) break;
    const size_t token_bytes = header.tokens * sizeof(TokenId);
    const size_t row_bytes = header.tokens * kind.layout.row_bytes();
    if (bytes.size() < token_bytes + row_bytes) break;
    const auto body = bytes.first(token_bytes + row_bytes);
    if (ChecksumOf(header, body) != header.checksum) break;
    if (!(header.temperature >= 0) || !std::isfinite(header.temperature)) break;
    Text text = {header.temperature, header.prompt, std::vector<TokenId>(header.tokens),
                 body.subspan(token_bytes)};
    std::memcpy(text.tokens.data(), body.data(), token_bytes);
    if (std::any_of(text.tokens.begin(), text.tokens.end(),
                    [&](TokenId token) { return token < 0 || token >= vocab_size; })) {
      break;
    }
    texts.push_back(std::move(text));
    bytes = bytes.subspan(body.size());
  }
  return texts;
}

Result<SegmentReader> SegmentReader::Open(const std::string& folder, const SegmentKind& kind,
                                          int vocab_size, int64_t most_rows) {
  HUNCH_ASSIGN_OR_RETURN(std::vector<uint32_t> numbers, ListSegments(folder));
  SegmentReader reader;
  int64_t rows = 0;
  for (; !numbers.empty() && rows < most_rows; numbers.pop_back()) {
    const std::string path = SegmentPath(folder, numbers.back());
    auto file = MappedFile::Open(path, "segment");
    // Just begun, or gone meanwhile.
    if (!file.ok() &&
        (file.error().code == ErrorCode::kNotFound || file.error().code == ErrorCode::kBadFile)) {
      continue;
    }
    if (!file.ok()) return file.error();
    if (file->bytes().size() < sizeof(Header)) continue;
    if (!HasKind(file->bytes(), kind)) return OtherKind(path);
    std::vector<Text> texts = TextsIn(file->bytes(), kind, vocab_size);
    for (; !texts.empty() && rows < most_rows; texts.pop_back()) {
      rows += static_cast<int64_t>(texts.back().tokens.size());
      reader.texts_.push_back(std::move(texts.back()));
    }
    reader.files_.push_back(std::move(*file));
  }
  std::reverse(reader.texts_.begin(), reader.texts_.end());
  return reader;
}

}  // namespace hunch
