// Pieces of the pages that `hunch bench --report` and `hunch tune --report` write: one file that
// needs no network and no script, in light and dark, on a phone too. Pure functions.
//
// Text from outside (prompt files, paths) goes through EscapeHtml, and through nothing else; what
// is named `html` is markup already.
#ifndef HUNCH_APPS_BENCH_HTML_PARTS_H_
#define HUNCH_APPS_BENCH_HTML_PARTS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hunch {

// For text between tags and for quoted attributes: on one line, valid UTF-8, no markup.
std::string EscapeHtml(std::string_view text);

// The whole document. Its policy forbids scripts and any request, whatever the body holds.
std::string HtmlPage(std::string_view title, const std::string& body_html);

// A box with a heading; boxes lie beside each other where there is room.
std::string HtmlCard(std::string_view title, const std::string& html);
std::string HtmlCards(const std::string& cards_html);

// Name and value pairs.
using HtmlFacts = std::vector<std::pair<std::string, std::string>>;
std::string FactsHtml(const HtmlFacts& facts);

// Of plain text. The first cell of a row is its header.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};
std::string TableHtml(const HtmlTable& table);

// A sentence in a box: green or red.
std::string VerdictHtml(bool good, std::string_view text);

}  // namespace hunch

#endif  // HUNCH_APPS_BENCH_HTML_PARTS_H_
