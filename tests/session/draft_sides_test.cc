// A head that is shipped, and a head beside a draft model, on a tiny model: which are taken,
// swapped and left out; and that no text changes.
#include "session/draft_sides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "session/head_in_llm.h"
#include "session/memory_plan.h"

namespace hunch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A folder as it is shipped.
class ShippedHeadInLlm : public HeadInLlm {
 protected:
  Result<std::unique_ptr<Llm>> Load(const LlmOptions& changes) {
    LlmOptions options = changes;
    options.model = TinyModelPath("llama");
    options.threads = 2;
    options.heads = folder_.path();
    testing::internal::CaptureStderr();
    auto llm = Llm::Load(options);
    said_ = testing::internal::GetCapturedStderr();
    return llm;
  }
  static std::vector<std::string> Drafters(const RequestOutput& output) {
    std::vector<std::string> names;
    for (const DrafterStats& drafter : output.speculation.drafters) names.push_back(drafter.name);
    return names;
  }
  const std::string medusa_ = WriteHead(folder_, "llama", HeadKind::kMedusa, "a.gguf");
  const std::string eagle3_ = WriteHead(folder_, "llama", HeadKind::kEagle3, "b.gguf");
  const std::string others_ = WriteHead(folder_, "qwen3", HeadKind::kEagle3, "c.gguf");
  std::string said_;
};

TEST_F(ShippedHeadInLlm, AutoUsesItUnlessItIsNotWanted) {
  const auto llm = Load({});
  ASSERT_TRUE(llm.ok()) << llm.error().message;
  EXPECT_EQ(said_, "");
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kEagle3);
  const auto plain = Generate(**llm, {});
  const auto automatic = Generate(**llm, With(DraftMethod::Auto()));
  const auto listed = Generate(**llm, With(ParseDraftMethod("suffix+eagle3").value()));
  SpeculativeConfig unwanted = With(DraftMethod::Auto());
  unwanted.head = kNoHead;
  const auto without = Generate(**llm, unwanted);
  ASSERT_TRUE(plain.ok() && automatic.ok() && listed.ok() && without.ok());
  EXPECT_THAT(Drafters(*automatic), ElementsAre("suffix", "token_recycling", "eagle3"));
  EXPECT_GT(automatic->speculation.drafters[2].trees, 0);
  EXPECT_THAT(Drafters(*listed), ElementsAre("suffix", "eagle3"));
  EXPECT_THAT(Drafters(*without), ElementsAre("suffix", "token_recycling"));
  for (const auto* output : {&automatic, &listed, &without}) {
    EXPECT_EQ((*output)->token_ids, plain->token_ids);
  }
  const auto none = Load({.head = std::string(kNoHead)});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ((*none)->head_method(), std::nullopt);
}

TEST_F(ShippedHeadInLlm, AMethodTakesTheOneOfItsKindOrSaysThatThereIsNone) {
  const auto llm = Load({.head_method = DrafterKind::kMedusa});
  ASSERT_TRUE(llm.ok()) << llm.error().message;
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kMedusa);
  const auto guessed = Generate(**llm, With(DrafterKind::kMedusa));
  ASSERT_TRUE(guessed.ok());
  EXPECT_THAT(Drafters(*guessed), ElementsAre("medusa"));
  const auto absent = Load({.head_method = DrafterKind::kEagle2});
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.error().message,
              AllOf(HasSubstr("method eagle2 needs a head, and none of this kind is shipped for " +
                              TinyModelPath("llama") + " in " + folder_.path()),
                    HasSubstr("hunch train")));
}

TEST_F(ShippedHeadInLlm, ABrokenOneCostsAWarning) {
  std::filesystem::remove(medusa_);
  std::filesystem::resize_file(eagle3_, 1000);
  const auto llm = Load({});
  ASSERT_TRUE(llm.ok()) << llm.error().message;
  EXPECT_THAT(said_, HasSubstr(eagle3_ + ": "));
  EXPECT_EQ((*llm)->head_method(), std::nullopt);
  EXPECT_TRUE(Generate(**llm, With(DraftMethod::Auto())).ok());
  EXPECT_FALSE(Load({.head = eagle3_}).ok()) << "that one was asked for";
}

