#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "apps/commands.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

constexpr char kNgram[] = R"({"method": "ngram"})";

TEST(Run, PrintsTheAnswerAndALineEnd) {
  AppHarness app;
  EXPECT_EQ(app.Run({"run", "--model", "m", "hi"}), kExitOk);
  EXPECT_EQ(app.out(), "one two three\n");
  EXPECT_EQ(app.err(), "");
  ASSERT_EQ(app.calls.size(), 1u);
  EXPECT_EQ(app.calls[0].prompt, "user: hi\n");
  EXPECT_EQ(app.calls[0].params.max_tokens, -1);
  EXPECT_EQ(app.calls[0].speculation.method, DraftMethod::Auto());
  app.script.answer = "done\n";
  EXPECT_EQ(app.Run({"run", "--model", "m", "hi"}), kExitOk);
  EXPECT_EQ(app.out(), "done\n");
}

TEST(Run, TakesThePromptFromWhereItIs) {
  AppHarness app;
  TempDir folder;
  const std::string file = folder.Write("prompt.txt", "from\na file\n");
  EXPECT_EQ(app.Run({"run", "--model", "m", "-f", file}), kExitOk);
  EXPECT_EQ(app.calls[0].prompt, "user: from\na file\n");
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "piped\r\n"), kExitOk);
  EXPECT_EQ(app.calls[0].prompt, "user: piped\n");
  EXPECT_EQ(app.Run({"run", "--model", "m", "--file", "-"}, "piped\n\n"), kExitOk);
  EXPECT_EQ(app.calls[0].prompt, "user: piped\n\n");
  EXPECT_EQ(app.Run({"run", "--model", "m", "--system", "be brief", "hi"}), kExitOk);
  EXPECT_EQ(app.calls[0].prompt, "system: be brief\nuser: hi\n");
  EXPECT_EQ(app.Run({"run", "--model", "m", "--raw", "hi<end>"}), kExitOk);
  EXPECT_EQ(app.calls[0].prompt, "hi<end>");
}

TEST(Run, RefusesAPromptThatIsNone) {
  AppHarness app;
  TempDir folder;
  EXPECT_EQ(app.Run({"run", "--model", "m", "-f", folder.Path("absent")}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("absent: No such file or directory\n"));
  EXPECT_EQ(app.Run({"run", "--model", "m", "-f", folder.Path("")}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("is a folder, not a file"));
  EXPECT_EQ(app.Run({"run", "--model", "m", "-f", "x", "hi"}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("not both"));
  EXPECT_EQ(app.Run({"run", "--model", "m"}, ""), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("no prompt, or an empty one"));
  EXPECT_TRUE(app.loads.empty());
  app.script.has_chat_template = false;
  EXPECT_EQ(app.Run({"run", "--model", "m", "hi"}), kExitUsage);
  EXPECT_EQ(app.err(), "hunch run: no chat template; the reason: use --raw\n");
  app.in_tty = true;
  EXPECT_EQ(app.Run({"run", "--model", "m"}), kExitUsage);
  EXPECT_EQ(app.err(), "hunch run: no chat template; the reason: use --raw\n");
  app.in_tty = false;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--raw", "hi"}), kExitOk);
  app.script.max_model_len = 2;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--raw", "hi"}), kExitUsage);
  EXPECT_EQ(app.err(), "hunch run: the prompt is too long\n");
}

TEST(Run, LoadsADraftModelOnlyForMethodsThatUseIt) {
  AppHarness app;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--threads", "3", "--kv-cache-dtype", "q8_0",
                     "--max-model-len", "77", "--speculative-config",
                     R"({"method": "ngram", "model": "d"})", "hi"}),
            kExitOk);
  ASSERT_EQ(app.loads.size(), 1u);
  EXPECT_EQ(app.loads[0].model, "m");
  EXPECT_EQ(app.loads[0].draft_model, "");
  EXPECT_EQ(app.loads[0].threads, 3);
  EXPECT_EQ(app.loads[0].max_model_len, 77);
  EXPECT_EQ(app.loads[0].kv_cache_dtype, KvType::kQ8_0);
  EXPECT_EQ(app.Run({"run", "--model", "m", "--speculative-config", R"({"model": "d"})", "hi"}),
            kExitOk);
  EXPECT_EQ(app.loads[0].draft_model, "d");
  EXPECT_EQ(app.calls[0].speculation.method, DraftMethod(DrafterKind::kDraftModel));
}

