// hunch batch on a model whose answers are dictated. With a real one, and killed: batch_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "session/json_text.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Chat(const std::string& id, const std::string& content, const Json& more = {}) {
  Json line = {{"custom_id", id}, {"method", "POST"}, {"url", "/v1/chat/completions"}};
  line["body"]["messages"] = Json::array({{{"role", "user"}, {"content", content}}});
  line["body"]["max_tokens"] = 100;
  if (more.is_object()) line["body"].update(more);
  return DumpJson(line) + "\n";
}

class BatchTest : public ::testing::Test {
 protected:
  int Run(const std::string& input, std::vector<std::string> more = {}) {
    folder_.Write("in", input);
    std::vector<std::string> arguments = {"batch", "--model", "m.gguf", in_, "-o", out_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return app_.Run(arguments);
  }
  // The output's lines by custom_id, of which each must come once.
  std::map<std::string, Json> Lines() const {
    std::map<std::string, Json> lines;
    std::istringstream file(ReadFile(out_));
    for (std::string text; std::getline(file, text);) {
      Json line = Json::parse(text);
      const std::string id =
          line["custom_id"].is_string() ? line["custom_id"].get<std::string>() : "none";
      EXPECT_FALSE(lines.contains(id)) << id;
      lines[id] = std::move(line);
    }
    return lines;
  }

  TempDir folder_;
  const std::string in_ = folder_.Path("in"), out_ = folder_.Path("out");
  AppHarness app_;
};

TEST_F(BatchTest, AnswersEveryLine) {
  app_.script.answers["user: two\n"] = "second";
  const std::string input =
      Chat("a", "one") + "\n" + Chat("b", "two", {{"n", 2}, {"seed", 7}}) +
      R"({"custom_id": "c", "method": "POST", "url": "/v1/completions", "body": {"prompt": "x"}})";
  ASSERT_EQ(Run(input, {"--max-num-seqs", "3", "--speculative-config", R"({"method": "ngram"})"}),
            kExitOk)
      << app_.err();
  auto lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  for (auto& [id, line] : lines) {
    EXPECT_EQ(line["response"]["status_code"], 200) << line;
    EXPECT_TRUE(line["error"].is_null());
    EXPECT_EQ(line["response"]["body"]["model"], "m");
  }
  EXPECT_EQ(lines["a"]["response"]["body"]["choices"][0]["message"]["content"], "one two three");
  const Json second = lines["b"]["response"]["body"];
  EXPECT_EQ(second["seed"], 7);
  ASSERT_EQ(second["choices"].size(), 2u);
  EXPECT_EQ(second["choices"][1]["message"]["content"], "second");
  EXPECT_EQ(lines["c"]["response"]["body"]["object"], "text_completion");
  EXPECT_EQ(app_.loads[0].max_num_seqs, 3);
  EXPECT_TRUE(app_.loads[0].enable_prefix_caching);
  EXPECT_EQ(app_.calls.size(), 4u);
  for (const auto& call : app_.calls) {
    EXPECT_EQ(call.speculation.method, DraftMethod(DrafterKind::kNgram));
  }
  EXPECT_EQ(app_.out(), "");
  EXPECT_THAT(app_.err(), HasSubstr("3/3 lines, "));
  EXPECT_THAT(app_.err(), HasSubstr("hunch batch: 3 lines answered in " + out_ + "\n"));
}

TEST_F(BatchTest, ALineHasOneSeedInEveryRun) {
  ASSERT_EQ(Run(Chat("a", "x") + Chat("b", "x")), kExitOk);
  const auto first = Lines();
  std::filesystem::remove(out_);
  ASSERT_EQ(Run(Chat("b", "x") + Chat("a", "x")), kExitOk);
  auto second = Lines();
  const auto seed = [](const Json& line) { return line["response"]["body"]["seed"]; };
  EXPECT_NE(seed(first.at("a")), seed(first.at("b")));
  for (const auto& [id, line] : first) {
    EXPECT_EQ(seed(line), seed(second[id]));
    EXPECT_EQ(line["id"], second[id]["id"]);
  }
}

TEST_F(BatchTest, WrongLinesAreAnsweredAndStopNothing) {
  app_.script.max_model_len = 50;
  const std::string input = "no JSON\n" + Chat("good", "x") + Chat("good", "again") +
                            Chat("hot", "x", {{"temperature", -1}}) +
                            Chat("long", std::string(60, 'x')) +
                            Chat("other", "x", {{"model", "gpt-4"}}) +
                            Chat("streamed", "x", {{"stream", true}}) + Chat("last", "x");
  // The second "good" is a line of its own under the same custom_id.
  ASSERT_EQ(Run(input), kExitOk);
  std::vector<Json> lines;
  std::istringstream file(ReadFile(out_));
  for (std::string text; std::getline(file, text);) lines.push_back(Json::parse(text));
  ASSERT_EQ(lines.size(), 8u);
  std::map<std::string, Json> answered, refused;
  for (const Json& line : lines) {
    const std::string id =
        line["custom_id"].is_null() ? "none" : line["custom_id"].get<std::string>();
    (line["response"].is_null() ? refused : answered)[id] = line;
  }
  ASSERT_EQ(answered.size(), 5u);
  ASSERT_EQ(refused.size(), 3u);
  const auto status = [&](const char* id) { return answered[id]["response"]["status_code"]; };
  const auto param = [&](const char* id) {
    return answered[id]["response"]["body"]["error"]["param"];
  };
  EXPECT_EQ(status("good"), 200);
  EXPECT_EQ(status("last"), 200);
  EXPECT_EQ(status("hot"), 400);
  EXPECT_EQ(param("hot"), "temperature");
  EXPECT_EQ(status("long"), 400);
  EXPECT_EQ(param("long"), "messages");
  EXPECT_EQ(status("other"), 404);
  EXPECT_EQ(refused["none"]["error"]["code"], "invalid_json_line");
  EXPECT_EQ(refused["streamed"]["error"]["param"], "stream");
  EXPECT_EQ(refused["good"]["error"]["code"], "duplicate_custom_id");
  EXPECT_THAT(refused["good"]["error"]["message"].get<std::string>(), HasSubstr("line 2 too"));
  EXPECT_THAT(app_.err(), HasSubstr("8 lines answered in " + out_ + ", 6 of them with an error\n"));
}

TEST_F(BatchTest, MoreChoicesThanRunAtOnceAndMoreLinesThanAreUnderWay) {
  std::string input;
  for (int i = 0; i < 60; ++i) {
    input += Chat(std::to_string(i), "x", {{"n", i % 7 == 0 ? 64 : 1}, {"max_tokens", 1}});
  }
  ASSERT_EQ(Run(input, {"--max-num-seqs", "2"}), kExitOk);
  auto lines = Lines();
  EXPECT_EQ(lines.size(), 60u);
  EXPECT_EQ(lines["7"]["response"]["body"]["choices"].size(), 64u);
}

// Requests that do not fit beside each other wait for each other, and none is refused for that.
TEST_F(BatchTest, RequestsThatFindNoRoomAreAskedAgain) {
  std::string input;
  const Json prompts = Json(std::vector<std::string>(64, "x"));
  for (int i = 0; i < 3; ++i) {
    const Json line = {{"custom_id", std::to_string(i)},
                       {"method", "POST"},
                       {"url", "/v1/completions"},
                       {"body", {{"prompt", prompts}, {"n", 64}, {"max_tokens", 1}}}};
    input += DumpJson(line) + "\n" + Chat("small " + std::to_string(i), "x");
  }
  ASSERT_EQ(Run(input, {"--max-num-seqs", "16"}), kExitOk);
  for (const auto& [id, line] : Lines()) {
    EXPECT_EQ(line["response"]["status_code"], 200) << id;
    const size_t choices = id.starts_with("small") ? 1 : 4096;
    EXPECT_EQ(line["response"]["body"]["choices"].size(), choices) << id;
  }
}

TEST_F(BatchTest, GoesOnWhereItWasStopped) {
  std::string input;
  for (int i = 0; i < 20; ++i) input += Chat(std::to_string(i), "x");
  std::atomic<int> tokens = 0;
  app_.script.before_token = [&](size_t) {
    // The main thread looks at the mailbox between tokens, as it would beside a slow model.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (++tokens == 100) app_.interrupts.pending = SIGINT;
  };
  EXPECT_EQ(Run(input, {"--max-num-seqs", "2"}), 130);
  EXPECT_THAT(app_.err(), HasSubstr("of 20 lines are answered in " + out_ + "; the same command"));
  const std::string kept = ReadFile(out_);
  const auto before = Lines();
  EXPECT_GT(before.size(), 0u);
  EXPECT_LT(before.size(), 20u);
  EXPECT_TRUE(kept.ends_with("}\n"));

  app_.interrupts.pending = 0;
  app_.script.before_token = nullptr;
  ASSERT_EQ(Run(input, {"--max-num-seqs", "2"}), kExitOk);
  EXPECT_TRUE(ReadFile(out_).starts_with(kept));
  EXPECT_EQ(Lines().size(), 20u);
  EXPECT_EQ(app_.calls.size(), 20 - before.size());
  EXPECT_THAT(app_.err(), HasSubstr("lines are answered already\n"));

  const std::string complete = ReadFile(out_);
  ASSERT_EQ(Run(input), kExitOk);
  EXPECT_TRUE(app_.loads.empty());  // nothing to do needs no model
  EXPECT_EQ(ReadFile(out_), complete);
}

TEST_F(BatchTest, GoesOnBehindATornLine) {
  const std::string input = Chat("a", "x") + Chat("b", "x");
  ASSERT_EQ(Run(input), kExitOk);
  const std::string whole = ReadFile(out_);
  folder_.Write("out", whole.substr(0, whole.size() - 20));
  ASSERT_EQ(Run(input), kExitOk);
  EXPECT_THAT(app_.err(), HasSubstr("a torn last line is dropped"));
  EXPECT_EQ(Lines().size(), 2u);
  EXPECT_EQ(app_.calls.size(), 1u);
}

TEST_F(BatchTest, RefusesAnotherFilesAnswers) {
  ASSERT_EQ(Run(Chat("a", "x")), kExitOk);
  EXPECT_EQ(Run(Chat("b", "x")), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("out:1: answers no line of " + in_));
  EXPECT_TRUE(app_.loads.empty());
  // A batch may grow.
  EXPECT_EQ(Run(Chat("b", "x") + Chat("a", "x")), kExitOk);
  EXPECT_EQ(Lines().size(), 2u);
}

TEST_F(BatchTest, NeedsItsTwoFiles) {
  EXPECT_EQ(app_.Run({"batch", "--model", "m"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("hunch batch IN.jsonl -o OUT.jsonl"));
  EXPECT_EQ(app_.Run({"batch", "--model", "m", "in"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("-o OUT.jsonl"));
  EXPECT_EQ(app_.Run({"batch", "--model", "m", in_, "-o", out_}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("in: No such file"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  EXPECT_EQ(app_.Run({"batch", "--model", "m", "a", "b", "-o", out_}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("give one file of requests"));
}

TEST_F(BatchTest, WhatCannotBeWrittenIsAFailure) {
  folder_.Write("in", Chat("a", "x"));
  EXPECT_EQ(app_.Run({"batch", "--model", "m", in_, "-o", folder_.Path("no/such")}), kExitFailure);
  EXPECT_THAT(app_.err(), HasSubstr("cannot write"));
  EXPECT_THAT(app_.err(), Not(HasSubstr("answered")));
}

}  // namespace
}  // namespace hunch
