#include "train/judge.h"

#include <algorithm>

namespace hunch {

std::vector<int> RunsOf(const TrainText& text, const HeadBatch::Text& place,
                        const HeadGuesses& guesses) {
  const int steps = static_cast<int>(guesses.size());
  std::vector<int> runs;
  for (int last = static_cast<int>(text.prompt); last < text.size(); ++last) {
    // The row that reads the target's taps at the position before the last committed token.
    const int row = place.first_asked + last - 1 - place.first_position;
    int run = 0;
    while (run < steps && last + 1 + run < text.size() &&
           guesses[run][row] == text.tokens[last + 1 + run]) {
      ++run;
    }
    runs.push_back(run);
  }
  return runs;
}

std::vector<double> Judgement::Shares() const {
  std::vector<double> shares;
  for (size_t step = 0; step < asked.size(); ++step) {
    shares.push_back(static_cast<double>(right[step]) /
                     static_cast<double>(std::max<int64_t>(asked[step], 1)));
  }
  return shares;
}

void Judgement::Add(std::span<const int> runs, int steps) {
  passes.Add(runs);
  asked.resize(steps);
  right.resize(steps);
  for (size_t at = 0; at + 1 < runs.size(); ++at) {
    // Guesses past the text's end are neither right nor wrong.
    const int possible = static_cast<int>(std::min<size_t>(steps, runs.size() - 1 - at));
    for (int step = 0; step < std::min(runs[at] + 1, possible); ++step) ++asked[step];
    for (int step = 0; step < runs[at]; ++step) ++right[step];
  }
}

}  // namespace hunch
