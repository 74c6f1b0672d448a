#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "apps/commands.h"
#include "apps/profile.h"
#include "apps/tune_report.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPrompts[] = R"({"id": "a1", "category": "a", "prompt": "first"}
{"id": "a2", "category": "a", "prompt": "second"}
{"id": "b<img>", "category": "b", "prompt": "third"}
{"id": "a3", "category": "a", "prompt": "not taken"}
)";

class TuneCommandTest : public ::testing::Test {
 protected:
  TuneCommandTest() {
    // suffix with K = 6 is the fastest.
    app_.script.seconds = {{"none", 0.008},     {"auto", 0.008},        {"ngram", 0.009},
                           {"ngram:2", 0.009},  {"ngram:4", 0.02},      {"suffix", 0.007},
                           {"suffix:6", 0.004}, {"draft_model", 0.009}, {"token_recycling", 0.02}};
    for (const char* method : {"ngram", "suffix", "token_recycling", "draft_model"}) {
      for (const char* guesses : {":2", ":4", ":6", ":8"}) {
        app_.script.seconds.emplace(std::string(method) + guesses, 0.02);
      }
    }
  }
  int Run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"tune",   "--model",      model_, "--prompts",
                                          prompts_, "--max-tokens", "20"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return app_.Run(arguments);
  }

  AppHarness app_;
  TempDir folder_;
  const std::string model_ = folder_.Write("m.gguf", "a model");
  const std::string prompts_ = folder_.Write("p.jsonl", kPrompts);
  const std::string profile_ = folder_.Path("profile.json");
};

TEST_F(TuneCommandTest, FindsTheFastestAndDropsWhatIsBehind) {
  ASSERT_EQ(Run({"--json"}), kExitOk) << app_.err();
  const auto json = app_.Json();
  EXPECT_EQ(json["prompts"], 3);
  EXPECT_EQ(json["rows"].size(), 2u + 3 * 5);
  const auto& best = json["rows"][0];
  EXPECT_EQ(best["method"], "suffix");
  EXPECT_EQ(best["num_speculative_tokens"], 6);
  EXPECT_EQ(best["chosen"], true);
  EXPECT_EQ(best["prompts"], 3);
  EXPECT_EQ(best["dropped"], false);
  EXPECT_GT(best["speedup"], 1.3);
  EXPECT_DOUBLE_EQ(best["acceptance_rate"], 7.0 / 26);
  EXPECT_GT(best["expected_tokens_per_second"], 0);
  int dropped = 0;
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["identical"], true);
    if (row["dropped"] == true) ++dropped;
    if (row["method"] == "none" || row["method"] == "auto") {
      EXPECT_EQ(row["dropped"], false);
      EXPECT_EQ(row["prompts"], 3);
    }
  }
  EXPECT_GE(dropped, 12);  // those of 20 ms are dropped after the first prompt
  EXPECT_THAT(app_.err(), HasSubstr("the best: --speculative-config '{\"method\":\"suffix\","
                                    "\"num_speculative_tokens\":6}'"));
  // Plain decoding and every other setting take part in the first turn; prompts by category.
  EXPECT_EQ(app_.calls[5].prompt, "user: first\n");
  EXPECT_EQ(app_.calls[5 + 17].prompt, "user: third\n");
  EXPECT_EQ(app_.calls.back().prompt, "user: second\n");
}

TEST_F(TuneCommandTest, TriesTheShippedHead) {
  app_.script.head_method = DrafterKind::kEagle3;
  app_.script.seconds["eagle3"] = 0.003;
  for (const char* guesses : {":2", ":4", ":6", ":8"}) {
    app_.script.seconds.emplace(std::string("eagle3") + guesses, 0.02);
  }
  ASSERT_EQ(Run({"--heads", "folder", "--out", profile_}), kExitOk) << app_.err();
  EXPECT_EQ(app_.loads[0].heads, "folder");
  EXPECT_EQ(app_.loads[0].head, "");
  EXPECT_THAT(app_.out(), HasSubstr("=> eagle3 "));
  const auto profile = ParseProfile(ReadFile(profile_));
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->method, DrafterKind::kEagle3);
  EXPECT_EQ(profile->draft_model, "") << "wherever it is shipped";
}

