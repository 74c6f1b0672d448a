#include "session/stop_matcher.h"

#include <algorithm>

#include "base/check.h"

namespace hunch {

bool StopMatcher::Push(std::string_view piece, bool check) {
  HUNCH_CHECK(!stopped_);
  const size_t before = text_.size();
  text_ += piece;
  if (!check) return false;
  size_t cut = std::string::npos;
  for (const std::string& stop : stops_) {
    // A match that ends in the new piece begins at most stop.size() - 1 before it.
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    cut = std::min(cut, text_.find(stop, from));
  }
  if (cut == std::string::npos) return false;
  text_.resize(cut);
  stopped_ = true;
  return true;
}

size_t StopMatcher::HeldBack() const {
  size_t held = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, text_.size()); length > held; --length) {
      if (text_.compare(text_.size() - length, length, stop, 0, length) == 0) held = length;
    }
  }
  return held;
}

std::string StopMatcher::TakeShowable() {
  const size_t end = stopped_ ? text_.size() : text_.size() - HeldBack();
  // A stop string may begin in the middle of a character's bytes only if it is not valid UTF-8
  // itself, which requests cannot be; so `end` never splits a character.
  if (end <= shown_) return "";
  std::string piece = text_.substr(shown_, end - shown_);
  shown_ = end;
  return piece;
}

std::string StopMatcher::TakeRest() {
  if (text_.size() <= shown_) return "";
  std::string piece = text_.substr(shown_);
  shown_ = text_.size();
  return piece;
}

}  // namespace hunch
