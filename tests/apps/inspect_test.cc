#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/commands.h"
#include "support/app_harness.h"

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = 1 << 20;

InspectReport Report() {
  InspectReport report;
  report.target = {.path = "m.gguf",
                   .architecture = "llama",
                   .name = "Tiny",
                   .file_bytes = 100 * kMiB,
                   .parameters = 135'000'000,
                   .tensor_types = {{"F32", 61}, {"Q4_1", 210}},
                   .layers = 30,
                   .hidden = 576,
                   .heads = 9,
                   .kv_heads = 3,
                   .head_dim = 64,
                   .vocab_rows = 49152,
                   .context_length = 8192,
                   .tokenizer_model = "gpt2",
                   .pre_tokenizer = "smollm",
                   .vocab_size = 49152,
                   .end_tokens = {{0, "<|endoftext|>"}, {2, "<|im_end|>"}},
                   .has_chat_template = true};
  report.max_model_len = 8192;
  report.max_num_seqs = 1;
  report.memory = {.target_weights = 100 * kMiB,
                   .kv = 200 * kMiB,
                   .scratch = 10 * kMiB,
                   .available = 1024 * kMiB};
  report.kv_cache_dtype = "f16";
  report.kv_bytes_per_token = 23040;
  return report;
}

TEST(Inspect, ShowsTheModel) {
  AppHarness app;
  app.inspect_report = Report();
  EXPECT_EQ(app.Run({"inspect", "m.gguf", "--max-num-seqs", "2", "--max-model-len", "100",
                     "--kv-cache-dtype", "f32"}),
            kExitOk);
  EXPECT_EQ(app.loads[0].model, "m.gguf");
  EXPECT_EQ(app.loads[0].max_num_seqs, 2);
  EXPECT_EQ(app.loads[0].max_model_len, 100);
  EXPECT_EQ(app.loads[0].kv_cache_dtype, KvType::kF32);
  for (const char* text :
       {"target: m.gguf", "llama (Tiny)", "135.0 million", "100.0 MiB", "61 x F32, 210 x Q4_1",
        "30 layers, width 576, 9 heads, 3 key/value heads of 64", "gpt2 / smollm",
        "0 \"<|endoftext|>\", 2 \"<|im_end|>\"",
        "1 sequence of 8192 tokens, 23040 bytes of f16 cache a token\n", "310.0 MiB", "1.00 GiB",
        "verdict: fits\n"}) {
    EXPECT_THAT(app.out(), HasSubstr(text));
  }
  EXPECT_THAT(app.out(), Not(HasSubstr("draft")));
}

TEST(Inspect, JsonHoldsTheSame) {
  AppHarness app;
  InspectReport report = Report();
  report.draft = {report.target};
  app.inspect_report = report;
  EXPECT_EQ(app.Run({"inspect", "m.gguf", "--draft", "d.gguf", "--json"}), kExitOk);
  EXPECT_EQ(app.loads[0].draft_model, "d.gguf");
  const auto json = app.Json();
  EXPECT_EQ(json["target"]["tensor_types"]["Q4_1"], 210);
  EXPECT_EQ(json["target"]["end_tokens"][1]["token"], "<|im_end|>");
  EXPECT_EQ(json["draft"]["architecture"], "llama");
  EXPECT_EQ(json["vocabularies_fit"], true);
  EXPECT_EQ(json["memory"]["total"], 310 * kMiB);
  EXPECT_EQ(json["memory"]["fits"], true);
  EXPECT_EQ(json["memory"]["kv_cache_dtype"], "f16");
  EXPECT_EQ(json["memory"]["kv_bytes_per_token"], 23040);
  EXPECT_TRUE(json["advice"].is_null());
}

