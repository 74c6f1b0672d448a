#include "train/learned_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fnv.h"

namespace hunch {
namespace {

constexpr size_t kHoldOutEvery = 8;

}  // namespace

Result<std::unique_ptr<LearnedSet>> LearnedSet::Open(const std::string& folder,
                                                     const SegmentKind& kind, int vocab_size,
                                                     int64_t most_rows, int steps) {
  HUNCH_ASSIGN_OR_RETURN(SegmentReader reader,
                         SegmentReader::Open(folder, kind, vocab_size, most_rows));
  std::unique_ptr<LearnedSet> learned(new LearnedSet(std::move(reader), kind.layout));
  const auto& kept = learned->reader_.texts();
  learned->texts_.reserve(kept.size());  // texts stay where they are
  TrainSet& set = learned->set_;
  set.fingerprint = kFnvStart;
  for (size_t i = 0; i < kept.size(); ++i) {
    TrainText text = {kept[i].temperature, kept[i].prompt, kept[i].tokens};
    if (!IsLongEnough(text, steps)) continue;
    learned->texts_.push_back(std::move(text));
    const PlacedText placed = {&learned->texts_.back(), set.rows};
    learned->by_row_[set.rows] = i;
    set.rows += placed.text->size();
    set.all.push_back(placed);
    const auto bytes = std::as_bytes(std::span(placed.text->tokens));
    set.fingerprint =
        Fnv64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, set.fingerprint);
    // The newest among them: what is said next is like that.
    if ((kept.size() - 1 - i) % kHoldOutEvery == 0) {
      set.held_out.push_back(placed);
    } else {
      set.learned.push_back(placed);
      set.learned_tokens += static_cast<int64_t>(placed.text->answer().size());
    }
  }
  if (set.learned.empty() || set.held_out.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: has {} texts, which is too few; let the server answer more",
                             folder, set.all.size())};
  }
  return learned;
}

Status LearnedSet::Read(const PlacedText& text, std::vector<std::byte>& rows) {
  const auto kept = reader_.texts()[by_row_.at(text.first_row)].rows;
  rows.assign(kept.begin(), kept.end());
  return Ok{};
}

}  // namespace hunch
