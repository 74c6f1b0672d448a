#include "apps/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/output_json.h"
#include "base/isa.h"
#include "base/one_line.h"

namespace hunch {
namespace {

using Section = BenchSection;

std::string Ratio(double numerator, double denominator) {
  return denominator > 0 ? fmt::format("{:.3f}", numerator / denominator) : "-";
}

std::string TableRow(const BenchResults& results, size_t method, const Section& section) {
  const MethodSummary s = SummaryOf(results, method, section);
  const auto accepted = static_cast<double>(s.total.accepted_tokens);
  return fmt::format(
      "{:<26}{:>8.2f}  {:<18}{:>7}{:>8.2f}{:>10.2f}{:>9.3f}  {:<14}{:>9.1f}  {}\n",
      MethodLabel(results.methods[method]), s.tokens_per_second.median,
      fmt::format("({:.2f}..{:.2f})", s.tokens_per_second.least, s.tokens_per_second.most),
      Ratio(accepted, static_cast<double>(s.total.draft_tokens)), s.total.mean_accepted_length(),
      s.total.tokens_per_pass(), s.speedup.median,
      fmt::format("({:.3f}..{:.3f})", s.speedup.least, s.speedup.most), s.ttft_ms,
      !results.compared                     ? "-"
      : Identical(results, method, section) ? "yes"
                                            : "NO");
}

Json SummaryJson(const BenchResults& results, size_t method, const Section& section) {
  const MethodSummary s = SummaryOf(results, method, section);
  Json json;
  json["identical"] = results.compared ? Json(Identical(results, method, section)) : Json(nullptr);
  json["prompts"] = PromptCount(results, section);
  json["answers"] = s.answers;
  json["tokens_per_second"] = s.tokens_per_second.median;
  json["tokens_per_second_min"] = s.tokens_per_second.least;
  json["tokens_per_second_max"] = s.tokens_per_second.most;
  json["speedup"] = s.speedup.median;
  json["speedup_min"] = s.speedup.least;
  json["speedup_max"] = s.speedup.most;
  json["ttft_ms"] = s.ttft_ms;
  json["acceptance_rate"] = RatioJson(static_cast<double>(s.total.accepted_tokens),
                                      static_cast<double>(s.total.draft_tokens));
  json["mean_accepted_length"] = s.total.mean_accepted_length();
  json["tokens_per_pass"] = s.total.tokens_per_pass();
  json["drafts"] = s.total.drafts;
  json["draft_tokens"] = s.total.draft_tokens;
  json["accepted_tokens"] = s.total.accepted_tokens;
  json["accepted_per_position"] = s.total.accepted_per_position;
  json["target_passes"] = s.total.target_passes;
  json["drafter_errors"] = s.total.drafter_errors;
  json["draft_time_share"] = s.draft_share;
  json.update(CostsJson(s.total));
  return json;
}

// Of a prompt that an interrupt kept from being answered there is nothing to report.
bool IsReported(const BenchResults& results, size_t prompt) {
  return !results.interrupted ||
         std::any_of(results.groups.begin(), results.groups.end(),
                     [&](const BenchGroup& group) { return group.prompt == prompt; });
}

std::string TokenText(const std::optional<TokenId>& token) {
  return token ? fmt::format("{}", *token) : "the end";
}

}  // namespace

bool BenchSection::Has(const BenchResults& results, size_t prompt) const {
  return category.empty() || results.prompts[prompt].prompt.category == category;
}

std::vector<BenchSection> Categories(const BenchResults& results) {
  std::vector<BenchSection> sections;
  for (size_t i = 0; i < results.prompts.size(); ++i) {
    const std::string& category = results.prompts[i].prompt.category;
    const auto same = [&](const BenchSection& s) { return s.category == category; };
    if (IsReported(results, i) && std::none_of(sections.begin(), sections.end(), same)) {
      sections.push_back({category});
    }
  }
  return sections;
}

size_t PromptCount(const BenchResults& results, const BenchSection& section) {
  size_t count = 0;
  for (size_t i = 0; i < results.prompts.size(); ++i) {
    count += section.Has(results, i) && IsReported(results, i) ? 1 : 0;
  }
  return count;
}

MethodSummary SummaryOf(const BenchResults& results, size_t method, const BenchSection& section) {
  return Summarise(results.groups, method,
                   [&](size_t prompt) { return section.Has(results, prompt); });
}

bool Identical(const BenchResults& results, size_t method, const BenchSection& section) {
  return std::none_of(results.mismatches.begin(), results.mismatches.end(), [&](const Mismatch& m) {
    return m.method == method && section.Has(results, m.prompt);
  });
}

std::string BenchTable(const BenchResults& results) {
  std::vector<Section> sections = Categories(results);
  if (sections.size() > 1) sections.push_back({""});
  std::string out;
  for (const Section& section : sections) {
    out += fmt::format("{} (prompts: {})\n",
                       section.category.empty() ? "all" : OneLine(section.category),
                       PromptCount(results, section));
    out += fmt::format("{:<26}{:>8}  {:<18}{:>7}{:>8}{:>10}{:>9}  {:<14}{:>9}  {}\n", "method",
                       "tokens/s", "(min..max)", "accept", "length", "tok/pass", "speed-up",
                       "(min..max)", "ttft ms", "identical");
    for (size_t method = 0; method < results.methods.size(); ++method) {
      out += TableRow(results, method, section);
    }
    out += '\n';
  }
  if (results.interrupted) {
    out += fmt::format("interrupted: prompts answered by every method: {} of {}\n",
                       PromptCount(results, {}), results.prompts.size());
  }
  if (!results.skipped.empty()) {
    out += fmt::format("prompts skipped, too long for the context of {}: {}\n",
                       results.max_model_len, results.skipped.size());
  }
  return out;
}

Json BenchJson(const BenchResults& results, const Flags& flags) {
  Json json;
  json["model"] = flags.model;
  json["draft_model"] = flags.speculation.fields.model;
  json["head"] = flags.speculation.fields.head;
  json["cpu"] = CpuName();
  json["isa"] = IsaName(ActiveIsa());
  json["threads"] = results.threads;
  json["max_model_len"] = results.max_model_len;
  json["temperature"] = flags.sampling.temperature;
  json["seed"] = flags.sampling.seed;
  json["max_tokens"] = flags.Sampling(kBenchMaxTokens).max_tokens;
  const int most = flags.speculation.fields.num_speculative_tokens;
  json["num_speculative_tokens"] = most > 0 ? Json(most) : Json(nullptr);
  json["rounds"] = flags.rounds;
  json["prompts"] = results.prompts.size();
  json["prompts_skipped"] = results.skipped.size();
  json["interrupted"] = results.interrupted;
  for (size_t method = 0; method < results.methods.size(); ++method) {
    Json summary = SummaryJson(results, method, {""});
    for (const Section& section : Categories(results)) {
      summary["categories"][section.category] = SummaryJson(results, method, section);
    }
    json["methods"][MethodLabel(results.methods[method])] = std::move(summary);
  }
  json["mismatches"] = Json::array();
  for (const Mismatch& mismatch : results.mismatches) {
    json["mismatches"].push_back(MismatchLine(results, mismatch));
  }
  return json;
}

std::string MismatchLine(const BenchResults& results, const Mismatch& mismatch) {
  const Difference& difference = mismatch.difference;
  const std::string where =
      fmt::format("{}, {}, round {}", results.prompts[mismatch.prompt].prompt.id,
                  MethodLabel(results.methods[mismatch.method]), mismatch.round + 1);
  if (difference.text_only) return where + ": same tokens, but text or finish reason differ";
  return fmt::format("{}: token {} is {} instead of {}", where, difference.position,
                     TokenText(difference.got), TokenText(difference.expected));
}

}  // namespace hunch