TEST(Inspect, AHeadIsShownBesideADraftModel) {
  AppHarness app;
  InspectReport report = Report();
  ModelReport head = report.target;
  head.path = "h.gguf";
  head.drafter = DrafterKind::kEagle3;
  report.draft = {report.target, head};
  report.memory.head_weights = 7 * kMiB;
  app.inspect_report = report;
  EXPECT_EQ(app.Run({"inspect", "m.gguf", "--head", "h.gguf", "--heads", "folder"}), kExitOk);
  EXPECT_EQ(app.loads[0].head, "h.gguf");
  EXPECT_EQ(app.loads[0].heads, "folder");
  for (const char* text : {"\ndraft: m.gguf\n", "\nhead: h.gguf\n", "as eagle3\n", "head weights",
                           "7.0 MiB", "317.0 MiB"}) {
    EXPECT_THAT(app.out(), HasSubstr(text));
  }
  EXPECT_EQ(app.Run({"inspect", "m.gguf", "--json"}), kExitOk);
  const auto json = app.Json();
  EXPECT_EQ(json["draft"]["drafter"], "draft_model");
  EXPECT_EQ(json["head"]["drafter"], "eagle3");
  EXPECT_EQ(json["memory"]["head_weights"], 7 * kMiB);
}

TEST(Inspect, AVocabularyThatDoesNotFitIsExit1) {
  AppHarness app;
  InspectReport report = Report();
  report.draft = {report.target};
  report.vocabulary_difference = "token 5 is \"a\" here and \"b\" there";
  app.inspect_report = report;
  EXPECT_EQ(app.Run({"inspect", "m.gguf", "--draft", "d.gguf"}), kExitFailure);
  EXPECT_THAT(app.out(), HasSubstr("vocabularies: do not fit: token 5 is"));
  EXPECT_THAT(app.out(), HasSubstr("verdict: fits, but the draft model cannot draft"));
}

// The verdict names the setting that makes it fit, and that setting does.
TEST(Inspect, AdvisesWhatWouldFit) {
  AppHarness app;
  const auto verdict = [&](InspectReport report, std::vector<std::string> more = {}) {
    app.inspect_report = report;
    more.insert(more.begin(), {"inspect", "m.gguf"});
    EXPECT_EQ(app.Run(more), kExitFailure);
    return app.out().substr(app.out().find("verdict: "));
  };
  InspectReport report = Report();
  report.memory.available = 210 * kMiB;  // half of the cache
  EXPECT_EQ(verdict(report), "verdict: does not fit; --max-model-len 4096 would fit\n");
  report.smaller_caches = {{"f16", 101 * kMiB}, {"q8_0", 52 * kMiB}};
  EXPECT_EQ(verdict(report), "verdict: does not fit; --kv-cache-dtype q8_0 would fit\n");
  report.smaller_caches[0].second = 100 * kMiB;
  EXPECT_EQ(verdict(report), "verdict: does not fit; --kv-cache-dtype f16 would fit\n");
  report.smaller_caches.clear();
  report.max_num_seqs = 8;
  EXPECT_EQ(verdict(report), "verdict: does not fit; --max-num-seqs 4 would fit\n");
  report.memory.available = 120 * kMiB;  // a twentieth of the cache: 0.4 of one sequence
  EXPECT_EQ(verdict(report),
            "verdict: does not fit; --max-model-len 3264 with --max-num-seqs 1 would fit\n");
  report.memory.available = 50 * kMiB;
  EXPECT_THAT(verdict(report), HasSubstr("use a smaller model"));
  report.draft = {report.target};
  EXPECT_THAT(verdict(report), HasSubstr("leave out the draft model, or"));
  report.draft[0].drafter = DrafterKind::kEagle3;
  EXPECT_THAT(verdict(report), HasSubstr("leave out the head, or"));
}

TEST(Inspect, AFilesNameDoesNotCommandTheTerminal) {
  AppHarness app;
  app.inspect_report = Report();
  app.inspect_report->target.name = "\x1b[2Jred\nverdict: fits\xff";
  EXPECT_EQ(app.Run({"inspect", "m.gguf"}), kExitOk);
  EXPECT_THAT(app.out(), HasSubstr("llama ( [2Jred verdict: fits\uFFFD)\n"));
}

}  // namespace
}  // namespace hunch
