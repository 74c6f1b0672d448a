#include "apps/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/isa.h"
#include "base/thread_pool.h"
#include "support/app_harness.h"
#include "support/files.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Profile Example() {
  return {.model = {"m.gguf", 1234, "00000000deadbeef"},
          .cpu = "A CPU",
          .isa = "avx2",
          .threads = 2,
          .method = DrafterKind::kDraftModel,
          .num_speculative_tokens = 4,
          .draft_model = "/models/small.gguf",
          .pass_times = {{1, 0.04}, {2, 0.041}, {8, 0.07}},
          .tokens_per_second = 31.5,
          .speedup = 1.31};
}

TEST(Profile, ComesBackAsItWas) {
  const auto read = ParseProfile(DumpJson(ProfileJson(Example())));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->model, Example().model);
  EXPECT_EQ(read->cpu, "A CPU");
  EXPECT_EQ(read->isa, "avx2");
  EXPECT_EQ(read->threads, 2);
  EXPECT_EQ(read->method, DrafterKind::kDraftModel);
  EXPECT_EQ(read->num_speculative_tokens, 4);
  EXPECT_EQ(read->draft_model, "/models/small.gguf");
  ASSERT_EQ(read->pass_times.size(), 3u);
  EXPECT_EQ(read->pass_times[2].rows, 8);
  EXPECT_EQ(read->pass_times[2].seconds, 0.07);
  EXPECT_EQ(read->tokens_per_second, 31.5);
  Profile automatic = Example();
  automatic.method = DraftMethod::Auto();
  automatic.num_speculative_tokens = 0;
  automatic.draft_model.clear();
  const auto again = ParseProfile(DumpJson(ProfileJson(automatic)));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again->method.automatic());
  EXPECT_EQ(again->num_speculative_tokens, 0);
  EXPECT_EQ(again->draft_model, "");
}

TEST(Profile, EveryKeyIsChecked) {
  const struct {
    const char *key, *value, *message;
  } cases[] = {
      {"version", "2", "\"version\" is not 1"},
      {"version", "\"1\"", "\"version\" is not 1"},
      {"model", "[]", "\"model\" must be an object"},
      {"model", R"({"name": "m", "bytes": 1})", "\"hash\" of \"model\" is missing"},
      {"model", R"({"name": "m", "bytes": -1, "hash": "x"})", "\"bytes\" must be"},
      {"model", R"({"name": "m", "bytes": 1e300, "hash": "x"})", "\"bytes\" must be"},
      {"model", R"({"name": 1, "bytes": 1, "hash": "x"})", "\"name\" must be a string"},
      {"cpu", "null", "\"cpu\" must be a string"},
      {"isa", "3", "\"isa\" must be a string"},
      {"threads", "0", "\"threads\" must be a whole number from 1 to 1024"},
      {"threads", "1025", "\"threads\" must be"},
      {"threads", "1.5", "\"threads\" must be"},
      {"method", "\"fast\"", "unknown speculation method 'fast'"},
      {"method", "7", "\"method\" must be a string"},
      {"method", "\"ngram_cache\"", "method ngram_cache needs"},
      {"num_speculative_tokens", "0", "\"num_speculative_tokens\" must be null or"},
      {"num_speculative_tokens", "65", "\"num_speculative_tokens\" must be null or"},
      {"num_speculative_tokens", "18446744073709551615", "\"num_speculative_tokens\" must be"},
      {"draft_model", "null", "method draft_model needs \"model\""},
      {"draft_model", "[1]", "\"draft_model\" must be a string"},
      {"pass_times", "{}", "\"pass_times\" must be up to 64 pairs"},
      {"pass_times", "[[1]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, \"a\"]]", "\"pass_times\" must be"},
      {"pass_times", "[[2, 0.1]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, 0.1], [1, 0.2]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, 0.1], [65, 0.2]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, 0]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, -1]]", "\"pass_times\" must be"},
      {"pass_times", "[[1, 1e200]]", "\"pass_times\" must be"},
      {"pass_times", "[[-1, 0.1]]", "\"pass_times\" must be"},
      {"tokens_per_second", "-1", "\"tokens_per_second\" must be"},
      {"tokens_per_second", "null", "\"tokens_per_second\" must be a number"},
      {"speedup", "1e10", "\"speedup\" must be"},
      {"other", "1", "unknown key \"other\""},
  };
  for (const auto& c : cases) {
    Json json = ProfileJson(Example());
    json[c.key] = Json::parse(c.value);
    const auto read = ParseProfile(DumpJson(json));
    ASSERT_FALSE(read.ok()) << c.key << ' ' << c.value;
    EXPECT_THAT(read.error().message, HasSubstr(c.message));
    EXPECT_LT(read.error().message.size(), 300u);
  }
  Json many = ProfileJson(Example());
  for (int rows = 9; rows < 100; ++rows) many["pass_times"].push_back(Json::array({rows, rows}));
  EXPECT_FALSE(ParseProfile(DumpJson(many)).ok());
  const Json whole = ProfileJson(Example());
  for (const auto& [key, value] : whole.items()) {
    Json json = whole;
    json.erase(key);
    const auto read = ParseProfile(DumpJson(json));
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_THAT(read.error().message, HasSubstr("\"" + key + "\""));
  }
}

