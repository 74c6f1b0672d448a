#include "apps/stats_line.h"

#include <fmt/format.h>

#include "apps/output_json.h"

namespace hunch {

std::string StatsLine(const RequestOutput& output) {
  const SpeculationStats& stats = output.speculation;
  std::string line = fmt::format("{} token{}, {:.1f} tokens/s", output.token_ids.size(),
                                 output.token_ids.size() == 1 ? "" : "s", DecodeRate(output));
  if (stats.method == DraftMethod::kNone) return line + "; no speculation";
  line += fmt::format("; {}: {} of {} guesses accepted", DraftMethodName(stats.method),
                      stats.accepted_tokens, stats.draft_tokens);
  if (stats.draft_tokens > 0) line += fmt::format(" ({:.1f} %)", 100 * stats.acceptance_rate());
  return line + fmt::format(", {:.2f} tokens per pass", stats.tokens_per_pass());
}

}  // namespace hunch
