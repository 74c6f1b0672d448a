#include "apps/speculation_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view json) {
  const auto flag = ParseSpeculationFlag(json);
  EXPECT_FALSE(flag.ok()) << json;
  if (flag.ok()) return "";
  EXPECT_EQ(flag.error().code, ErrorCode::kInvalidArgument);
  return flag.error().message;
}

TEST(SpeculationFlag, ReadsEveryKey) {
  const auto flag = ParseSpeculationFlag(
      R"({"method": "ngram+draft_model", "model": "d.gguf", "head": "h.gguf",
          "num_speculative_tokens": 64,
          "prompt_lookup_max": 8, "prompt_lookup_min": 3, "policy": "threshold",
          "acceptance_warning": 0.25, "lookahead_window": 7, "lookahead_ngram": 3,
          "lookahead_guesses": 6, "ngram_cache": "x.ngc", "disable_by_batch_size": 4,
          "max_model_len": 512})");
  ASSERT_TRUE(flag.ok()) << flag.error().message;
  const auto config = SingleMethod(flag.value());
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config.value().method, ParseDraftMethod("ngram+draft_model").value());
  EXPECT_EQ(config.value().model, "d.gguf");
  EXPECT_EQ(config.value().head, "h.gguf");
  EXPECT_EQ(config.value().num_speculative_tokens, 64);
  EXPECT_EQ(config.value().prompt_lookup_max, 8);
  EXPECT_EQ(config.value().prompt_lookup_min, 3);
  EXPECT_EQ(config.value().policy, SpeculationPolicy::kThreshold);
  EXPECT_EQ(config.value().acceptance_warning, 0.25f);
  EXPECT_EQ(config.value().lookahead_window, 7);
  EXPECT_EQ(config.value().lookahead_ngram, 3);
  EXPECT_EQ(config.value().lookahead_guesses, 6);
  EXPECT_EQ(config.value().ngram_cache, "x.ngc");
  EXPECT_EQ(config.value().disable_by_batch_size, 4);
  EXPECT_EQ(config.value().max_model_len, 512);
}

TEST(SpeculationFlag, TakesOlderNamesOfVllm) {
  const auto flag = ParseSpeculationFlag(
      R"({"speculative_disable_by_batch_size": 2, "speculative_max_model_len": 9})");
  ASSERT_TRUE(flag.ok()) << flag.error().message;
  EXPECT_EQ(flag.value().fields.disable_by_batch_size, 2);
  EXPECT_EQ(flag.value().fields.max_model_len, 9);
}

TEST(SpeculationFlag, IsWrittenAsItIsRead) {
  for (const char* json : {"{}", R"({"method": "none"})", R"({"head": "none"})",
                           R"({"method": "suffix+ngram", "num_speculative_tokens": 3,
                               "policy": "threshold", "disable_by_batch_size": 4,
                               "max_model_len": 99, "shared_store": true, "suffix_store": "s"})"}) {
    const SpeculativeConfig config = SingleMethod(ParseSpeculationFlag(json).value()).value();
    const Json written = SpeculativeConfigJson(config);
    const auto again = ParseSpeculationFlag(written.dump());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(SpeculativeConfigJson(SingleMethod(again.value()).value()), written);
    EXPECT_EQ(again.value().method, config.method);
    EXPECT_EQ(again.value().fields.num_speculative_tokens, config.num_speculative_tokens);
    EXPECT_EQ(again.value().fields.policy, config.policy);
    EXPECT_EQ(again.value().fields.max_model_len, config.max_model_len);
    EXPECT_EQ(again.value().fields.suffix_store, config.suffix_store);
    EXPECT_EQ(again.value().fields.head, config.head);
  }
}

