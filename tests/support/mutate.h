// Damages a text, for tests of what parses hostile input: the same each time.
#ifndef HUNCH_TESTS_SUPPORT_MUTATE_H_
#define HUNCH_TESTS_SUPPORT_MUTATE_H_

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace hunch {

// `text` with one to `most` damages: a byte, or up to 8, changed, left out, or replaced by one of
// `pieces`, or one of those put in.
inline std::string Mutate(std::string text, const std::vector<std::string>& pieces, size_t most,
                          std::mt19937& random) {
  const auto pick = [&](size_t below) { return static_cast<size_t>(random() % below); };
  for (size_t damages = 1 + pick(most); damages > 0 && !text.empty(); --damages) {
    const size_t at = pick(text.size());
    const size_t length = std::min(text.size() - at, 1 + pick(8));
    switch (pick(4)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.replace(at, length, pieces[pick(pieces.size())]);
        break;
      default:
        text.insert(at, pieces[pick(pieces.size())]);
    }
  }
  return text;
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_MUTATE_H_
