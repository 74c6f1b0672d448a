// `hunch bench rows`: what it prints and writes, on made-up times and on a tiny real model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "apps/bench_rows_report.h"
#include "base/isa.h"
#include "support/app_harness.h"
#include "support/files.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RowBenchReport MadeUp() {
  return {.threads = 2,
          .read_bytes_per_second = 25e9,
          .macs_per_second = 4e11,
          .contexts = {{512, 64, {{1, 0.016, {0.008, true}}, {8, 0.032, {0.024, false}}}},
                       {4096, 40, {{1, 0.025, {0.02, true}}, {8, 0.05, {0.04, true}}}}},
          .prompts = {{128, 250}, {1024, 200}}};
}

class BenchRows : public ::testing::Test {
 protected:
  BenchRows() {
    app_.bench_rows = [this](const RowBenchOptions& options,
                             const OnRowBench& on_progress) -> Result<RowBenchReport> {
      options_ = options;
      for (int64_t call = 0; call < 4; ++call) {
        if (call == 2) app_.interrupts.pending = signal_;
        if (!on_progress(std::max<int64_t>(call - 1, 0), 3)) {
          RowBenchReport stopped;
          stopped.stopped = true;
          return stopped;
        }
      }
      return report_;
    };
  }
  int Run(std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "rows", "--model", "m.gguf"});
    return app_.Run(more);
  }

  AppHarness app_;
  RowBenchReport report_ = MadeUp();
  RowBenchOptions options_;
  int signal_ = 0;
  TempDir folder_;
};

// The keys of an object, in order.
std::vector<std::string> Keys(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

void ExpectShape(const Json& json) {
  EXPECT_THAT(Keys(json), ElementsAre("cpu", "isa", "threads", "model", "context", "read_gb_s",
                                      "dot_gmac_s", "decode_tokens_per_second", "rows", "prompt"));
  for (const auto& row : json["rows"]) {
    EXPECT_THAT(Keys(row), ElementsAre("m", "ms", "percent_of_limit"));
  }
  for (const auto& prompt : json["prompt"]) {
    EXPECT_THAT(Keys(prompt), ElementsAre("tokens", "tokens_per_second"));
  }
}

TEST_F(BenchRows, JsonOfOneContextIsAnObject) {
  report_.contexts.pop_back();
  ASSERT_EQ(Run({"--json", "-"}), kExitOk) << app_.err();
  const Json json = app_.Json();
  ExpectShape(json);
  EXPECT_EQ(json["cpu"], CpuName());
  EXPECT_EQ(json["isa"], std::string(IsaName(ActiveIsa())));
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["model"], "m.gguf");
  EXPECT_EQ(json["context"], 512);
  EXPECT_EQ(json["read_gb_s"], 25);
  EXPECT_EQ(json["dot_gmac_s"], 400);
  EXPECT_EQ(json["decode_tokens_per_second"], 64);
  EXPECT_EQ(json["rows"][1]["m"], 8);
  EXPECT_EQ(json["rows"][1]["ms"], 32);
  EXPECT_EQ(json["rows"][1]["percent_of_limit"], 75);
  EXPECT_EQ(json["prompt"][1]["tokens"], 1024);
  EXPECT_EQ(json["prompt"][1]["tokens_per_second"], 200);
}

TEST_F(BenchRows, WritesFilesAndPrintsATable) {
  const std::string json_path = folder_.Write("r.json", "old"), svg_path = folder_.Path("r.svg");
  ASSERT_EQ(Run({"--json", json_path, "--svg", svg_path}), kExitOk) << app_.err();
  const Json json = Json::parse(ReadFile(json_path));
  ASSERT_EQ(json.size(), 2u);
  ExpectShape(json[0]);
  ExpectShape(json[1]);
  EXPECT_EQ(json[1]["context"], 4096);
  EXPECT_THAT(ReadFile(svg_path), HasSubstr("</svg>"));
  EXPECT_THAT(app_.out(), HasSubstr("2 threads: reads 25.0 GB/s, int8 dot 400 GMAC/s\nm.gguf\n"));
  EXPECT_THAT(app_.out(), HasSubstr("\ncontext 512: decodes 64.0 tokens/s\n"));
  EXPECT_THAT(app_.out(), HasSubstr("T(M)/T(1)"));
  EXPECT_THAT(app_.out(),
              HasSubstr("16.000          1.00      16.000       8.000       50  reading"));
  EXPECT_THAT(app_.out(), HasSubstr("32.000          2.00       4.000      24.000       75  dot"));
  EXPECT_THAT(app_.out(), HasSubstr("prompt of   1024 tokens:      200.0 tokens/s\n"));
  EXPECT_THAT(app_.err(), HasSubstr("3/3 measured\n"));
}

TEST_F(BenchRows, HandsTheFlagsOn) {
  ASSERT_EQ(Run({"--rows", "1,2", "--context", "16", "--prompt", "32", "--repeat", "9", "--threads",
                 "5"}),
            kExitOk);
  EXPECT_EQ(options_.model.model, "m.gguf");
  EXPECT_EQ(options_.model.threads, 5);
  EXPECT_THAT(options_.rows, ElementsAre(1, 2));
  EXPECT_THAT(options_.contexts, ElementsAre(16));
  EXPECT_THAT(options_.prompts, ElementsAre(32));
  EXPECT_EQ(options_.repeats, 9);
  ASSERT_EQ(Run({}), kExitOk);
  EXPECT_THAT(options_.rows, ElementsAre(1, 2, 3, 4, 5, 6, 8, 12, 16, 32, 128));
}

