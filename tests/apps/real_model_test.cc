// The program on SmolLM2: what `make run` shows, and the protocols against the reference tokenizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/commands.h"
#include "session/json_text.h"
#include "support/app_harness.h"
#include "support/files.h"
#include "support/models.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

constexpr char kNgram[] = R"({"method": "ngram", "num_speculative_tokens": 4})";

class RealModel : public ::testing::Test {
 protected:
  RealModel() {
    app_.load = &Llm::Load;
    app_.open_tokenizer = &OpenTokenizer;
  }
  // The fake keeps a list of what it was asked.
  void TearDown() override { EXPECT_TRUE(app_.calls.empty()); }

  AppHarness app_;
};

TEST_F(RealModel, TheBuiltInDemoAcceptsGuessesAndKeepsTheText) {
  HUNCH_REQUIRE_MODEL(model, "smollm2");
  ASSERT_EQ(app_.Run({"demo", "--model", model, "--max-tokens", "64"}), kExitOk) << app_.err();
  const std::string line = app_.out().substr(app_.out().rfind("\n", app_.out().size() - 2) + 1);
  EXPECT_THAT(line, HasSubstr("identical output: yes\n"));
  EXPECT_THAT(line, HasSubstr("accepted guesses: "));
  EXPECT_THAT(line, ::testing::Not(HasSubstr("accepted guesses: 0 "))) << line;
}

TEST_F(RealModel, RunSaysTheSameWithAndWithoutSpeculation) {
  HUNCH_REQUIRE_MODEL(model, "smollm2");
  const std::string prompt = "Say the days of the week three times.";
  ASSERT_EQ(app_.Run({"run", "--model", model, "--json", "--max-tokens", "40",
                      "--speculative-config", R"({"method": "none"})", prompt}),
            kExitOk);
  const auto plain = app_.Json();
  ASSERT_EQ(app_.Run({"run", "--model", model, "--json", "--max-tokens", "40",
                      "--speculative-config", kNgram, prompt}),
            kExitOk);
  const auto guessed = app_.Json();
  EXPECT_EQ(plain["token_ids"], guessed["token_ids"]);
  EXPECT_EQ(plain["text"], guessed["text"]);
  EXPECT_EQ(plain["speculation"]["draft_tokens"], 0);
  EXPECT_GT(guessed["speculation"]["draft_tokens"], 0);
  EXPECT_EQ(plain["completion_tokens"], plain["token_ids"].size());
  EXPECT_GT(plain["timings"]["decode_tokens_per_second"], 0);
}

TEST_F(RealModel, TokenizeAndDetokenizeSpeakTheReferencesIds) {
  HUNCH_REQUIRE_MODEL(model, "smollm2");
  const auto expected = ReadGoldenLines<Json>("oracle/tokens_smollm2.jsonl");
  std::string texts, ids, row;
  for (const Json& want : expected) {
    texts += DumpJson({{"text", want["text"]}, {"parse_special", true}}) + "\n";
    ids += DumpJson({{"ids", want["ids"]}}) + "\n";
  }
  ASSERT_GT(expected.size(), 600u);
  ASSERT_EQ(app_.Run({"tokenize", "--model", model, "--json"}, texts), kExitOk) << app_.err();
  std::istringstream answers(app_.out());
  for (const Json& want : expected) {
    ASSERT_TRUE(std::getline(answers, row));
    EXPECT_EQ(Json::parse(row)["ids"], want["ids"]) << want["text"];
  }
  ASSERT_EQ(app_.Run({"detokenize", "--model", model, "--json"}, ids), kExitOk) << app_.err();
  answers = std::istringstream(app_.out());
  for (const Json& want : expected) {
    ASSERT_TRUE(std::getline(answers, row));
    EXPECT_EQ(Json::parse(row)["text"], want["decoded"]);
  }
}

}  // namespace
}  // namespace hunch
