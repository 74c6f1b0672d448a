#include "apps/bench_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "apps/bench_html_parts.h"
#include "apps/commands.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

constexpr char kHostile[] =
    R"({"id": "</title><script>x</script>", "category": "</script><img src=x onerror=alert(1)>", "prompt": "a"}
{"id": "b", "category": "\"' onload=x & <b>", "prompt": "b"}
)";

// Not a matcher: a failure would print the whole page.
bool Holds(const std::string& page, std::string_view part) {
  return page.find(part) != std::string::npos;
}

class BenchReport : public ::testing::Test {
 protected:
  // Runs a bench and returns its page.
  std::string Page(std::vector<std::string> more = {}, int code = kExitOk) {
    std::vector<std::string> arguments = {"bench",
                                          "--model",
                                          "<img src=y>.gguf",
                                          "--prompts",
                                          prompts_,
                                          "--rounds",
                                          "1",
                                          "--methods",
                                          "ngram,suffix",
                                          "--report",
                                          folder_.Path("report.html")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(app_.Run(arguments), code) << app_.err();
    return ReadFile(folder_.Path("report.html"));
  }

  AppHarness app_;
  TempDir folder_;
  const std::string prompts_ = folder_.Write("p.jsonl", kHostile);
};

TEST_F(BenchReport, HoldsEveryPart) {
  const std::string page = Page();
  for (const char* part :
       {"<h1>Hunch bench", "<h2>Speed</h2>", "Acceptance by position", "What a pass costs",
        "<h2>Trees</h2>", "Identical: yes", "<dt>CPU</dt>", "<dt>Threads</dt><dd>2</dd>",
        "temperature 0, seed 0, at most 128 tokens"}) {
    EXPECT_TRUE(Holds(page, part)) << part;
  }
  // Of the fake: 13 tokens after the first in 13 and 6 passes of 1/8 s; 14 of 26 first guesses of
  // two prompts accepted; a pass of 4 rows takes 200 ms.
  EXPECT_TRUE(Holds(page, "<th scope=\"row\">none</th><td>8.00</td>"));
  EXPECT_TRUE(Holds(page, "<th scope=\"row\">ngram</th><td>17.33</td>"));
  EXPECT_TRUE(Holds(page, "<th scope=\"row\">1</th><td>14 of 26</td>"));
  EXPECT_TRUE(Holds(page, "<th scope=\"row\">2</th><td>0 of 26</td>"));
  EXPECT_TRUE(Holds(page, "<th scope=\"row\">4</th><td>200.00</td><td>1.60 x</td>"));
}

TEST_F(BenchReport, NeedsNothingFromOutside) {
  const std::string page = Page();
  for (const char* reference : {"http:", "https:", "@import", "url(", "<script", "<a "}) {
    EXPECT_FALSE(Holds(page, reference)) << reference;
  }
  EXPECT_TRUE(Holds(page, "default-src 'none'"));
  EXPECT_TRUE(Holds(page, "prefers-color-scheme: dark"));
  EXPECT_TRUE(Holds(page, "width=device-width"));
}

TEST_F(BenchReport, TextFromOutsideIsNoMarkup) {
  app_.script.faults["ngram"] = 2;
  const std::string page = Page({}, kExitDifferent);
  for (const char* markup : {"<img", "<b>", "</script>", "\" onload", "\"' onload"}) {
    EXPECT_FALSE(Holds(page, markup)) << markup;
  }
  EXPECT_TRUE(Holds(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_TRUE(Holds(page, "Hunch bench: &lt;img src=y&gt;.gguf"));
  // A prompt's id, in the list of what differs.
  EXPECT_TRUE(Holds(page, "<li>&lt;/title&gt;&lt;script&gt;x&lt;/script&gt;, ngram, round 1"));
  EXPECT_TRUE(Holds(page, "Identical: NO. 2 answers differ"));
  EXPECT_TRUE(Holds(page, "<td>NO</td>"));
}

TEST_F(BenchReport, WithoutGuessesThereIsNoTreeAndNoShare) {
  app_.script.guesses_right = false;
  app_.script.pass_times.clear();
  const std::string page = Page({"--methods", "none"});
  EXPECT_TRUE(Holds(page, "Nothing to show: no guess was verified."));
  EXPECT_FALSE(Holds(page, "<h2>Trees</h2>"));
  EXPECT_FALSE(Holds(page, "What a pass costs"));
  EXPECT_FALSE(Holds(page, "nan"));
}

TEST_F(BenchReport, AFileThatCannotBeWrittenIsToldBeforeAnythingIsMeasured) {
  EXPECT_EQ(app_.Run({"bench", "--model", "m", "--prompts", prompts_, "--report",
                      folder_.Path("no/such/folder.html")}),
            kExitFailure);
  EXPECT_TRUE(app_.loads.empty());
  EXPECT_THAT(app_.err(), HasSubstr("folder.html: No such file"));
  EXPECT_EQ(app_.Run({"bench", "--model", "m", "--report", "-"}), kExitUsage);
}

TEST(EscapeHtml, AnyBytes) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" b='y'>&\n\x01"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;  ");
  EXPECT_EQ(EscapeHtml("\xff\xc3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(EscapeHtml("caf\xc3\xa9"), "caf\xc3\xa9");
}

TEST(Plots, CoordinatesAreNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string plots =
      BarsSvg("t", {{"a", "", nan}, {"b", "", infinity}, {std::string(80, 'c'), "", 1}}) +
      PointsPlot({.log_x = true}, {{"s", {{0, nan, ""}, {infinity, 2, ""}}}}) +
      PointsPlot({}, {{"s", {{0, 0, ""}}}}) + HeatSvg("t", "", {"1"}, {"r"}, {{{nan, ""}}});
  EXPECT_FALSE(Holds(plots, "nan"));
  EXPECT_FALSE(Holds(plots, "inf"));
  EXPECT_FALSE(Holds(plots, std::string(60, 'c')));
}

}  // namespace
}  // namespace hunch
