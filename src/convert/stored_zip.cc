#include "convert/stored_zip.h"

#include <fmt/format.h>

#include <cstdint>

#include "weights/byte_cursor.h"

namespace hunch {
namespace {

// PKWARE's APPNOTE 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3.
constexpr uint32_t kLocalHeader = 0x04034B50;
constexpr uint32_t kDirectoryEntry = 0x02014B50;
constexpr uint32_t kDirectoryEnd = 0x06054B50;
constexpr uint32_t kDirectoryEnd64 = 0x06064B50;
constexpr uint32_t kDirectoryEnd64Locator = 0x07064B50;
constexpr size_t kDirectoryEndBytes = 22, kLocatorBytes = 20, kDirectoryEntryBytes = 46;
constexpr uint16_t kEncrypted = 1, kStored = 0, kExtra64 = 1;
// A field that says so is in a 64-bit one elsewhere.
constexpr uint16_t kElsewhere16 = 0xFFFF;
constexpr uint32_t kElsewhere32 = 0xFFFFFFFF;

struct Directory {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

struct Entry {
  std::string_view name;
  uint16_t flags = 0, method = 0;
  uint64_t stored = 0, size = 0, offset = 0;  // offset: of its local header
};

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  Result<ZipEntries> Read() {
    HUNCH_ASSIGN_OR_RETURN(const Directory directory, FindDirectory());
    if (directory.offset > bytes_.size() || directory.bytes > bytes_.size() - directory.offset) {
      return Bad("its directory lies outside of it");
    }
    ByteCursor cursor(bytes_.subspan(directory.offset, directory.bytes));
    if (!cursor.CanHold(directory.entries, kDirectoryEntryBytes)) {
      return Bad(fmt::format("{} entries do not fit into its directory", directory.entries));
    }
    ZipEntries entries;
    for (uint64_t i = 0; i < directory.entries; ++i) {
      Entry entry;
      if (!ReadEntry(cursor, entry)) return Bad("its directory is damaged");
      HUNCH_ASSIGN_OR_RETURN(const auto data, DataOf(entry, directory.offset));
      if (!entries.emplace(entry.name, data).second) {
        return Bad(fmt::format("entry {} is there twice", entry.name));
      }
    }
    return entries;
  }

 private:
  Error Bad(std::string_view what) const {
    return {ErrorCode::kBadFile, fmt::format("{}: {}", name_, what)};
  }

  Result<Directory> FindDirectory() const {
    const Error none =
        Bad("it has no zip directory at its end: it is cut short, or torch did not "
            "write it");
    if (bytes_.size() < kDirectoryEndBytes) return none;
    const size_t end = bytes_.size() - kDirectoryEndBytes;
    ByteCursor cursor(bytes_.subspan(end));
    uint32_t signature, bytes, offset;
    uint16_t disks[2], entries[2], comment;
    const bool read = cursor.Read(&signature) && cursor.Read(&disks[0]) && cursor.Read(&disks[1]) &&
                      cursor.Read(&entries[0]) && cursor.Read(&entries[1]) && cursor.Read(&bytes) &&
                      cursor.Read(&offset) && cursor.Read(&comment);
    if (!read || signature != kDirectoryEnd || comment != 0) return none;
    if (entries[1] != kElsewhere16 && bytes != kElsewhere32 && offset != kElsewhere32) {
      return Directory{entries[1], bytes, offset};
    }
    return FindDirectory64(end);
  }

  Result<Directory> FindDirectory64(size_t end) const {
    const Error bad = Bad("its 64-bit zip directory is damaged");
    if (end < kLocatorBytes) return bad;
    ByteCursor locator(bytes_.subspan(end - kLocatorBytes));
    uint32_t signature, disk;
    uint64_t at;
    if (!locator.Read(&signature) || !locator.Read(&disk) || !locator.Read(&at) ||
        signature != kDirectoryEnd64Locator || at > end) {
      return bad;
    }
    ByteCursor cursor(bytes_.subspan(at));
    std::span<const std::byte> skipped;
    uint64_t on_disk;
    Directory directory;
    // Its own size, two versions, two disks.
    const bool read = cursor.Read(&signature) && cursor.ReadBytes(20, &skipped) &&
                      cursor.Read(&on_disk) && cursor.Read(&directory.entries) &&
                      cursor.Read(&directory.bytes) && cursor.Read(&directory.offset);
    if (!read || signature != kDirectoryEnd64) return bad;
    return directory;
  }