TEST(SpeculationFlag, RefusesWithTheReason) {
  const struct {
    std::string_view json, message;
  } cases[] = {
      {"", "bad JSON"},
      {"ngram", R"(; give an object like '{"method": "ngram"}')"},
      {"null", "expected an object, got null"},
      {R"("ngram")", "expected an object, got a string"},
      {R"({"method": "ngram"} x)", "bad JSON"},
      {R"({"methods": "ngram"})",
       "unknown key \"methods\"; known keys: method, model, head, draft_quantization, "
       "draft_vocab, num_speculative_tokens, policy"},
      {R"({"method": 1})", "\"method\" must be a string, not a number"},
      {R"({"method": null})", "\"method\" must be a string, not null"},
      {R"({"method": "oracle"})", "unknown speculation method 'oracle': use none, auto"},
      {R"({"model": ["a"]})", "\"model\" must be a string, not an array"},
      {R"({"num_speculative_tokens": "4"})",
       "\"num_speculative_tokens\" must be a whole number, not a string"},
      {R"({"num_speculative_tokens": 4.5})",
       "\"num_speculative_tokens\" must be a whole number, not 4.5"},
      {R"({"num_speculative_tokens": true})", "must be a whole number, not a boolean"},
      {R"({"num_speculative_tokens": 0})", "\"num_speculative_tokens\" is 0"},
      {R"({"num_speculative_tokens": -3})", "\"num_speculative_tokens\" is -3"},
      {R"({"num_speculative_tokens": 65})", "num_speculative_tokens"},
      {R"({"num_speculative_tokens": 18446744073709551615})", "num_speculative_tokens"},
      {R"({"prompt_lookup_min": 5, "prompt_lookup_max": 2})", "prompt_lookup_min"},
      {R"({"prompt_lookup_max": 0})", "\"prompt_lookup_max\" is 0"},
      {R"({"policy": "best"})", "unknown policy 'best': use goodput, fixed or threshold"},
      {R"({"policy": "fixed"})", "policy fixed needs num_speculative_tokens"},
      {R"({"acceptance_warning": 2})", "\"acceptance_warning\" is 2"},
  };
  for (const auto& c : cases) EXPECT_THAT(ErrorOf(c.json), HasSubstr(c.message)) << c.json;
}

TEST(SpeculationFlag, OneLookupBoundMovesTheOthersDefault) {
  const auto low = ParseSpeculationFlag(R"({"prompt_lookup_max": 1})");
  ASSERT_TRUE(low.ok()) << low.error().message;
  EXPECT_EQ(low.value().fields.prompt_lookup_min, 1);
  const auto high = ParseSpeculationFlag(R"({"prompt_lookup_min": 9})");
  ASSERT_TRUE(high.ok()) << high.error().message;
  EXPECT_EQ(high.value().fields.prompt_lookup_max, 9);
}

TEST(SpeculationFlag, AModelAloneMeansDraftModel) {
  const auto flag = ParseSpeculationFlag(R"({"model": "d.gguf"})");
  ASSERT_TRUE(flag.ok());
  EXPECT_FALSE(flag.value().method.has_value());
  EXPECT_EQ(SingleMethod(flag.value()).value().method, DraftMethod(DrafterKind::kDraftModel));
}

TEST(SpeculationFlag, NothingMeansAuto) {
  EXPECT_EQ(SingleMethod({}).value().method, DraftMethod::Auto());
  EXPECT_EQ(SingleMethod({}).value().num_speculative_tokens, 0);
}

TEST(SpeculationFlag, LabelsTellSettingsApart) {
  SpeculationFlag flag;
  const auto label = [&](const char* text) {
    return MethodLabel(ConfigOf(flag, ParseMethodChoice(text).value()));
  };
  for (const char* text : {"none", "auto", "ngram:4", "ngram+draft_model", "auto:threshold"}) {
    EXPECT_EQ(label(text), text);
  }
  flag.fields.num_speculative_tokens = 3;
  EXPECT_EQ(label("ngram"), "ngram:3");
  EXPECT_EQ(label("none"), "none");
  flag.fields.policy = SpeculationPolicy::kThreshold;
  EXPECT_EQ(label("ngram"), "ngram:threshold");
  EXPECT_EQ(label("none"), "none");
}

TEST(SpeculationFlag, AMethodMustBeComplete) {
  for (const auto* json : {R"({"method": "draft_model"})", R"({"method": "ngram+draft_model"})"}) {
    const auto flag = ParseSpeculationFlag(json);
    ASSERT_TRUE(flag.ok());
    EXPECT_THAT(SingleMethod(flag.value()).error().message, HasSubstr("needs \"model\""));
  }
}

