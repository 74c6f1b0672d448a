#include "draft/table_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "weights/temporary_file.h"

namespace hunch {
namespace {

// Little-endian, as everything in these files.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t vocabulary_size;
  uint64_t vocabulary;
  uint64_t payload_bytes;
  uint64_t payload_checksum;
  uint64_t header_checksum;  // of all before it
};
static_assert(sizeof(Header) == 48);
constexpr size_t kCheckedHeader = offsetof(Header, header_checksum);

// Takes bytes in any cuts, eight at a time.
class Checksum {
 public:
  void Add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min(sizeof(word_) - filled_, bytes.size());
      std::memcpy(reinterpret_cast<char*>(&word_) + filled_, bytes.data(), taken);
      filled_ += taken;
      length_ += taken;
      bytes = bytes.subspan(taken);
      if (filled_ == sizeof(word_)) Mix();
    }
  }
  uint64_t Value() {
    if (filled_ > 0) Mix();
    word_ = length_;
    Mix();
    return sum_;
  }

 private:
  void Mix() {
    sum_ = (sum_ ^ word_) * 0x9E3779B97F4A7C15ull;
    sum_ ^= sum_ >> 32;
    word_ = 0;
    filled_ = 0;
  }
  uint64_t sum_ = 0, word_ = 0, length_ = 0;
  size_t filled_ = 0;
};

uint64_t HeaderChecksum(const Header& header) {
  Checksum sum;
  sum.Add(std::as_bytes(std::span(&header, 1)).first(kCheckedHeader));
  return sum.Value();
}

}  // namespace

Error TableFile::Bad(std::string_view what) const {
  return {ErrorCode::kBadFile, fmt::format("{}: {}; write the file again", name_, what)};
}

Result<TableFile> TableFile::Parse(std::span<const std::byte> bytes, std::string name,
                                   const TableKind& kind, const VocabularyId& vocabulary) {
  TableFile file;
  file.name_ = std::move(name);
  Header header;
  if (bytes.size() < sizeof(header)) {
    return file.Bad(fmt::format("too short for a {}", kind.name));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  HUNCH_CHECK_EQ(kind.magic.size(), header.magic.size());
  if (!std::equal(kind.magic.begin(), kind.magic.end(), header.magic.begin())) {
    return file.Bad(fmt::format("not a {}", kind.name));
  }
  if (header.header_checksum != HeaderChecksum(header)) return file.Bad("the header is damaged");
  if (header.version != kind.version) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: a {} of version {}; this program reads version {}: write the "
                             "file again",
                             file.name_, kind.name, header.version, kind.version)};
  }
  if (header.vocabulary != vocabulary.fingerprint ||
      header.vocabulary_size != static_cast<uint32_t>(vocabulary.size)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: this {} is of another model's vocabulary; make one for this "
                             "model",
                             file.name_, kind.name)};
  }
  file.payload_ = bytes.subspan(sizeof(header));
  if (header.payload_bytes != file.payload_.size()) {
    return file.Bad(fmt::format("{} bytes follow the header where it says {}", file.payload_.size(),
                                header.payload_bytes));
  }
  Checksum sum;
  sum.Add(file.payload_);
  if (header.payload_checksum != sum.Value()) return file.Bad("the contents are damaged");
  return file;
}

TableFile TableFile::OfPayload(std::span<const std::byte> payload, std::string name) {
  TableFile file;
  file.name_ = std::move(name);
  file.payload_ = payload;
  return file;
}

Result<TableFile> TableFile::Open(const std::string& path, const TableKind& kind,
                                  const VocabularyId& vocabulary) {
  HUNCH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path, kind.name));
  HUNCH_ASSIGN_OR_RETURN(TableFile file, Parse(mapped.bytes(), path, kind, vocabulary));
  file.file_ = std::move(mapped);
  return file;
}

Status TableFile::Write(const std::string& path, const TableKind& kind,
                        const VocabularyId& vocabulary,
                        std::span<const std::span<const std::byte>> parts) {
  Checksum sum;
  Header header = {};
  HUNCH_CHECK_EQ(kind.magic.size(), header.magic.size());
  std::copy(kind.magic.begin(), kind.magic.end(), header.magic.begin());
  header.version = kind.version;
  header.vocabulary_size = static_cast<uint32_t>(vocabulary.size);
  header.vocabulary = vocabulary.fingerprint;
  for (const auto part : parts) {
    sum.Add(part);
    header.payload_bytes += part.size();
  }
  header.payload_checksum = sum.Value();
  header.header_checksum = HeaderChecksum(header);
  TemporaryFile file(path);
  file.Write(std::as_bytes(std::span(&header, 1)));
  for (const auto part : parts) file.Write(part);
  file.MoveIntoPlace();
  if (!file.ok()) return file.Failure();
  return Ok{};
}

}  // namespace hunch
