// hunch train from nothing to a head, with a model and a trainer that are fakes: what is made once,
// and what an interrupted run goes on from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "draft/head_file.h"
#include "learn/segment_file.h"
#include "model/config.h"
#include "support/app_harness.h"
#include "support/fake_head_trainer.h"
#include "support/files.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using testing::HasSubstr;

class TrainCommandTest : public testing::Test {
 protected:
  TrainCommandTest() {
    app_.script.answers["user: "] = "what is a pear?";
    app_.script.answers["user: what is a pear?\n"] = "a fruit that is no apple";
    app_.script.before_token = [this](size_t) {
      if (++tokens_ == stop_at_token_) app_.interrupts.pending = SIGINT;
    };
    app_.make_head_trainer = [this](const HeadStart& start) {
      return Watched(std::make_unique<FakeHeadTrainer>(start.config));
    };
    app_.make_draft_trainer = [this](const DraftStart& start) {
      return Watched(std::make_unique<FakeHeadTrainer>(start.tensors));
    };
  }
  std::unique_ptr<HeadTrainer> Watched(std::unique_ptr<FakeHeadTrainer> trainer) {
    trainer->on_update = [this](int64_t updates) {
      if (updates == stop_at_update_) app_.interrupts.pending = SIGINT;
    };
    return trainer;
  }
  int Train(const std::string& head, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "train",    "--model", TinyModelPath("llama"), "-o", head, "--requests", "100",
        "--epochs", "2",       "--batch-tokens",       "200"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    app_.interrupts.pending = 0;
    return app_.Run(arguments);
  }

  TempDir dir_;
  AppHarness app_;
  int tokens_ = 0, stop_at_token_ = -1;
  int64_t stop_at_update_ = -1;
};

TEST_F(TrainCommandTest, LeavesAHeadForItsModelAndAPage) {
  const std::string head = dir_.Path("head.gguf"), page = dir_.Path("page.html");
  ASSERT_EQ(Train(head, {"--report", page}), kExitOk) << app_.err();
  EXPECT_THAT(app_.err(), HasSubstr("96 answers of 2400 tokens to learn from, 4 held out"));
  EXPECT_THAT(app_.err(), HasSubstr("an update takes 2.00 s in f32 and 1.00 s in bf16"));
  EXPECT_THAT(app_.err(), HasSubstr("tokens per pass on held-out answers, after 4800 tokens"));
  const auto file = GgufFile::Open(head).value();
  const auto config = ReadHeadConfig(*file);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->target.hidden, 64);
  EXPECT_THAT(ReadFile(page), HasSubstr("After each epoch"));
}

TEST_F(TrainCommandTest, KilledTwiceItGoesOnToTheSameHead) {
  ASSERT_EQ(Train(dir_.Path("whole.gguf")), kExitOk) << app_.err();
  const int all_tokens = tokens_;
  const std::string head = dir_.Path("head.gguf");
  stop_at_token_ = tokens_ + all_tokens * 3 / 4;  // when some answers are whole
  EXPECT_EQ(Train(head), 128 + SIGINT);
  EXPECT_THAT(app_.err(), HasSubstr("interrupted: the same command goes on from here"));
  stop_at_update_ = 3;
  EXPECT_EQ(Train(head), 128 + SIGINT);
  EXPECT_LT(app_.calls.size(), 200u);  // not all questions and answers anew
  stop_at_update_ = -1;
  ASSERT_EQ(Train(head), kExitOk) << app_.err();
  EXPECT_TRUE(app_.calls.empty());
  EXPECT_EQ(ReadFile(head), ReadFile(dir_.Path("whole.gguf")));
}

