#include "apps/stats_line.h"

#include <fmt/format.h>

#include "apps/output_json.h"

namespace hunch {

std::string StatsLine(const RequestOutput& output) {
  const SpeculationStats& stats = output.speculation;
  const size_t tokens = output.token_ids.size();
  std::string line = fmt::format("{} token{}", tokens, tokens == 1 ? "" : "s");
  // The first token comes with the prompt's pass, so one alone has no rate.
  if (tokens > 1) line += fmt::format(", {:.1f} tokens/s", DecodeRate(output));
  if (stats.method.none()) return line + "; no speculation";
  line += fmt::format("; {}: {} of {} guesses accepted", DraftMethodName(stats.method),
                      stats.accepted_tokens, stats.draft_tokens);
  if (stats.draft_tokens > 0) line += fmt::format(" ({:.1f} %)", 100 * stats.acceptance_rate());
  return line + fmt::format(", {:.2f} tokens per pass", stats.tokens_per_pass());
}

}  // namespace hunch
