#include "apps/bench_rows_report.h"

#include <fmt/format.h>

#include "base/one_line.h"

namespace hunch {
namespace {

double PercentOfLimit(const RowBenchRow& row) { return 100 * row.limit.seconds / row.seconds; }

Json ContextJson(const RowBenchView& view, const RowBenchContext& context) {
  const RowBenchReport& report = view.report;
  Json json;
  json["cpu"] = view.cpu;
  json["isa"] = view.isa;
  json["threads"] = report.threads;
  json["model"] = view.model;
  json["context"] = context.context;
  json["read_gb_s"] = report.read_bytes_per_second / 1e9;
  json["dot_gmac_s"] = report.macs_per_second / 1e9;
  json["decode_tokens_per_second"] = context.decode_tokens_per_second;
  json["rows"] = Json::array();
  for (const RowBenchRow& row : context.rows) {
    json["rows"].push_back(
        {{"m", row.rows}, {"ms", row.seconds * 1e3}, {"percent_of_limit", PercentOfLimit(row)}});
  }
  json["prompt"] = Json::array();
  for (const RowBenchPrompt& prompt : report.prompts) {
    json["prompt"].push_back(
        {{"tokens", prompt.tokens}, {"tokens_per_second", prompt.tokens_per_second}});
  }
  return json;
}

}  // namespace

std::string RowsTable(const RowBenchView& view) {
  const RowBenchReport& report = view.report;
  std::string out = fmt::format(
      "{}\n{}, {} thread{}: reads {:.1f} GB/s, int8 dot {:.0f} GMAC/s\n{}\n", OneLine(view.cpu),
      view.isa, report.threads, report.threads == 1 ? "" : "s", report.read_bytes_per_second / 1e9,
      report.macs_per_second / 1e9, OneLine(view.model));
  for (const RowBenchContext& context : report.contexts) {
    out += fmt::format(
        "\ncontext {}: decodes {:.1f} tokens/s\n{:>5}{:>12}{:>14}{:>12}{:>12}{:>9}  {}\n",
        context.context, context.decode_tokens_per_second, "M", "T(M) ms",
        fmt::format("T(M)/T({})", context.rows[0].rows), "ms a row", "limit ms", "% of it",
        "bound by");
    for (const RowBenchRow& row : context.rows) {
      out += fmt::format("{:>5}{:>12.3f}{:>14.2f}{:>12.3f}{:>12.3f}{:>9.0f}  {}\n", row.rows,
                         row.seconds * 1e3, row.seconds / context.rows[0].seconds,
                         row.seconds * 1e3 / row.rows, row.limit.seconds * 1e3, PercentOfLimit(row),
                         row.limit.by_read ? "reading" : "dot");
    }
  }
  if (!report.prompts.empty()) out += '\n';
  for (const RowBenchPrompt& prompt : report.prompts) {
    out += fmt::format("prompt of {:>6} tokens: {:>10.1f} tokens/s\n", prompt.tokens,
                       prompt.tokens_per_second);
  }
  return out;
}

Json RowsJson(const RowBenchView& view) {
  if (view.report.contexts.size() == 1) return ContextJson(view, view.report.contexts[0]);
  Json json = Json::array();
  for (const RowBenchContext& context : view.report.contexts) {
    json.push_back(ContextJson(view, context));
  }
  return json;
}

}  // namespace hunch