TEST(Profile, DamagedBytesAreAnErrorOrAnotherProfile) {
  const std::string whole = DumpJson(ProfileJson(Example()));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseProfile(whole.substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char bit : {1, 8, 32, -128}) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ bit);
      const auto read = ParseProfile(flipped);
      if (read.ok()) continue;  // another name, another number
      EXPECT_FALSE(read.error().message.empty());
    }
  }
}

TEST(Profile, IdentityIsOfSizeBeginningAndEnd) {
  TempDir folder;
  std::string bytes(size_t{3} << 20, 'a');
  const auto identity = IdentifyFile(folder.Write("m", bytes));
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->name, "m");
  EXPECT_EQ(identity->bytes, bytes.size());
  EXPECT_EQ(identity->hash.size(), 16u);
  EXPECT_EQ(*IdentifyFile(folder.Path("m")), *identity);
  for (const size_t at : {size_t{0}, bytes.size() - 1}) {
    std::string other = bytes;
    other[at] = 'b';
    EXPECT_NE(IdentifyFile(folder.Write("m", other))->hash, identity->hash);
  }
  EXPECT_NE(IdentifyFile(folder.Write("m", bytes + 'a'))->hash, identity->hash);
  EXPECT_TRUE(IdentifyFile(folder.Write("empty", "")).ok());
  EXPECT_FALSE(IdentifyFile(folder.Path("absent")).ok());
  EXPECT_FALSE(IdentifyFile(folder.path()).ok());
}

TEST(Profile, SaysWhyItsTimesDoNotHold) {
  const Profile profile = Example();
  const FileIdentity model = profile.model;
  EXPECT_EQ(ProfileDifference(profile, model, "A CPU", "avx2", 2), "");
  EXPECT_EQ(ProfileDifference(profile, {"m.gguf", 1234, "1"}, "A CPU", "avx2", 2),
            "measured with another file of the name m.gguf");
  EXPECT_EQ(ProfileDifference(profile, {"n.gguf", 1234, model.hash}, "A CPU", "avx2", 2),
            "measured with m.gguf, not n.gguf");
  EXPECT_EQ(ProfileDifference(profile, model, "B", "avx2", 2), "measured on A CPU, not B");
  EXPECT_EQ(ProfileDifference(profile, model, "A CPU", "ref", 2), "measured with avx2, not ref");
  EXPECT_EQ(ProfileDifference(profile, model, "A CPU", "avx2", 1),
            "measured with 2 threads, not 1");
}

// --profile in the program.
class ProfileFlag : public ::testing::Test {
 protected:
  ProfileFlag() {
    profile_.model = *IdentifyFile(model_);
    profile_.cpu = CpuName();
    profile_.isa = IsaName(*ChooseIsa());
    profile_.threads = AvailableCpus();
  }
  int Run(const std::string& subcommand, std::vector<std::string> more) {
    std::vector<std::string> arguments = {subcommand, "--model", model_, "--profile",
                                          folder_.Write("p.json", DumpJson(ProfileJson(profile_)))};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return app_.Run(arguments);
  }