TEST(Run, LooksForAHeadWhereMethodsMayUseOne) {
  AppHarness app;
  app.heads = "shipped";
  const auto load = [&](const char* json) {
    EXPECT_EQ(app.Run({"run", "--model", "m", "--speculative-config", json, "hi"}), kExitOk);
    return app.loads.at(0);
  };
  EXPECT_EQ(load("{}").heads, "shipped");
  EXPECT_EQ(load("{}").head, "");
  EXPECT_EQ(load("{}").head_method, std::nullopt);
  EXPECT_EQ(load(R"({"method": "suffix+medusa"})").head_method, DrafterKind::kMedusa);
  EXPECT_EQ(load(R"({"head": "h.gguf"})").head, "h.gguf");
  EXPECT_EQ(load(R"({"head": "none"})").head, kNoHead);
  EXPECT_EQ(load(R"({"method": "suffix"})").head, kNoHead);
  EXPECT_EQ(app.Run({"run", "--model", "m", "--heads", "mine", "hi"}), kExitOk);
  EXPECT_EQ(app.loads[0].heads, "mine");
}

TEST(Run, JsonIsTheOnlyThingOnOut) {
  AppHarness app;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--json", "--speculative-config", kNgram,
                     "--max-tokens", "5", "hi"}),
            kExitOk);
  const auto json = app.Json();
  EXPECT_EQ(json["text"], "one t");
  EXPECT_EQ(json["completion_tokens"], 5);
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_EQ(json["timings"]["load_ms"], 250.0);
  EXPECT_EQ(json["speculation"]["method"], "ngram");
  EXPECT_EQ(json["speculation"]["accepted_tokens"], 2);
  EXPECT_EQ(app.err(), "");
  EXPECT_EQ(app.Run({"run", "--model", "m", "--json", "--logprobs", "2", "hi"}), kExitOk);
  EXPECT_EQ(app.Json()["logprobs"].size(), 14u);
  EXPECT_EQ(app.Json()["logprobs"][0]["top"].size(), 2u);
}

TEST(Run, ShowSpeculationColoursTheGuesses) {
  AppHarness app;
  app.script.answer = "abc";
  EXPECT_EQ(
      app.Run({"run", "--model", "m", "--show-speculation", "--speculative-config", kNgram, "hi"}),
      kExitOk);
  EXPECT_EQ(app.out(), "a\x1b[4;32mb\x1b[0mc\n");
  EXPECT_EQ(app.err(),
            "4 tokens, 24.0 tokens/s; ngram: 2 of 6 guesses accepted (33.3 %), 3.00 tokens per "
            "pass\n");
  EXPECT_EQ(app.Run({"run", "--model", "m", "--show-speculation", "--speculative-config",
                     R"({"method": "none"})", "hi"}),
            kExitOk);
  EXPECT_EQ(app.out(), "abc\n");
  EXPECT_THAT(app.err(), HasSubstr("no speculation"));
}

TEST(Run, AnInterruptKeepsWhatThereIs) {
  AppHarness app;
  app.script.before_token = [&](size_t position) {
    EXPECT_TRUE(app.interrupts.armed);
    if (position == 3) app.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(app.Run({"run", "--model", "m", "hi"}), 130);
  EXPECT_EQ(app.out(), "one \n");
  app.interrupts.pending = 0;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--json", "hi"}), 130);
  EXPECT_EQ(app.Json()["text"], "one ");
  EXPECT_EQ(app.Json()["finish_reason"], "cancelled");
}

TEST(Run, EndsQuietlyWhenNobodyReads) {
  AppHarness app;
  size_t tokens = 0;
  app.script.before_token = [&](size_t position) {
    tokens = position + 1;
    if (position == 2) app.CloseOut();
  };
  EXPECT_EQ(app.Run({"run", "--model", "m", "hi"}), kExitOk);
  EXPECT_EQ(tokens, 3u);
  EXPECT_EQ(app.err(), "");
}

TEST(Chat, RemembersItsTurns) {
  AppHarness app;
  app.in_tty = true;
  app.script.answers["system: S\nuser: hi\n"] = "hello";
  app.script.answers["system: S\nuser: hi\nassistant: hello\nuser: again\n"] = "bye";
  EXPECT_EQ(
      app.Run({"run", "--model", "m", "--system", "S"}, "hi\n\nagain\n/clear\nhi\n/exit\nnever\n"),
      kExitOk);
  EXPECT_EQ(app.out(), "> hello\n> > bye\n> > hello\n> ");
  EXPECT_EQ(app.calls.size(), 3u);
}

TEST(Chat, AMistypedCommandIsNoQuestion) {
  AppHarness app;
  app.in_tty = true;
  app.Run({"run", "--model", "m"}, "/claer\n/etc/passwd is what?\n/\n/exit\n");
  EXPECT_THAT(app.err(), HasSubstr("no such command; /clear forgets, /exit leaves"));
  EXPECT_EQ(app.calls.size(), 2u);
}

TEST(Chat, BlanksAroundNothingOrACommandAreNoQuestion) {
  AppHarness app;
  app.in_tty = true;
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "  \n\t\r\n/claer \n/clear\r\n/exit \nnever\n"),
            kExitOk);
  EXPECT_EQ(app.calls.size(), 0u);
  EXPECT_THAT(app.err(), HasSubstr("no such command"));
}