// A head takes no other part's room.
TEST_F(ShippedHeadInLlm, WhereMemoryIsShortItIsLeftOut) {
  const LlmOptions fits = {.model = TinyModelPath("llama"), .heads = folder_.path()};
  const auto report = Inspect(fits);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->draft.size(), 1u);
  EXPECT_EQ(report->draft[0].path, eagle3_);
  const auto file = GgufFile::Open(TinyModelPath("llama")).value();
  const auto head_file = GgufFile::Open(eagle3_).value();
  PlannedModel target = {file.get(), ReadModelConfig(*file).value()};
  target.config.context_length = 1 << 24;
  const HeadConfig head = ReadHeadConfig(*head_file).value();
  const PlannedModel planned = PlanHead(*head_file, head, target.config);
  LlmOptions large = fits;
  large.max_model_len = 1 << 24;
  large.max_num_seqs = 127;
  for (const bool may_go : {true, false}) {
    const PlannedDrafts drafts = {.head = &planned, .head_may_go = may_go};
    const SizedPlan plan = PlanMemory(large, target, drafts, 1).value();
    EXPECT_EQ(plan.head_left_out, may_go);
    EXPECT_EQ(plan.memory.head_weights == 0, may_go);
    EXPECT_EQ(plan.memory.head_kv == 0, may_go);
    const Status status = CheckFits(large, target, may_go ? PlannedDrafts{} : drafts, 1, plan);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("draft model 0, head "));
  }
}

// Both beside one target: a draft model that is the target itself, which is always right, and a
// head of random weights.
class HeadAndDraftModel : public ShippedHeadInLlm {
 protected:
  const std::string model_ = TinyModelPath("llama");
  // Whoever comes first has as many guesses as there may be.
  const DraftMethod both_ = ParseDraftMethod("suffix+eagle3+draft_model").value();
  const DraftMethod turned_ = ParseDraftMethod("draft_model+eagle3").value();
};

TEST_F(HeadAndDraftModel, GuessTogetherAndChangeNoText) {
  const auto llm = Load({.draft_model = model_});
  ASSERT_TRUE(llm.ok()) << llm.error().message;
  for (const float temperature : {0.0f, 0.8f}) {
    params_.temperature = temperature;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      params_.seed = seed;
      const auto plain = Generate(**llm, {});
      const auto listed = Generate(**llm, With(both_, model_));
      const auto turned = Generate(**llm, With(turned_, model_));
      const auto automatic = Generate(**llm, With(DraftMethod::Auto(), model_));
      ASSERT_TRUE(plain.ok() && listed.ok() && turned.ok() && automatic.ok());
      EXPECT_EQ(listed->token_ids, plain->token_ids);
      EXPECT_EQ(turned->token_ids, plain->token_ids);
      EXPECT_EQ(automatic->token_ids, plain->token_ids);
      EXPECT_THAT(Drafters(*listed), ElementsAre("suffix", "eagle3", "draft_model"));
      EXPECT_THAT(Drafters(*automatic),
                  ElementsAre("suffix", "token_recycling", "eagle3", "draft_model"));
      EXPECT_GT(listed->speculation.drafters[1].trees, 0);
      EXPECT_GT(turned->speculation.drafters[0].accepted_tokens, 10) << "it knows the target";
      EXPECT_EQ(listed->speculation.drafter_errors + turned->speculation.drafter_errors, 0);
    }
  }
}

// Both draw their guesses from laws of their own, with noise of their own.
TEST_F(HeadAndDraftModel, GuessTogetherUnderTheOtherRules) {
  const auto llm = Load({.draft_model = model_});
  ASSERT_TRUE(llm.ok());
  for (const AcceptanceRule rule : {AcceptanceRule::kRatio, AcceptanceRule::kBlock}) {
    params_.acceptance = rule;
    for (const DraftMethod& method : {both_, turned_}) {
      const auto output = Generate(**llm, With(method, model_));
      ASSERT_TRUE(output.ok());
      EXPECT_GT(output->speculation.draft_tokens, 20);
      EXPECT_EQ(output->speculation.drafter_errors, 0);
    }
  }
}