TEST_F(TrainCommandTest, LeavesADraftModelThatGoesOnAfterAKill) {
  const std::string draft = dir_.Path("draft.gguf"), page = dir_.Path("page.html");
  const std::vector<std::string> flags = {"--kind", "draft", "--layers", "1", "--report", page};
  stop_at_update_ = 3;
  EXPECT_EQ(Train(draft, flags), 128 + SIGINT);
  stop_at_update_ = -1;
  ASSERT_EQ(Train(draft, flags), kExitOk) << app_.err();
  EXPECT_THAT(app_.err(), HasSubstr("after 4800 tokens, 1.00 before"));
  EXPECT_THAT(ReadFile(page), HasSubstr("1.00 before"));
  const auto file = GgufFile::Open(draft).value();
  EXPECT_EQ(ReadModelConfig(*file)->layers, 1);
  EXPECT_EQ(VocabularyDifference(*OpenTokenizer(draft)->tokenizer,
                                 *OpenTokenizer(TinyModelPath("llama"))->tokenizer),
            "");
  // And again, from there.
  const std::string adapted = dir_.Path("adapted.gguf");
  ASSERT_EQ(Train(adapted, {"--kind", "draft", "--from", draft}), kExitOk) << app_.err();
  EXPECT_THAT(app_.err(), HasSubstr("1.00 before"));
  EXPECT_EQ(ReadModelConfig(*GgufFile::Open(adapted).value())->layers, 1);
}

TEST_F(TrainCommandTest, GoesOnFromAHeadOnWhatAServerKept) {
  const std::string head = dir_.Path("head.gguf"), folder = dir_.Path("learn");
  const std::string candidate = dir_.Path("candidate.gguf");
  ASSERT_EQ(Train(head, {"--quantization", "q4_0"}), kExitOk) << app_.err();
  EXPECT_EQ(Train(candidate, {"--learn", folder}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--learn needs --from"));
  const auto file = GgufFile::Open(head).value();
  const HeadConfig config = ReadHeadConfig(*file).value();
  {
    const SegmentKind kind = SegmentKindOf(*GgufFile::Open(TinyModelPath("llama")).value(), config);
    SegmentWriter writer = SegmentWriter::Open(folder, kind, 1 << 30).value();
    for (int i = 0; i < 20; ++i) {
      LearnedText text = {.prompt = 16, .tokens = std::vector<TokenId>(40, i)};
      text.rows.resize(40 * kind.layout.row_bytes());
      ASSERT_TRUE(writer.Add(text).ok());
    }
  }
  ASSERT_EQ(Train(candidate, {"--learn", folder, "--from", head}), kExitOk) << app_.err();
  EXPECT_TRUE(app_.calls.empty()) << "no answer was made";
  EXPECT_THAT(app_.err(), HasSubstr("tokens per pass"));
  const auto learned = GgufFile::Open(candidate).value();
  EXPECT_EQ(ReadHeadConfig(*learned)->tokens, config.tokens);
  EXPECT_EQ(learned->FindTensor("output.weight")->type, TensorType::kQ4_0) << "as the one before";
  EXPECT_FALSE(std::filesystem::exists(folder + "/checkpoint.gguf"));
}

TEST_F(TrainCommandTest, SaysWhatIsMissing) {
  EXPECT_EQ(Train(dir_.Path("no folder/head.gguf")), kExitFailure);
  EXPECT_THAT(app_.err(), HasSubstr("cannot write"));
  EXPECT_EQ(Train(dir_.Path("head.gguf"), {"--taps", "7"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("taps 7 are asked for"));
  EXPECT_EQ(Train(dir_.Path("head.gguf"), {"--layers", "1"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--layers is of --kind draft"));
  EXPECT_EQ(Train(dir_.Path("head.gguf"), {"--kind", "draft", "--taps", "1"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--taps is of --kind eagle3"));
  EXPECT_EQ(Train(dir_.Path("other.gguf"), {"--from", TinyModelPath("llama")}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("it is no head"));
  EXPECT_EQ(Train(dir_.Path("draft.gguf"), {"--kind", "draft", "--layers", "3"}), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("--layers takes how many"));
  EXPECT_TRUE(app_.calls.empty()) << "before any answer is made";
  app_.script.answers["user: what is a pear?\n"] = "";
  EXPECT_EQ(Train(dir_.Path("third.gguf")), kExitUsage);
  EXPECT_THAT(app_.err(), HasSubstr("0 of 100 answers can be learned from"));
}

}  // namespace
}  // namespace hunch
