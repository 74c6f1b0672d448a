#include "apps/bench_html_parts.h"

#include <fmt/format.h>

#include "base/one_line.h"

namespace hunch {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1f2937; --quiet: #4b5563; --paper: #ffffff; --page: #f3f4f6;
  --edge: #d1d5db; --heat: #60a5fa; --good: #166534; --bad: #b91c1c; --c0: #6b7280; --c1: #1d4ed8;
  --c2: #c2410c; --c3: #047857; --c4: #7e22ce; --c5: #b91c1c; --c6: #0e7490; --c7: #a16207; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --quiet: #9ca3af; --paper: #1f2937;
  --page: #111827; --edge: #4b5563; --heat: #2563eb; --good: #86efac; --bad: #fca5a5; --c0: #9ca3af;
  --c1: #60a5fa; --c2: #fb923c; --c3: #34d399; --c4: #c084fc; --c5: #f87171; --c6: #22d3ee; --c7: #facc15; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1280px; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; margin: 8px 0 12px; } h2 { font-size: 18px; margin: 28px 0 10px; }
h3 { font-size: 15px; margin: 0 0 8px; }
.cards { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr)); align-items: start; }
.card { background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; padding: 12px; min-width: 0; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid var(--c1); }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--quiet); padding: 6px 0 2px; }
th, td { padding: 3px 8px 3px 0; text-align: right; border-top: 1px solid var(--edge); white-space: nowrap; }
th:first-child { text-align: left; } thead th { color: var(--quiet); font-weight: 600; border-top: 0; }
tbody th { font-weight: 500; white-space: normal; min-width: 9em; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 0; }
dt { color: var(--quiet); } dd { margin: 0; }
.verdict { border-left: 4px solid; padding: 6px 10px; margin: 12px 0; background: var(--paper); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
.note { color: var(--quiet); font-size: 13px; margin: 6px 0; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 0; margin: 0 0 6px; font-size: 13px; }
ul.legend svg { width: 28px; height: 10px; vertical-align: middle; margin-right: 5px; }
.plot { display: block; width: 100%; height: auto; }
.plot text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.plot .quiet { fill: var(--quiet); font-size: 11px; } .plot .tiny { font-size: 9px; }
.grid { stroke: var(--edge); stroke-width: 1; } .strong { stroke: var(--quiet); stroke-width: 1; }
.line { fill: none; stroke-width: 2; } .d1 { stroke-dasharray: 7 3; } .d2 { stroke-dasharray: 2 3; }
.d3 { stroke-dasharray: 9 3 2 3; }
.hollow { fill: var(--paper); stroke-width: 1.5; } .empty { fill: none; stroke: var(--edge); stroke-dasharray: 2 2; }
.heat { fill: var(--heat); }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); }
.s4 { stroke: var(--c4); } .s5 { stroke: var(--c5); } .s6 { stroke: var(--c6); } .s7 { stroke: var(--c7); }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); } .f2 { fill: var(--c2); } .f3 { fill: var(--c3); }
.f4 { fill: var(--c4); } .f5 { fill: var(--c5); } .f6 { fill: var(--c6); } .f7 { fill: var(--c7); }
)";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string HtmlPage(std::string_view title, const std::string& body_html) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n{2}"
      "</main>\n</body>\n</html>\n",
      EscapeHtml(title), kStyle, body_html);
}

std::string HtmlCard(std::string_view title, const std::string& html) {
  return fmt::format("<section class=\"card\">\n<h3>{}</h3>\n{}</section>\n", EscapeHtml(title),
                     html);
}

std::string HtmlCards(const std::string& cards_html) {
  return fmt::format("<div class=\"cards\">\n{}</div>\n", cards_html);
}

std::string FactsHtml(const HtmlFacts& facts) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(name), EscapeHtml(value));
  }
  return out + "</dl>\n";
}

std::string TableHtml(const HtmlTable& table) {
  // A region that the keyboard reaches, since it may have to be scrolled.
  std::string out = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\n<table>\n"
      "<caption>{0}</caption>\n<thead><tr>",
      EscapeHtml(table.caption));
  for (const std::string& name : table.head) {
    out += fmt::format("<th scope=\"col\">{}</th>", EscapeHtml(name));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", EscapeHtml(row[i]))
                    : fmt::format("<td>{}</td>", EscapeHtml(row[i]));
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string VerdictHtml(bool good, std::string_view text) {
  return fmt::format("<p class=\"verdict {}\">{}</p>\n", good ? "good" : "bad", EscapeHtml(text));
}

}  // namespace hunch