  static bool ReadEntry(ByteCursor& cursor, Entry& entry) {
    uint32_t signature, stored, size, offset;
    uint16_t name_bytes, extra_bytes, comment_bytes;
    std::span<const std::byte> skipped, name, extra;
    // Skipped: two versions; time, date and CRC; disk and attributes.
    if (!cursor.Read(&signature) || signature != kDirectoryEntry ||
        !cursor.ReadBytes(4, &skipped) || !cursor.Read(&entry.flags) ||
        !cursor.Read(&entry.method) || !cursor.ReadBytes(8, &skipped) || !cursor.Read(&stored) ||
        !cursor.Read(&size) || !cursor.Read(&name_bytes) || !cursor.Read(&extra_bytes) ||
        !cursor.Read(&comment_bytes) || !cursor.ReadBytes(8, &skipped) || !cursor.Read(&offset) ||
        !cursor.ReadBytes(name_bytes, &name) || !cursor.ReadBytes(extra_bytes, &extra) ||
        !cursor.ReadBytes(comment_bytes, &skipped)) {
      return false;
    }
    entry.name = {reinterpret_cast<const char*>(name.data()), name.size()};
    entry.size = size;
    entry.stored = stored;
    entry.offset = offset;
    return ReadExtra(extra, entry);
  }

  // Puts the 64-bit numbers in the place of those that say so.
  static bool ReadExtra(std::span<const std::byte> extra, Entry& entry) {
    ByteCursor cursor(extra);
    uint16_t id, length;
    std::span<const std::byte> field;
    while (cursor.left() > 0) {
      if (!cursor.Read(&id) || !cursor.Read(&length) || !cursor.ReadBytes(length, &field)) {
        return false;
      }
      if (id != kExtra64) continue;
      ByteCursor wide(field);
      for (uint64_t* number : {&entry.size, &entry.stored, &entry.offset}) {
        if (*number == kElsewhere32 && !wide.Read(number)) return false;
      }
      return true;
    }
    return true;
  }

  // Entries lie before the directory.
  Result<std::span<const std::byte>> DataOf(const Entry& entry, uint64_t directory) const {
    if ((entry.flags & kEncrypted) != 0 || entry.method != kStored || entry.stored != entry.size) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: entry {} is compressed or encrypted, which torch never does",
                               name_, entry.name)};
    }
    const Error bad =
        Bad(fmt::format("entry {} does not lie in it as its directory says", entry.name));
    if (entry.offset > directory) return bad;
    ByteCursor cursor(bytes_.subspan(entry.offset, directory - entry.offset));
    uint32_t signature;
    uint16_t name_bytes, extra_bytes;
    std::span<const std::byte> skipped, name, data;
    // Skipped: what the directory says too. Where the data begins only this header tells.
    if (!cursor.Read(&signature) || signature != kLocalHeader || !cursor.ReadBytes(22, &skipped) ||
        !cursor.Read(&name_bytes) || !cursor.Read(&extra_bytes) ||
        !cursor.ReadBytes(name_bytes, &name) || !cursor.ReadBytes(extra_bytes, &skipped) ||
        !cursor.ReadBytes(entry.size, &data) ||
        std::string_view(reinterpret_cast<const char*>(name.data()), name.size()) != entry.name) {
      return bad;
    }
    return data;
  }

  const std::span<const std::byte> bytes_;
  const std::string_view name_;
};

}  // namespace

bool BeginsAsZip(std::span<const std::byte> bytes) {
  uint32_t signature;
  return ByteCursor(bytes).Read(&signature) && signature == kLocalHeader;
}

Result<ZipEntries> ParseStoredZip(std::span<const std::byte> bytes, std::string_view name) {
  return ZipReader(bytes, name).Read();
}

}  // namespace hunch
