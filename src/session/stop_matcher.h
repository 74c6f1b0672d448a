// Finds stop strings in text that grows, and tells what may be shown already: the end of the text
// that could still become a stop string is held back.
#ifndef HUNCH_SESSION_STOP_MATCHER_H_
#define HUNCH_SESSION_STOP_MATCHER_H_

#include <string>
#include <string_view>
#include <vector>

namespace hunch {

class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Adds text. True when a stop string is complete: text() is then cut before the earliest one, and
  // nothing more may be added. With `check` off (min_tokens is not reached, or the output is over)
  // nothing stops here.
  bool Push(std::string_view piece, bool check);
  const std::string& text() const { return text_; }
  // Text that became certain since the last call.
  std::string TakeShowable();
  // The held-back tail too: the output is over.
  std::string TakeRest();

 private:
  // Length of the longest suffix of the text that a stop string could still begin with.
  size_t HeldBack() const;

  std::vector<std::string> stops_;
  std::string text_;
  size_t shown_ = 0;
  bool stopped_ = false;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_STOP_MATCHER_H_