TEST_F(BenchRows, AFileThatCannotBeWrittenIsSaidFirst) {
  for (const char* flag : {"--json", "--svg"}) {
    options_ = {};
    EXPECT_EQ(Run({flag, folder_.Path("no/such/folder/f")}), kExitFailure);
    EXPECT_THAT(app_.err(), HasSubstr("hunch bench rows: cannot write "));
    EXPECT_THAT(app_.err(), HasSubstr("No such file or directory\n"));
    EXPECT_TRUE(options_.rows.empty()) << "measured all the same";
  }
}

TEST_F(BenchRows, AnInterruptReportsNothingAndLeavesFilesAlone) {
  signal_ = SIGINT;
  const std::string old = folder_.Write("old.json", "old");
  EXPECT_EQ(Run({"--json", old, "--svg", folder_.Path("new.svg")}), 130);
  EXPECT_TRUE(app_.interrupts.armed);
  EXPECT_EQ(app_.out(), "");
  EXPECT_THAT(app_.err(), HasSubstr("interrupted before the end"));
  EXPECT_EQ(ReadFile(old), "old");
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("new.svg")));
}

TEST_F(BenchRows, HelpAndBenchItself) {
  EXPECT_EQ(app_.Run({"bench", "rows", "--help"}), kExitOk);
  EXPECT_THAT(app_.out(), HasSubstr("Usage: hunch bench rows [FLAGS]\n"));
  EXPECT_EQ(app_.Run({"bench", "--help"}), kExitOk);
  EXPECT_THAT(app_.out(), HasSubstr("Usage: hunch bench [FLAGS]\n"));
  EXPECT_EQ(app_.Run({"bench", "rows"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("hunch bench rows: no model; give --model PATH"));
  EXPECT_EQ(app_.Run({"bench", "--model", "m"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("hunch bench: no prompts"));
}

// Tags that open close in order, attributes are quoted, and no raw & is left: what an XML parser
// would refuse first. Returns what is wrong.
std::string XmlFault(const std::string& xml) {
  std::vector<std::string> open;
  size_t at = 0;
  while ((at = xml.find_first_of("<&", at)) != std::string::npos) {
    if (xml[at] == '&') {
      const size_t end = xml.find(';', at);
      const std::string entity = xml.substr(at, end - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;") return "entity " + entity;
      at = end;
      continue;
    }
    const size_t end = xml.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return "quotes in " + tag;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "closing " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  return open.empty() ? "" : open.back() + " is open";
}

TEST(RowsSvg, IsWellFormedWhateverTheNames) {
  const RowBenchView view = {MadeUp(), "A & B <\"CPU\">\x01\xff", "avx2", "a<b>&c.gguf"};
  const std::string svg = RowsSvg(view);
  EXPECT_EQ(XmlFault(svg), "");
  EXPECT_THAT(svg, HasSubstr("A &amp; B &lt;"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr("context 4096"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  RowBenchView single = view;  // one point has no extent
  single.report.contexts = {{0, 1, {{128, 0.5, {0.5, true}}}}};
  EXPECT_EQ(XmlFault(RowsSvg(single)), "");
  EXPECT_THAT(RowsSvg(single), Not(HasSubstr("nan")));
  EXPECT_THAT(RowsSvg(single), Not(HasSubstr("inf")));
}

TEST(BenchRowsOnATinyModel, MeasuresAndRefusesWhatDoesNotFit) {
  AppHarness app;
  app.bench_rows = &RunRowBench;
  const std::string model = TinyModelPath("qwen2");  // a context of 512
  ASSERT_EQ(app.Run({"bench", "rows", "--model", model, "--rows", "1,4,128", "--context", "0,300",
                     "--prompt", "16,400", "--repeat", "5", "--json", "-"}),
            kExitOk)
      << app.err();
  const Json json = Json::parse(app.out());
  ASSERT_EQ(json.size(), 2u);
  for (const Json& context : json) {
    ExpectShape(context);
    EXPECT_GT(context["read_gb_s"], 0);
    EXPECT_GT(context["dot_gmac_s"], 0);
    EXPECT_GT(context["decode_tokens_per_second"], 0);
    ASSERT_EQ(context["rows"].size(), 3u);
    EXPECT_EQ(context["rows"][2]["m"], 128);
    for (const Json& row : context["rows"]) {
      EXPECT_GT(row["ms"], 0);
      EXPECT_GT(row["percent_of_limit"], 0);
    }
    EXPECT_EQ(context["prompt"].size(), 2u);
    EXPECT_GT(context["prompt"][1]["tokens_per_second"], 0);
  }
  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"bench", "rows", "--model", model};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(app.Run(arguments), kExitUsage);
    EXPECT_EQ(app.out(), "");
    return app.err();
  };
  EXPECT_THAT(
      refused({"--prompt", "8", "--context", "400"}),
      HasSubstr("--context 400: with passes of 128 rows after it that takes 528 tokens, but "
                "the model's context is 512\n"));
  EXPECT_THAT(refused({"--prompt", "8", "--context", "2147483647"}),
              HasSubstr("the model's context is 512\n"));
  EXPECT_THAT(refused({}), HasSubstr("--context 512: "));
  EXPECT_THAT(refused({"--context", "0", "--prompt", "513"}),
              HasSubstr("--prompt 513: the model's context is 512\n"));
  EXPECT_EQ(app.Run({"bench", "rows", "--model", "/no/such/file"}), kExitUsage);
}

}  // namespace
}  // namespace hunch
