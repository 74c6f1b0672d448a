// One line about one answer. Pure functions.
#ifndef HUNCH_APPS_STATS_LINE_H_
#define HUNCH_APPS_STATS_LINE_H_

#include <string>

#include "session/llm.h"

namespace hunch {

// "128 tokens, 52.3 tokens/s; ngram: 77 of 96 guesses accepted (80.2 %), 2.41 tokens per pass"
std::string StatsLine(const RequestOutput& output);

}  // namespace hunch

#endif  // HUNCH_APPS_STATS_LINE_H_