TEST_F(TuneCommandTest, ShowsATableAndProgress) {
  ASSERT_EQ(Run({}), kExitOk);
  EXPECT_THAT(app_.out(), HasSubstr("=> suffix "));
  EXPECT_THAT(app_.out(), HasSubstr("\n   none "));
  EXPECT_THAT(app_.err(), HasSubstr("1/3 prompts, 16 of 16 settings left, about "));
}

TEST_F(TuneCommandTest, WritesAProfileThatRunTakes) {
  ASSERT_EQ(Run({"--out", profile_}), kExitOk) << app_.err();
  EXPECT_THAT(app_.err(), HasSubstr("--profile " + profile_));
  const auto profile = ParseProfile(ReadFile(profile_));
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(profile->model, *IdentifyFile(model_));
  EXPECT_EQ(profile->threads, 2);
  EXPECT_EQ(profile->method, DrafterKind::kSuffix);
  EXPECT_EQ(profile->num_speculative_tokens, 6);
  EXPECT_EQ(profile->pass_times.size(), app_.script.pass_times.size());
  EXPECT_GT(profile->tokens_per_second, 0);
  ASSERT_EQ(app_.Run({"run", "--model", model_, "--threads", "2", "--profile", profile_, "hi"}),
            kExitOk);
  EXPECT_THAT(app_.err(), Not(HasSubstr("warning")));
  EXPECT_EQ(app_.calls[0].speculation.method, DrafterKind::kSuffix);
  EXPECT_EQ(app_.loads[0].pass_times.size(), app_.script.pass_times.size());
}

TEST_F(TuneCommandTest, TakesAutoWhereItIsAsFast) {
  app_.script.seconds["auto"] = 0.004;
  ASSERT_EQ(Run({"--out", profile_}), kExitOk);
  const auto profile = ParseProfile(ReadFile(profile_));
  ASSERT_TRUE(profile.ok());
  // Noise may make either a little faster: the other cannot be far behind.
  if (!profile->method.automatic()) {
    EXPECT_GT(profile->speedup, 0);
    EXPECT_EQ(profile->method, DrafterKind::kSuffix);
  }
}

TEST_F(TuneCommandTest, TriesDraftModelsOneAfterAnother) {
  app_.script.seconds["draft_model:8"] = 0.002;
  ASSERT_EQ(
      Run({"--draft", "d1.gguf", "--draft", "d2.gguf", "--n", "1", "--json", "--out", profile_}),
      kExitOk)
      << app_.err();
  // The headers of both, then the model alone.
  ASSERT_EQ(app_.loads.size(), 3u);
  EXPECT_EQ(app_.loads[0].draft_model, "d1.gguf");
  EXPECT_EQ(app_.loads[1].draft_model, "d2.gguf");
  EXPECT_EQ(app_.loads[2].draft_model, "");
  std::vector<std::string> swaps;
  for (const FakeLlm::Call& call : app_.calls) {
    if (call.swap) swaps.push_back(call.speculation.model);
    if (!call.swap && call.speculation.UsesModel()) {
      EXPECT_EQ(call.speculation.model, swaps.back());
    }
  }
  EXPECT_THAT(swaps, ::testing::ElementsAre("d1.gguf", "d2.gguf"));
  // Of the fake: a draft pass takes 31 ms, a target pass 125 ms.
  const auto json = app_.Json();
  EXPECT_DOUBLE_EQ(json["draft_models"][1]["cost_ratio"], 0.25);
  EXPECT_THAT(app_.err(),
              HasSubstr("d1.gguf: one of its passes takes 0.25 of a pass of the "
                        "target. The best K grows with speed ratio x acceptance: K = "));
  EXPECT_EQ(json["rows"][0]["method"], "draft_model");
  EXPECT_EQ(json["rows"][0]["num_speculative_tokens"], 8);
  const auto profile = ParseProfile(ReadFile(profile_));
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_TRUE(profile->draft_model.starts_with('/'));
  EXPECT_THAT(profile->draft_model, HasSubstr(".gguf"));
}