  AppHarness app_;
  TempDir folder_;
  const std::string model_ = folder_.Write("m.gguf", "a model");
  Profile profile_ = Example();
};

TEST_F(ProfileFlag, GivesMethodDraftModelAndPassTimes) {
  for (const char* subcommand : {"run", "demo"}) {
    ASSERT_EQ(Run(subcommand, {"hi"}), kExitOk) << app_.err();
    EXPECT_THAT(app_.err(), Not(HasSubstr("warning")));
    EXPECT_EQ(app_.loads[0].draft_model, "/models/small.gguf");
    ASSERT_EQ(app_.loads[0].pass_times.size(), 3u);
    const SpeculativeConfig& config = app_.calls.back().speculation;
    EXPECT_EQ(config.method, DrafterKind::kDraftModel);
    EXPECT_EQ(config.num_speculative_tokens, 4);
  }
}

TEST_F(ProfileFlag, AnExplicitConfigurationWins) {
  ASSERT_EQ(Run("run", {"hi", "--speculative-config", R"({"method": "ngram"})"}), kExitOk);
  EXPECT_EQ(app_.calls[0].speculation.method, DrafterKind::kNgram);
  EXPECT_EQ(app_.calls[0].speculation.num_speculative_tokens, 0);
  EXPECT_EQ(app_.loads[0].draft_model, "");
  EXPECT_EQ(app_.loads[0].pass_times.size(), 3u);  // they are still the machine's
}

TEST_F(ProfileFlag, ABenchComparesItsMethodOrUsesItsDraftModel) {
  const std::string prompts =
      folder_.Write("q.jsonl", R"({"id": "a", "category": "c", "prompt": "p"})");
  ASSERT_EQ(Run("bench", {"--json", "--prompts", prompts, "--rounds", "1"}), kExitOk);
  EXPECT_TRUE(app_.Json()["methods"].contains("draft_model:4"));
  ASSERT_EQ(Run("bench", {"--json", "--prompts", prompts, "--rounds", "1", "--methods",
                          "ngram,draft_model"}),
            kExitOk)
      << app_.err();
  EXPECT_TRUE(app_.Json()["methods"].contains("ngram"));
  EXPECT_EQ(app_.loads[0].draft_model, "/models/small.gguf");
}

TEST_F(ProfileFlag, OfAnotherModelOrMachineItIsHalfUsedWithAWarning) {
  profile_.cpu = "Another\nCPU";
  ASSERT_EQ(Run("run", {"hi"}), kExitOk);
  EXPECT_THAT(app_.err(), HasSubstr("p.json: measured on Another CPU, not "));
  EXPECT_THAT(app_.err(), HasSubstr("its pass times are not"));
  EXPECT_TRUE(app_.loads[0].pass_times.empty());
  EXPECT_EQ(app_.calls[0].speculation.method, DrafterKind::kDraftModel);
  profile_.cpu = CpuName();
  profile_.model.bytes += 1;
  ASSERT_EQ(Run("run", {"hi"}), kExitOk);
  EXPECT_THAT(app_.err(), HasSubstr("another file of the name m.gguf"));
  EXPECT_TRUE(app_.loads[0].pass_times.empty());
}

TEST_F(ProfileFlag, WhatIsWrongWithItIsOneLineAndExit2) {
  profile_.threads = 0;
  EXPECT_EQ(Run("run", {"hi"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("hunch run: --profile: "));
  EXPECT_THAT(app_.err(), HasSubstr("p.json: \"threads\" must be"));
  EXPECT_EQ(app_.Run({"run", "--model", model_, "--profile", folder_.Path("absent"), "hi"}),
            kExitUsage);
  EXPECT_TRUE(app_.loads.empty());
}

}  // namespace
}  // namespace hunch
