#include "draft/ngram_cache_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hunch {
namespace {

using Slot = NgramTable::Slot;
using Branch = NgramTable::Branch;

constexpr size_t kHeaderBytes = 48 + 3 * sizeof(uint64_t);
constexpr size_t kFewestEntries = 1024;

// A free slot at least, and a third of them so that looking ends soon.
uint64_t SlotsFor(uint64_t contexts) { return contexts + contexts / 2 + 1; }

uint64_t FileBytes(uint64_t contexts, uint64_t branches) {
  return kHeaderBytes + SlotsFor(contexts) * sizeof(Slot) + branches * sizeof(Branch);
}

// Calls visit(first, last, followed) for each context's run of sorted entries.
template <typename Entry, typename Visit>
void ForEachContext(std::span<const Entry> entries, const Visit& visit) {
  for (size_t first = 0, last = 0; first < entries.size(); first = last) {
    uint64_t followed = 0;
    for (; last < entries.size() && entries[last].context == entries[first].context; ++last) {
      followed += entries[last].count;
    }
    visit(first, last,
          static_cast<uint32_t>(std::min<uint64_t>(followed, NgramTable::kMostFollowed)));
  }
}

}  // namespace

NgramCacheBuilder::NgramCacheBuilder(const NgramCacheOptions& options) : options_(options) {
  options_.max_entries = std::max(options_.max_entries, kFewestEntries);
}

void NgramCacheBuilder::Add(std::span<const TokenId> tokens) {
  for (size_t end = 0; end < tokens.size(); ++end) {
    lowest_ = std::min(lowest_, tokens[end]);
    highest_ = std::max(highest_, tokens[end]);
    for (size_t n = NgramTable::kShortest; n <= NgramTable::kLongest && n <= end; ++n) {
      entries_.push_back({NgramTable::Hash(tokens.subspan(end - n, n)), tokens[end], 1});
    }
    // Half as many again, so that sorting is paid for by many additions.
    if (entries_.size() > options_.max_entries + options_.max_entries / 2) Compact();
  }
}

// Sorts, adds up, and drops the rarest until at most max_entries are left.
void NgramCacheBuilder::Compact() {
  const auto by_key = [](const Entry& a, const Entry& b) {
    return a.context != b.context ? a.context < b.context : a.token < b.token;
  };
  const auto middle = entries_.begin() + static_cast<ptrdiff_t>(sorted_);
  std::sort(middle, entries_.end(), by_key);
  std::inplace_merge(entries_.begin(), middle, entries_.end(), by_key);
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (kept > 0 && entries_[kept - 1].context == entry.context &&
        entries_[kept - 1].token == entry.token) {
      uint32_t& count = entries_[kept - 1].count;
      count = std::min(NgramTable::kMostFollowed, count + entry.count);
    } else {
      entries_[kept++] = entry;
    }
  }
  entries_.resize(kept);
  for (uint32_t rarest = 1; entries_.size() > options_.max_entries; rarest *= 2) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.count <= rarest; });
  }
  sorted_ = entries_.size();
}

// Contexts that were followed less often do not fit into the file.
uint32_t NgramCacheBuilder::LeastFollowed() const {
  for (uint32_t least = 1;; least += least / 4 + 1) {
    uint64_t contexts = 0, branches = 0;
    ForEachContext(std::span(entries_), [&](size_t first, size_t last, uint32_t followed) {
      if (followed < least) return;
      ++contexts;
      branches += std::min<size_t>(last - first, NgramTable::kBranches);
    });
    if (contexts == 0 || (FileBytes(contexts, branches) <= options_.max_file_bytes &&
                          SlotsFor(contexts) <= NgramTable::kMostSlots)) {
      return least;
    }
  }
}

NgramCacheBuilder::Tables NgramCacheBuilder::MakeTables() const {
  Tables tables;
  std::vector<Slot> contexts;
  std::vector<Entry> best;
  const uint32_t least = LeastFollowed();
  ForEachContext(std::span(entries_), [&](size_t first, size_t last, uint32_t followed) {
    if (followed < least) return;
    best.assign(entries_.begin() + static_cast<ptrdiff_t>(first),
                entries_.begin() + static_cast<ptrdiff_t>(last));
    std::stable_sort(best.begin(), best.end(),
                     [](const Entry& a, const Entry& b) { return a.count > b.count; });
    if (best.size() > NgramTable::kBranches) best.resize(NgramTable::kBranches);
    contexts.push_back({best[0].context, static_cast<uint32_t>(tables.branches.size()),
                        followed << 3 | static_cast<uint32_t>(best.size())});
    for (const Entry& entry : best) tables.branches.push_back({entry.token, entry.count});
  });
  tables.contexts = contexts.size();
  tables.slots.resize(SlotsFor(contexts.size()));
  for (const Slot& slot : contexts) {
    uint64_t at = NgramTable::Home(slot.hash, tables.slots.size());
    while (tables.slots[at].hash != 0) at = at + 1 == tables.slots.size() ? 0 : at + 1;
    tables.slots[at] = slot;
  }
  return tables;
}

Status NgramCacheBuilder::Write(const std::string& path, const VocabularyId& vocabulary) {
  if (lowest_ < 0 || highest_ >= vocabulary.size) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: token id {} is not of the vocabulary of {} tokens", path,
                             lowest_ < 0 ? lowest_ : highest_, vocabulary.size)};
  }
  if (options_.max_file_bytes < FileBytes(0, 0)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: a table takes at least {} bytes; allow more than {}", path,
                             FileBytes(0, 0), options_.max_file_bytes)};
  }
  Compact();
  const Tables tables = MakeTables();
  const std::array<uint64_t, 3> counts = {tables.slots.size(), tables.contexts,
                                          tables.branches.size()};
  const std::array<std::span<const std::byte>, 3> parts = {
      std::as_bytes(std::span(counts)), std::as_bytes(std::span(tables.slots)),
      std::as_bytes(std::span(tables.branches))};
  return TableFile::Write(path, NgramTable::kKind, vocabulary, parts);
}

Status BuildNgramCache(std::span<const std::vector<TokenId>> streams, const std::string& path,
                       const VocabularyId& vocabulary, const NgramCacheOptions& options) {
  NgramCacheBuilder builder(options);
  for (const std::vector<TokenId>& stream : streams) builder.Add(stream);
  return builder.Write(path, vocabulary);
}

}  // namespace hunch