TEST_F(TuneCommandTest, DraftModelsAreCheckedBeforeAnythingIsMeasured) {
  app_.inspect_report->vocabulary_difference = "token 5 is 'a' here and 'b' there";
  EXPECT_EQ(Run({"--draft", "d.gguf"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("d.gguf cannot draft for "));
  EXPECT_THAT(app_.err(), HasSubstr("token 5 is 'a' here"));
  app_.inspect_report = InspectReport{};
  app_.inspect_report->memory.target_weights = 2'000'000'000;
  app_.inspect_report->memory.available = 1'000'000'000;
  EXPECT_EQ(Run({"--draft", "d.gguf"}), kExitFailure);
  EXPECT_THAT(app_.err(), HasSubstr("needs 2000 MB and 1000 MB are free"));
  EXPECT_TRUE(app_.calls.empty());
}

TEST_F(TuneCommandTest, ADifferentOutputIsExit3AndNoProfile) {
  app_.script.faults["ngram"] = 3;
  EXPECT_EQ(Run({"--json", "--out", profile_}), kExitDifferent);
  EXPECT_THAT(app_.err(), HasSubstr("differs: a1, ngram: token 3 is another one"));
  EXPECT_FALSE(std::filesystem::exists(profile_));
  EXPECT_FALSE(app_.Json()["differences"].empty());
}

TEST_F(TuneCommandTest, AnInterruptShowsWhatIsKnownAndWritesNoProfile) {
  app_.script.before_token = [&](size_t position) {
    if (position == 2 && app_.calls.size() == 5 + 17 + 2) app_.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(Run({"--json", "--out", profile_}), 130);
  const auto json = app_.Json();
  EXPECT_EQ(json["interrupted"], true);
  EXPECT_EQ(json["rows"].size(), 17u);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["chosen"], false);
    EXPECT_EQ(row["prompts"], 1);
  }
  EXPECT_FALSE(std::filesystem::exists(profile_));
  EXPECT_THAT(app_.err(), HasSubstr("interrupted: not every prompt was run; no profile"));
  EXPECT_EQ(Run({}), 130);
  EXPECT_EQ(app_.out(), "");
  EXPECT_THAT(app_.err(), HasSubstr("interrupted before the first result"));
}

TEST_F(TuneCommandTest, WritesAPage) {
  app_.script.faults["auto"] = 3;
  const std::string report = folder_.Path("r.html");
  EXPECT_EQ(Run({"--report", report, "--draft", "<b>.gguf"}), kExitDifferent);
  const std::string page = ReadFile(report);
  const auto holds = [&](std::string_view part) { return page.find(part) != std::string::npos; };
  for (const char* part :
       {"Best here: suffix, K = 6", "Acceptance against speed-up", "What a pass costs",
        "Identical: NO.", "b&lt;img&gt;, auto", "&lt;b&gt;.gguf: one of its passes takes 0.25"}) {
    EXPECT_TRUE(holds(part)) << part;
  }
  for (const char* part : {"<img", "<b>", "nan", "<script"}) EXPECT_FALSE(holds(part)) << part;
}

TEST_F(TuneCommandTest, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(app_.Run({"tune", "--model", model_}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("no prompts"));
  EXPECT_EQ(Run({"--out", folder_.Path("no/such")}), kExitFailure);
  EXPECT_EQ(Run({"--out", "x", "--report", "x"}), kExitUsage);
  EXPECT_EQ(Run({"--speculative-config", "{}"}), kExitUsage);
  EXPECT_EQ(app_.Run({"tune", "--model", "absent.gguf", "--prompts", prompts_, "--out", profile_}),
            kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("cannot read absent.gguf"));
  EXPECT_TRUE(app_.loads.empty());
}

}  // namespace
}  // namespace hunch
