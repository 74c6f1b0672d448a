#include "train/features.h"

#include <algorithm>
#include <utility>

namespace hunch {
namespace {

// Where a text's rows end.
int64_t EndOf(const PlacedText& placed) { return placed.first_row + placed.text->size(); }

}  // namespace

Result<std::unique_ptr<Features>> Features::Open(const std::string& path,
                                                 const FeatureLayout& layout, uint64_t key,
                                                 uint64_t cap, MakeReader make_reader) {
  HUNCH_ASSIGN_OR_RETURN(FeatureStore store, FeatureStore::Open(path, layout, key));
  return std::unique_ptr<Features>(
      new Features(std::move(store), FeatureStore::RowsIn(cap, layout), std::move(make_reader)));
}

Result<TapReader*> Features::Reader() {
  if (reader_ == nullptr) {
    HUNCH_ASSIGN_OR_RETURN(reader_, make_reader_());
  }
  return reader_.get();
}

Result<bool> Features::Fill(std::span<const PlacedText> texts, const OnFeatures& on_progress) {
  int64_t there = 0;  // rows of whole texts
  int64_t all = 0;    // that shall be there
  std::vector<std::span<const TokenId>> wanted;
  for (const PlacedText& placed : texts) {
    if (EndOf(placed) > most_rows_) break;
    all = EndOf(placed);
    if (EndOf(placed) <= store_.rows()) {
      there = EndOf(placed);
    } else {
      wanted.push_back(placed.text->tokens);
    }
  }
  if (wanted.empty()) return true;
  HUNCH_RETURN_IF_ERROR(store_.Cut(there));
  HUNCH_ASSIGN_OR_RETURN(TapReader * reader, Reader());
  return reader->Read(wanted, [&](std::span<const std::byte> rows) -> Result<bool> {
    HUNCH_RETURN_IF_ERROR(store_.Append(rows));
    return on_progress == nullptr || on_progress(store_.rows(), all);
  });
}

Status Features::Read(const PlacedText& placed, std::vector<std::byte>& rows) {
  const size_t bytes = static_cast<size_t>(placed.text->size()) * layout().row_bytes();
  if (EndOf(placed) <= store_.rows()) {
    rows.resize(bytes);
    return store_.Read(placed.first_row, rows);
  }
  rows.clear();
  HUNCH_ASSIGN_OR_RETURN(TapReader * reader, Reader());
  const std::span<const TokenId> tokens = placed.text->tokens;
  HUNCH_ASSIGN_OR_RETURN(const bool read,
                         reader->Read({&tokens, 1}, [&](std::span<const std::byte> pass) {
                           rows.insert(rows.end(), pass.begin(), pass.end());
                           return Result<bool>(true);
                         }));
  HUNCH_CHECK(read && rows.size() == bytes);
  return Ok{};
}

}  // namespace hunch
