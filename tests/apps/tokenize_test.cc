#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/commands.h"
#include "support/app_harness.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

TEST(Tokenize, ListsIdsAndPieces) {
  AppHarness app;
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", "a\xff\""}), kExitOk);
  EXPECT_EQ(app.out(), "      97  \"a\"\n     255  \"\uFFFD\"\n      34  \"\\\"\"\n");
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", "--parse-special"}, "<end>"), kExitOk);
  EXPECT_EQ(app.out(), "     256  \"<end>\"\n");
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", ""}, "not read"), kExitOk);
  EXPECT_EQ(app.out(), "");
}

TEST(Tokenize, AnswersLineByLine) {
  AppHarness app;
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", "--json"},
                    "{\"text\": \"ab\"}\n"
                    "{\"text\": \"<end>\", \"parse_special\": true}\n"
                    "{\"parse_special\": false, \"text\": \"<e\"}\n"
                    "{\"text\": \"\"}\n"
                    "{\"text\": \"\\u0000\\u00e9\"}"),
            kExitOk);
  EXPECT_EQ(app.out(),
            "{\"ids\":[97,98]}\n{\"ids\":[256]}\n{\"ids\":[60,101]}\n{\"ids\":[]}\n"
            "{\"ids\":[0,195,169]}\n");
}

TEST(Tokenize, ABadLineIsNamed) {
  const struct {
    std::string line, message;
  } cases[] = {
      {"", "line 2: bad JSON"},
      {"\"text\"", "line 2: bad JSON: expected an object, got a string"},
      {"{}", "line 2: \"text\" is missing"},
      {"{\"text\": 1}", "line 2: \"text\" must be a string, not a number"},
      {"{\"text\": \"\", \"parse_special\": 1}",
       "line 2: \"parse_special\" must be true or false, not a number"},
      {"{\"text\": \"\", \"special\": true}", "line 2: unknown key \"special\""},
      {"{\"text\": \"\xe6\xad\"}", "line 2: bad JSON"},
  };
  AppHarness app;
  for (const auto& c : cases) {
    EXPECT_EQ(app.Run({"tokenize", "--model", "m", "--json"}, "{\"text\":\"a\"}\n" + c.line + "\n"),
              kExitUsage);
    EXPECT_EQ(app.out(), "{\"ids\":[97]}\n");
    EXPECT_THAT(app.err(), HasSubstr("hunch tokenize: " + c.message));
  }
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", "--json"}, std::string(100'000, '9')), kExitUsage);
  EXPECT_LT(app.err().size(), 400u);
  EXPECT_EQ(app.Run({"tokenize", "--model", "m", "--json", "text"}), kExitUsage);
}

TEST(Detokenize, JoinsIds) {
  AppHarness app;
  EXPECT_EQ(app.Run({"detokenize", "--model", "m", "97", "98,99"}), kExitOk);
  EXPECT_EQ(app.out(), "abc");
  app.out_tty = true;
  EXPECT_EQ(app.Run({"detokenize", "--model", "m"}, "97, 256\n98\n"), kExitOk);
  EXPECT_EQ(app.out(), "a<end>b\n");
}

TEST(Detokenize, AnswersLineByLine) {
  AppHarness app;
  EXPECT_EQ(app.Run({"detokenize", "--model", "m", "--json"},
                    "{\"ids\": [97, 195, 169]}\n{\"ids\": []}\n{\"ids\": [230, 173, 97]}\n"),
            kExitOk);
  EXPECT_EQ(app.out(), "{\"text\":\"a\u00e9\"}\n{\"text\":\"\"}\n{\"text\":\"\uFFFDa\"}\n");
}

TEST(Detokenize, RefusesWhatIsNoId) {
  AppHarness app;
  for (const char* line :
       {"{}", "{\"ids\": 5}", "{\"ids\": [\"5\"]}", "{\"ids\": [1.5]}", "{\"ids\": [-1]}",
        "{\"ids\": [257]}", "{\"ids\": [18446744073709551615]}", "{\"ids\": [1], \"x\": 1}", "["}) {
    EXPECT_EQ(app.Run({"detokenize", "--model", "m", "--json"}, line), kExitUsage) << line;
    EXPECT_THAT(app.err(), HasSubstr("hunch detokenize: line 1: ")) << line;
    EXPECT_EQ(app.out(), "");
  }
  EXPECT_EQ(app.Run({"detokenize", "--model", "m", "300"}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("token id 300 is outside the vocabulary of 257"));
  EXPECT_EQ(app.Run({"detokenize", "--model", "m", "x"}), kExitUsage);
  EXPECT_THAT(app.err(), HasSubstr("'x' is not a whole number"));
}

}  // namespace
}  // namespace hunch
