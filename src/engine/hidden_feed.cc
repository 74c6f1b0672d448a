#include "engine/hidden_feed.h"

#include <algorithm>

#include "base/stopwatch.h"

namespace hunch {

void HiddenFeed::Begin() {
  tapped_.clear();
  sinks_.clear();
  waiting_.clear();
  taps_.clear();
  parts_.clear();
  rows_ = 0;
}

void HiddenFeed::Add(HiddenSink& sink) {
  if (std::find(sinks_.begin(), sinks_.end(), &sink) == sinks_.end()) sinks_.push_back(&sink);
}

std::span<const HiddenTap> HiddenFeed::Taps() {
  for (const HiddenReader* reader : tapped_) {
    taps_.insert(taps_.end(), reader->taps().begin(), reader->taps().end());
  }
  for (const HiddenSink* sink : sinks_) {
    taps_.insert(taps_.end(), sink->taps().begin(), sink->taps().end());
  }
  return taps_;
}

void HiddenFeed::Hand(Speculator& speculator, const HiddenRows& rows) {
  if (!speculator.TakeHidden(rows, tapped_, waiting_)) return;
  parts_.push_back({&speculator, static_cast<int>(rows.rows.size())});
  rows_ += parts_.back().rows;
}

void HiddenFeed::Read() {
  if (parts_.empty()) return;
  const Stopwatch watch;
  for (HiddenReader* reader : waiting_) reader->Read();
  const double seconds_a_row = watch.Seconds() / rows_;
  for (const Part& part : parts_) part.speculator->CountReading(part.rows * seconds_a_row);
}

}  // namespace hunch
