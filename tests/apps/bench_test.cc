#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "apps/commands.h"
#include "apps/prompts_file.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPrompts[] =
    R"({"id": "a1", "category": "a", "prompt": "first"}
{"id": "b1", "category": "b", "prompt": "second"}

{"id": "a2", "category": "a", "prompt": "third", "note": "more keys are fine"}
{"id": "a3", "category": "a", "prompt": "fourth"}
)";

class Bench : public ::testing::Test {
 protected:
  int Run(std::vector<std::string> more, const std::string& prompts = kPrompts) {
    std::vector<std::string> arguments = {"bench", "--model", "m", "--prompts",
                                          folder_.Write("p.jsonl", prompts)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return app_.Run(arguments);
  }

  // (prompt, method) of every call after the warm-up.
  std::vector<std::pair<std::string, DraftMethod>> Measured(size_t methods) const {
    std::vector<std::pair<std::string, DraftMethod>> measured;
    for (size_t i = methods; i < app_.calls.size(); ++i) {
      measured.emplace_back(app_.calls[i].prompt, app_.calls[i].speculation.method);
    }
    return measured;
  }

  AppHarness app_;
  TempDir folder_;
};

TEST_F(Bench, ReportsEveryMethodAndCategory) {
  EXPECT_EQ(
      Run({"--json", "--methods", "ngram", "--rounds", "2", "--seed", "5", "--temperature", "0.5"}),
      kExitOk);
  const auto json = app_.Json();
  for (const char* key : {"model", "cpu", "isa", "threads", "prompts", "prompts_skipped", "rounds",
                          "temperature", "seed", "max_tokens"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["prompts"], 4);
  EXPECT_EQ(json["max_tokens"], 128);
  EXPECT_EQ(json["threads"], 2);
  ASSERT_EQ(json["methods"].size(), 2u);
  EXPECT_EQ(json["methods"]["ngram"]["categories"].size(), 2u);
  EXPECT_EQ(json["methods"]["ngram"]["categories"]["a"]["prompts"], 3);
  for (const char* method : {"none", "ngram"}) {
    for (const auto& summary :
         {json["methods"][method], json["methods"][method]["categories"]["b"]}) {
      for (const char* key : {"identical", "tokens_per_second", "speedup", "ttft_ms",
                              "acceptance_rate", "mean_accepted_length", "tokens_per_pass"}) {
        EXPECT_TRUE(summary.contains(key)) << key;
      }
      EXPECT_EQ(summary["identical"], true);
      EXPECT_EQ(summary["ttft_ms"], 500.0);
    }
  }
  // Of the fake: 14 tokens, 13 after the first, in 13 or 6 passes of 1/8 s.
  EXPECT_EQ(json["methods"]["none"]["tokens_per_second"], 8.0);
  EXPECT_TRUE(json["methods"]["none"]["acceptance_rate"].is_null());
  EXPECT_EQ(json["methods"]["none"]["speedup"], 1.0);
  EXPECT_DOUBLE_EQ(json["methods"]["ngram"]["tokens_per_second"], 13 / 0.75);
  EXPECT_DOUBLE_EQ(json["methods"]["ngram"]["acceptance_rate"], 7.0 / 26);
  EXPECT_DOUBLE_EQ(json["methods"]["ngram"]["tokens_per_pass"], 13.0 / 6);
  EXPECT_EQ(json["mismatches"].size(), 0u);
}

TEST_F(Bench, InterleavesMethodsAndRotatesTheirOrder) {
  EXPECT_EQ(Run({"--methods", "none,ngram,draft_model", "--speculative-config",
                 R"({"model": "d", "num_speculative_tokens": 7})", "--n", "1", "--rounds", "2",
                 "--max-tokens", "5"}),
            kExitOk);
  ASSERT_EQ(app_.loads.size(), 1u);
  EXPECT_EQ(app_.loads[0].draft_model, "d");
  EXPECT_EQ(app_.loads[0].head, kNoHead);
  const DraftMethod none, ngram = DrafterKind::kNgram, model = DrafterKind::kDraftModel;
  const std::string a = "user: first\n", b = "user: second\n";
  const std::vector<std::pair<std::string, DraftMethod>> expected = {
      {a, none},  {a, ngram}, {a, model}, {b, ngram}, {b, model}, {b, none},
      {a, ngram}, {a, model}, {a, none},  {b, model}, {b, none},  {b, ngram}};
  EXPECT_EQ(Measured(3), expected);
  for (const FakeLlm::Call& call : app_.calls) {
    EXPECT_EQ(call.speculation.num_speculative_tokens, 7);
  }
  EXPECT_EQ(app_.calls.back().params.max_tokens, 5);
}

TEST_F(Bench, ShowsATable) {
  EXPECT_EQ(Run({"--rounds", "1", "--methods", "ngram"}), kExitOk);
  EXPECT_THAT(app_.out(), HasSubstr("a (prompts: 3)\n"));
  EXPECT_THAT(app_.out(), HasSubstr("all (prompts: 4)\n"));
  EXPECT_THAT(app_.out(), HasSubstr("\nnone "));
  EXPECT_THAT(app_.out(), HasSubstr("\nngram "));
  EXPECT_THAT(app_.out(), HasSubstr("  yes\n"));
  EXPECT_THAT(app_.out(), Not(HasSubstr("NO")));
  EXPECT_THAT(app_.err(), HasSubstr("8/8 round 1/1\n"));
}

TEST_F(Bench, ADifferentTokenIsExit3) {
  app_.script.faults["ngram"] = 4;
  EXPECT_EQ(Run({"--json", "--n", "1", "--rounds", "1", "--methods", "ngram"}), kExitDifferent);
  EXPECT_THAT(app_.err(), HasSubstr("differs: a1, ngram, round 1: token 4 is 35 instead of 116\n"));
  const auto json = app_.Json();
  EXPECT_EQ(json["methods"]["none"]["identical"], true);
  EXPECT_EQ(json["methods"]["ngram"]["identical"], false);
  EXPECT_EQ(json["methods"]["ngram"]["categories"]["b"]["identical"], false);
  EXPECT_EQ(json["mismatches"].size(), 2u);
  EXPECT_EQ(Run({"--rounds", "1", "--methods", "ngram"}), kExitDifferent);
  EXPECT_THAT(app_.out(), HasSubstr("  NO\n"));
}

TEST_F(Bench, ABaselineThatChangesIsExit3) {
  app_.script.faulty_call = 2;  // the warm-up, then three rounds: the second
  EXPECT_EQ(Run({"--methods", "none", "--n", "1", "--rounds", "3"},
                "{\"id\":\"a\",\"category\":\"c\",\"prompt\":\"p\"}"),
            kExitDifferent);
  EXPECT_THAT(app_.err(), HasSubstr("differs: a, none, round 2: token 0 is 35 instead of 111\n"));
}

TEST_F(Bench, PromptsTooLongAreSkippedAndCounted) {
  app_.script.max_model_len = 40;
  EXPECT_EQ(Run({"--json", "--max-tokens", "20", "--rounds", "1"},
                std::string(kPrompts) + R"({"id": "long", "category": "a", "prompt": ")" +
                    std::string(30, 'x') + "\"}\n"),
            kExitOk);
  EXPECT_EQ(app_.Json()["prompts"], 4);
  EXPECT_EQ(app_.Json()["prompts_skipped"], 1);
  EXPECT_THAT(app_.err(), HasSubstr("skipping 1 of 5 prompts: too long for a context of 40\n"));
  EXPECT_EQ(Run({"--max-tokens", "20", "--rounds", "1"},
                std::string(kPrompts) + R"({"id": "long", "category": "a", "prompt": ")" +
                    std::string(30, 'x') + "\"}\n"),
            kExitOk);
  EXPECT_THAT(app_.out(), HasSubstr("prompts skipped, too long for the context of 40: 1\n"));
  EXPECT_EQ(Run({"--max-tokens", "40"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("no prompt leaves room for 40 tokens in a context of 40"));
}

TEST_F(Bench, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(Run({"--methods", "ngram,fast"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--methods: "));
  EXPECT_THAT(app_.err(), HasSubstr("'fast'"));
  EXPECT_EQ(Run({"--methods", "draft_model"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("method draft_model needs \"model\""));
  EXPECT_EQ(Run({"--methods", "ngram", "--speculative-config", R"({"method": "ngram"})"}),
            kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("leave out \"method\""));
  EXPECT_TRUE(app_.loads.empty());
  EXPECT_EQ(Run({}, "{\"id\": \"a\"}\n"), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("p.jsonl:1: \"category\" must be a string; a line is"));
}

TEST_F(Bench, FindsHeadsForTheMethodsThatRunThem) {
  app_.heads = "shipped";
  EXPECT_EQ(Run({"--json", "--n", "1", "--rounds", "1", "--methods", "auto,eagle3,draft_model",
                 "--speculative-config", R"({"model": "d"})"}),
            kExitOk);
  ASSERT_EQ(app_.loads.size(), 1u);
  EXPECT_EQ(app_.loads[0].draft_model, "d");
  EXPECT_EQ(app_.loads[0].head, "");
  EXPECT_EQ(app_.loads[0].head_method, DrafterKind::kEagle3);
  EXPECT_EQ(app_.loads[0].heads, "shipped");
  EXPECT_TRUE(app_.Json()["methods"].contains("eagle3"));
}

TEST_F(Bench, AMethodInTheConfigIsTheOneToCompare) {
  EXPECT_EQ(Run({"--json", "--n", "1", "--rounds", "1", "--speculative-config",
                 R"({"method": "draft_model", "model": "d"})"}),
            kExitOk);
  EXPECT_TRUE(app_.Json()["methods"].contains("draft_model"));
  EXPECT_FALSE(app_.Json()["methods"].contains("ngram"));
}

TEST_F(Bench, AnInterruptReportsWhatIsComplete) {
  app_.script.before_token = [&](size_t position) {
    // Two warm-ups, two groups of two, and one answer of the third group.
    if (position == 5 && app_.calls.size() == 8) app_.interrupts.pending = SIGTERM;
  };
  EXPECT_EQ(Run({"--json", "--rounds", "1"}), 143);
  EXPECT_EQ(app_.Json()["methods"]["auto"]["answers"], 2);
  EXPECT_EQ(app_.Json()["interrupted"], true);
  app_.interrupts.pending = SIGINT;
  EXPECT_EQ(Run({"--json", "--rounds", "1"}), 130);
  EXPECT_EQ(app_.out(), "");
  EXPECT_THAT(app_.err(), HasSubstr("interrupted before the first result"));
}

// Nothing was measured in category b: no row may say that it was, or that its answers agreed.
TEST_F(Bench, AnInterruptLeavesOutWhatWasNotAnswered) {
  const std::string report = folder_.Path("r.html");
  app_.script.before_token = [&](size_t position) {
    // Two warm-ups, one group of two, and one answer of the second group.
    if (position == 5 && app_.calls.size() == 6) app_.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(Run({"--rounds", "1", "--report", report}), 130);
  EXPECT_THAT(app_.out(), HasSubstr("a (prompts: 1)"));
  EXPECT_THAT(app_.out(), Not(HasSubstr("b (prompts:")));
  EXPECT_THAT(app_.out(), HasSubstr("interrupted: prompts answered by every method: 1 of 4"));
  EXPECT_THAT(ReadFile(report), HasSubstr("Interrupted"));
}

TEST(PromptsFile, TakesTheFirstOfEachCategory) {
  TempDir folder;
  const auto prompts = ReadPromptsFile(folder.Write("p", kPrompts), 2);
  ASSERT_TRUE(prompts.ok()) << prompts.error().message;
  ASSERT_EQ(prompts.value().size(), 3u);
  EXPECT_EQ(prompts.value()[0].id, "a1");
  EXPECT_EQ(prompts.value()[1].id, "b1");
  EXPECT_EQ(prompts.value()[2].id, "a2");
  EXPECT_EQ(prompts.value()[2].text, "third");
  EXPECT_EQ(ReadPromptsFile(folder.Path("p"), 0).value().size(), 4u);
}

TEST(PromptsFile, ErrorsNameFileAndLine) {
  TempDir folder;
  const std::string good = "{\"id\":\"a\",\"category\":\"c\",\"prompt\":\"p\"}\n";
  const struct {
    std::string text, message;
  } cases[] = {
      {good + "{", "p:2: bad JSON: parse error"},
      {good + "\n[]\n", "p:3: bad JSON: expected an object, got an array"},
      {"{\"id\":1,\"category\":\"c\",\"prompt\":\"p\"}",
       "p:1: \"id\" must be a string; a line is {\"id\""},
      {"{\"id\":\"1\",\"category\":\"c\",\"prompt\":\"\"}", "p:1: \"prompt\" is empty"},
      {"{\"id\":\"1\",\"category\":\"\",\"prompt\":\"p\"}", "p:1: \"category\" is empty"},
      {"{\"id\":\"1\",\"category\":\"c\",\"prompt\":\"\xff\"}", "p:1: bad JSON"},
      {"", "p: holds no prompts"},
  };
  for (const auto& c : cases) {
    const auto prompts = ReadPromptsFile(folder.Write("p", c.text), 0);
    ASSERT_FALSE(prompts.ok()) << c.text;
    EXPECT_THAT(prompts.error().message, HasSubstr(c.message));
    EXPECT_EQ(ExitCodeOf(prompts.error()), kExitUsage);
  }
  EXPECT_EQ(ReadPromptsFile(folder.Path("absent"), 0).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(ReadPromptsFile(folder.Path(""), 0).ok());
}

}  // namespace
}  // namespace hunch
