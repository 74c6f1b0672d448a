#include "train/feature_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "base/fnv.h"

namespace hunch {
namespace {

constexpr std::array<char, 8> kMagic = {'H', 'U', 'N', 'C', 'H', 'F', 'E', 'A'};

// Little-endian, as everything in these files.
struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = 1;
  uint32_t hidden = 0;
  uint32_t sources = 0;
  uint32_t unused = 0;
  uint64_t key = 0;
  uint64_t checksum = 0;  // of all before it
};
static_assert(sizeof(Header) == 40);

}  // namespace

Result<FeatureStore> FeatureStore::Open(const std::string& path, const FeatureLayout& layout,
                                        uint64_t key) {
  HUNCH_ASSIGN_OR_RETURN(AppendFile file, AppendFile::Open(path, "feature file"));
  FeatureStore store(std::move(file), layout);
  Header wanted;
  wanted.hidden = static_cast<uint32_t>(layout.hidden);
  wanted.sources = static_cast<uint32_t>(layout.sources);
  wanted.key = key;
  const auto bytes = std::as_bytes(std::span(&wanted, 1));
  wanted.checksum =
      Fnv64({reinterpret_cast<const char*>(bytes.data()), offsetof(Header, checksum)});
  Header found;
  const size_t there = std::min<uint64_t>(store.file_.size(), sizeof(found));
  HUNCH_RETURN_IF_ERROR(
      store.file_.Read(0, std::as_writable_bytes(std::span(&found, 1)).first(there)));
  if (std::memcmp(&found, kMagic.data(), std::min(there, kMagic.size())) != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: is no feature file; name another folder with --work", path)};
  }
  if (there < sizeof(found) || std::memcmp(&found, &wanted, sizeof(found)) != 0) {
    HUNCH_RETURN_IF_ERROR(store.file_.Cut(0));
    HUNCH_RETURN_IF_ERROR(store.file_.Append(bytes));
  }
  HUNCH_RETURN_IF_ERROR(store.Cut(store.rows()));
  return store;
}

int64_t FeatureStore::RowsIn(uint64_t bytes, const FeatureLayout& layout) {
  if (bytes < sizeof(Header)) return 0;
  return static_cast<int64_t>((bytes - sizeof(Header)) / layout.row_bytes());
}

int64_t FeatureStore::rows() const { return RowsIn(file_.size(), layout_); }

Status FeatureStore::Append(std::span<const std::byte> rows) {
  HUNCH_CHECK_EQ(rows.size() % layout_.row_bytes(), 0u);
  return file_.Append(rows);
}

Status FeatureStore::Cut(int64_t rows) {
  return file_.Cut(sizeof(Header) + static_cast<uint64_t>(rows) * layout_.row_bytes());
}

Status FeatureStore::Read(int64_t first_row, std::span<std::byte> out) const {
  HUNCH_CHECK_EQ(out.size() % layout_.row_bytes(), 0u);
  return file_.Read(sizeof(Header) + static_cast<uint64_t>(first_row) * layout_.row_bytes(), out);
}

}  // namespace hunch
