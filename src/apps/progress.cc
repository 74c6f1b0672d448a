#include "apps/progress.h"

#include <fmt/format.h>

namespace hunch {

void Progress::Advance(const std::string& label) {
  ++done_;
  if (console_.err_tty) {
    constexpr int64_t kBar = 30;
    const auto filled = static_cast<size_t>(kBar * done_ / total_);
    console_.err << fmt::format("\r[{:-<{}}] {}/{} {}\x1b[K", std::string(filled, '#'), kBar, done_,
                                total_, label)
                 << std::flush;
    drawn_ = true;
  } else if (10 * done_ / total_ > tenths_) {
    tenths_ = 10 * done_ / total_;
    console_.err << fmt::format("{}/{} {}", done_, total_, label) << std::endl;
  }
}

void Progress::Print(const std::string& line) {
  Erase();
  console_.err << line << std::endl;
}

void Progress::Erase() {
  if (drawn_) console_.err << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace hunch