TEST(Chat, SpeculationWithoutAnythingTellsHowItGuesses) {
  AppHarness app;
  app.in_tty = true;
  app.Run({"run", "--model", "m", "--speculative-config", R"({"method": "ngram"})"},
          "/speculation\n/exit\n");
  EXPECT_THAT(app.err(), HasSubstr("guessing with ngram; /speculation JSON guesses another way"));
  EXPECT_EQ(app.calls.size(), 0u);
}

TEST(Chat, SpeculationIsSwappedBetweenAnswers) {
  AppHarness app;
  app.in_tty = true;
  app.Run({"run", "--model", "m"},
          "hi\n/speculation {\"method\": \"none\"}\nmore\n/speculation {\"method\": 3}\nlast\n");
  ASSERT_EQ(app.calls.size(), 4u);
  EXPECT_EQ(app.calls[0].speculation.method, DraftMethod::Auto());
  EXPECT_TRUE(app.calls[1].swap);
  EXPECT_TRUE(app.calls[2].speculation.method.none());
  EXPECT_TRUE(app.calls[3].speculation.method.none());
  EXPECT_THAT(app.err(), HasSubstr("guessing with none\n"));
  EXPECT_THAT(app.err(), HasSubstr("nothing changed: \"method\" must be a string"));
}

TEST(Chat, LeavesAtTheEndOfInput) {
  AppHarness app;
  app.in_tty = true;
  EXPECT_EQ(app.Run({"run", "--model", "m"}, ""), kExitOk);
  EXPECT_EQ(app.out(), "> \n");
  app.interrupts.pending = 0;
}

TEST(Chat, AnInterruptEndsTheAnswerNotTheChat) {
  AppHarness app;
  app.in_tty = true;
  app.script.before_token = [&](size_t position) {
    if (position == 2 && app.calls.size() == 1) app.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "hi\nmore\n"), kExitOk);
  EXPECT_EQ(app.out(), "> one\n> one two three\n> \n");
  EXPECT_EQ(app.calls[1].prompt, "user: hi\nassistant: one\nuser: more\n");
}

TEST(Chat, ATurnInterruptedBeforeItsFirstWordIsForgotten) {
  AppHarness app;
  app.in_tty = true;
  app.script.answers["user: hi\n"] = "";
  app.script.before_token = [&](size_t) {
    if (app.calls.size() == 1) app.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "hi\nmore\n"), kExitOk);
  EXPECT_EQ(app.calls[1].prompt, "user: more\n");
}

TEST(Chat, AnInterruptAtThePromptLeaves) {
  AppHarness app;
  app.in_tty = true;
  app.interrupts.pending = SIGINT;
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "hi\n"), kExitOk);
  EXPECT_TRUE(app.calls.empty());
}

TEST(Chat, ATurnThatFailsIsForgotten) {
  AppHarness app;
  app.in_tty = true;
  app.script.max_model_len = 20;
  EXPECT_EQ(app.Run({"run", "--model", "m"}, "a question that is too long\nhi\n"), kExitOk);
  EXPECT_EQ(app.out(), "> > one two three\n> \n");
  EXPECT_THAT(app.err(), HasSubstr("hunch run: the prompt is too long\n"));
  EXPECT_EQ(app.calls[1].prompt, "user: hi\n");
}

TEST(Chat, NeedsAPromptForJsonAndRaw) {
  AppHarness app;
  app.in_tty = true;
  EXPECT_EQ(app.Run({"run", "--model", "m", "--json"}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("no prompt; --json needs one"));
  EXPECT_EQ(app.Run({"run", "--model", "m", "--raw"}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("no prompt; --raw needs one"));
}

}  // namespace
}  // namespace hunch