TEST_F(HeadAndDraftModel, EightRequestsTogetherSayWhatEachSaysAlone) {
  const auto llm = Load({.draft_model = model_, .max_num_seqs = 8, .enable_prefix_caching = true});
  ASSERT_TRUE(llm.ok()) << llm.error().message;
  const std::vector<DraftMethod> ways = {both_, turned_, DraftMethod::Auto()};
  for (const float temperature : {0.0f, 0.8f}) {
    for (const bool swaps : {false, true}) {
      std::vector<RequestOutput> together(8);
      std::vector<TextRequest> requests(8);
      int deltas = 0;
      for (size_t i = 0; i < 8; ++i) {
        TextRequest& request = requests[i];
        for (TokenId token = 0; token < 30; ++token) {
          request.prompt.push_back(5 + token + (token > 20 ? static_cast<TokenId>(i) : 0));
        }
        request.params = params_;
        request.params.temperature = temperature;
        request.params.seed = i;
        request.speculation = With(ways[i % ways.size()], model_);
        // In the middle of the first request's answer, for all: the head alone, the other head
        // beside the draft model, nothing, both again.
        const auto on_text = [&, i](const TextDelta&) {
          const auto swap = [&](SpeculativeConfig config) {
            EXPECT_TRUE((*llm)->SwapSpeculation(config).ok());
          };
          if (i == 0 && swaps) ++deltas;
          if (i == 0 && deltas == 5) swap(With(DrafterKind::kEagle3));
          if (i == 0 && deltas == 15) {
            swap(With(ParseDraftMethod("medusa+draft_model").value(), model_));
          }
          if (i == 0 && deltas == 25) swap(With(DraftMethod()));
          if (i == 0 && deltas == 30) swap(With(both_, model_));
          return true;
        };
        const auto on_done = [&together, i](RequestOutput output) {
          together[i] = std::move(output);
        };
        ASSERT_TRUE((*llm)->Start(request, on_text, on_done).ok());
      }
      while ((*llm)->Step()) {
      }
      for (size_t i = 0; i < 8; ++i) {
        const auto alone = (*llm)->Generate(requests[i].prompt, requests[i].params, {}, nullptr);
        ASSERT_TRUE(alone.ok());
        EXPECT_EQ(together[i].token_ids, alone->token_ids) << i;
        EXPECT_GT(together[i].speculation.accepted_tokens, 0);
        EXPECT_EQ(together[i].speculation.drafter_errors, 0);
      }
      if (!swaps) continue;
      const auto names = Drafters(together[0]);
      EXPECT_THAT(names, ElementsAre("suffix", "eagle3", "draft_model", "eagle3", "medusa",
                                     "draft_model", "suffix", "eagle3", "draft_model"));
    }
  }
}

// Each comes and goes without the other.
TEST_F(HeadAndDraftModel, AreSwappedOneByOne) {
  const auto llm = Load({.head = std::string(kNoHead)});
  ASSERT_TRUE(llm.ok());
  const auto swap = [&](const SpeculativeConfig& config) {
    const Status status = (*llm)->SwapSpeculation(config);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(swap(With(DrafterKind::kDraftModel, model_)), "");
  EXPECT_EQ((*llm)->head_method(), std::nullopt);
  EXPECT_EQ(swap(With(both_, model_)), "");
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kEagle3);
  EXPECT_EQ(swap(With(DrafterKind::kMedusa)), "");
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kMedusa);
  EXPECT_TRUE(Generate(**llm, With(DrafterKind::kDraftModel)).ok()) << "it is still there";
  EXPECT_THAT(swap(With(DrafterKind::kEagle)), HasSubstr("none of this kind is shipped"));
  SpeculativeConfig other = With(DraftMethod::Auto());
  other.head = others_;
  EXPECT_THAT(swap(other), HasSubstr("is a head for another target"));
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kMedusa) << "an error changes nothing";
  other.head = eagle3_;
  EXPECT_EQ(swap(other), "");
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kEagle3);
  EXPECT_EQ(swap(With(DraftMethod())), "");
  EXPECT_EQ((*llm)->head_method(), DrafterKind::kEagle3);
  std::filesystem::remove_all(folder_.path());
  testing::internal::CaptureStderr();
  EXPECT_EQ(swap(With(DraftMethod::Auto())), "");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(folder_.path()));
  EXPECT_EQ((*llm)->head_method(), std::nullopt) << "none is shipped any more";
}

}  // namespace
}  // namespace hunch