// A head that nobody names may be shipped; one that nobody wants is none.
TEST(SpeculationFlag, AMethodWithAHeadNeedsNoName) {
  const auto config = SingleMethod(ParseSpeculationFlag(R"({"method": "suffix+eagle3"})").value());
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->HeadMethod(), DrafterKind::kEagle3);
  const auto none =
      SingleMethod(ParseSpeculationFlag(R"({"method": "suffix+eagle3", "head": "none"})").value());
  EXPECT_THAT(none.error().message, HasSubstr("method suffix+eagle3 needs a head: leave out"));
}

TEST(SpeculationFlag, AFileAloneMeansItsMethod) {
  const TempDir folder;
  const auto file = GgufFile::Open(TinyModelPath("llama")).value();
  const HeadConfig head = SmallHead(ReadModelConfig(*file).value(), 288, HeadKind::kEagle);
  const std::vector<std::byte> bytes = HeadBytes(head, RandomValues(1));
  const std::string path =
      folder.Write("h.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto method = [](const std::string& model, const std::string& named_head) {
    SpeculationFlag flag;
    flag.fields.model = model;
    flag.fields.head = named_head;
    return SingleMethod(flag).value().method;
  };
  EXPECT_EQ(method(path, ""), DraftMethod(DrafterKind::kEagle2));
  EXPECT_EQ(method(TinyModelPath("llama"), ""), DraftMethod(DrafterKind::kDraftModel));
  EXPECT_EQ(method("absent.gguf", ""), DraftMethod(DrafterKind::kDraftModel));
  EXPECT_EQ(method("", path), DraftMethod::Auto());
  EXPECT_EQ(method(TinyModelPath("llama"), path), DraftMethod::Auto()) << "both";
}

// Several configurations of one run name one file each.
TEST(SpeculationFlag, SaysWhatHasToBeLoaded) {
  SpeculativeConfig plain, automatic, both;
  automatic.method = DraftMethod::Auto();
  both.method = ParseDraftMethod("medusa+draft_model").value();
  both.model = "d.gguf";
  both.draft_quantization = "q4_0";
  LlmOptions options;
  const auto name = [&](std::vector<SpeculativeConfig> configs) { NameDrafts(configs, options); };
  name({plain, automatic, both});
  EXPECT_EQ(options.draft_model, "d.gguf");
  EXPECT_EQ(options.draft_quantization, "q4_0");
  EXPECT_EQ(options.head, "");
  EXPECT_EQ(options.head_method, DrafterKind::kMedusa);
  name({plain, automatic});
  EXPECT_EQ(options.draft_model, "");
  EXPECT_EQ(options.draft_quantization, "");
  EXPECT_EQ(options.head, "") << "the shipped one";
  EXPECT_EQ(options.head_method, std::nullopt);
  automatic.head = kNoHead;
  name({plain, automatic});
  EXPECT_EQ(options.head, kNoHead);
  both.head = "h.gguf";
  name({both});
  EXPECT_EQ(options.head, "h.gguf");
  name({plain});
  EXPECT_EQ(options.head, kNoHead);
}

// They would do nothing, and the user would not know.
TEST(SpeculationFlag, WhatDoesNothingAloneIsRefused) {
  for (const auto* json :
       {R"({"draft_vocab": "v.txt"})", R"({"draft_quantization": "q4_0"})",
        R"({"method": "none", "draft_vocab": "v.txt"})", R"({"cache_salt": "a"})"}) {
    const auto config = SingleMethod(ParseSpeculationFlag(json).value());
    ASSERT_FALSE(config.ok()) << json;
    EXPECT_THAT(config.error().message, HasSubstr("\" needs \"")) << json;
  }
  for (const auto* json : {R"({"model": "d", "draft_vocab": "v", "draft_quantization": "q4_0"})",
                           R"({"cache_salt": "a", "shared_store": true})",
                           R"({"cache_salt": "a", "suffix_store": "s"})"}) {
    EXPECT_TRUE(SingleMethod(ParseSpeculationFlag(json).value()).ok()) << json;
  }
}

TEST(SpeculationFlag, NoneAndAutoStandAlone) {
  for (const auto* json : {R"({"method": "auto+ngram"})", R"({"method": "ngram+none"})"}) {
    const auto flag = ParseSpeculationFlag(json);
    ASSERT_FALSE(flag.ok()) << json;
    EXPECT_THAT(flag.error().message, HasSubstr("stands alone")) << json;
  }
}

}  // namespace
}  // namespace hunch
