// A head from its file to its guesses, on a tiny model: no text changes, and what does not fit is
// refused with a reason that names both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "session/head_in_llm.h"

namespace hunch {
namespace {

using testing::HasSubstr;

TEST_F(HeadInLlm, GuessesAndChangesNoText) {
  using Case = std::tuple<const char*, HeadKind, const char*>;
  for (const auto& [target, kind, method] :
       {Case{"llama", HeadKind::kEagle3, "eagle3"}, Case{"qwen2", HeadKind::kEagle3, "eagle3"},
        Case{"llama", HeadKind::kEagle, "eagle2"}, Case{"qwen3", HeadKind::kEagle, "eagle"},
        Case{"llama", HeadKind::kMedusa, "medusa"}}) {
    const std::string head = WriteHead(folder_, target, kind);
    auto llm = Llm::Load({.model = TinyModelPath(target),
                          .draft_model = head,
                          .threads = 2,
                          .enable_prefix_caching = true});
    ASSERT_TRUE(llm.ok()) << llm.error().message;
    int64_t accepted = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      params_.seed = seed;
      const auto plain = Generate(**llm, {});
      const auto guessed = Generate(**llm, With(ParseDraftMethod(method).value()));
      const auto together =
          Generate(**llm, With(ParseDraftMethod(std::string("suffix+") + method).value()));
      const auto automatic = Generate(**llm, With(DraftMethod::Auto(), head));
      ASSERT_TRUE(plain.ok() && guessed.ok() && together.ok() && automatic.ok());
      EXPECT_EQ(guessed->token_ids, plain->token_ids);
      EXPECT_EQ(together->token_ids, plain->token_ids);
      EXPECT_EQ(automatic->token_ids, plain->token_ids);
      EXPECT_GT(guessed->speculation.draft_tokens, 30);
      EXPECT_EQ(guessed->speculation.drafter_errors, 0);
      accepted += guessed->speculation.accepted_tokens;
      EXPECT_EQ(guessed->speculation.drafters.back().name, method);
      EXPECT_EQ(automatic->speculation.drafters.back().name,
                kind == HeadKind::kEagle ? "eagle2" : method);
    }
    EXPECT_GT(accepted, 0) << "weights are random, but noise is shared";
  }
}

TEST_F(HeadInLlm, IsSwappedInAndOutWhileARequestRuns) {
  const std::string head = WriteHead(folder_, "llama");
  auto llm = Llm::Load({.model = TinyModelPath("llama"), .threads = 2, .max_model_len = 200});
  ASSERT_TRUE(llm.ok());
  const auto plain = Generate(**llm, {});
  int deltas = 0;
  const auto swapped = Generate(**llm, {}, [&](const TextDelta&) {
    ++deltas;
    if (deltas == 5) {
      EXPECT_TRUE((*llm)->SwapSpeculation(With(DrafterKind::kEagle3, head)).ok());
    }
    if (deltas == 30) {
      EXPECT_TRUE((*llm)->SwapSpeculation(With(DraftMethod())).ok());
    }
    return true;
  });
  ASSERT_TRUE(plain.ok() && swapped.ok());
  EXPECT_EQ(swapped->token_ids, plain->token_ids);
  ASSERT_EQ(swapped->speculation.drafters.size(), 1u);
  EXPECT_EQ(swapped->speculation.drafters[0].name, "eagle3");
  EXPECT_GT(swapped->speculation.draft_tokens, 20);
}

TEST_F(HeadInLlm, WhatDoesNotFitIsRefusedWithAReason) {
  const std::string head = WriteHead(folder_, "llama");
  const auto message = [](LlmOptions options) {
    auto llm = Llm::Load(options);
    return llm.ok() ? std::string("loaded") : llm.error().message;
  };
  EXPECT_THAT(message({.model = TinyModelPath("qwen3"), .draft_model = head}),
              testing::AllOf(
                  HasSubstr(head + " is a head for another target than " + TinyModelPath("qwen3")),
                  HasSubstr("architecture llama, not qwen3")));
  EXPECT_THAT(message({.model = TinyModelPath("llama3_rope"), .draft_model = head}),
              HasSubstr("vocabulary"));
  EXPECT_THAT(
      message({.model = TinyModelPath("llama"), .draft_model = head, .draft_quantization = "q4_0"}),
      HasSubstr("leave them out"));
  EXPECT_THAT(message({.model = head}), HasSubstr("is a head, which guesses for a model"));
}

TEST_F(HeadInLlm, InspectTellsWhatItIsAndWhetherItFits) {
  const std::string head = WriteHead(folder_, "llama");
  const auto report = Inspect({.model = TinyModelPath("llama"), .draft_model = head});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->vocabulary_difference, "");
  ASSERT_EQ(report->draft.size(), 1u);
  EXPECT_EQ(report->draft[0].drafter, DrafterKind::kEagle3);
  EXPECT_EQ(report->draft[0].vocab_rows, report->draft[0].vocab_size / 2 - 1);
  EXPECT_GT(report->memory.head_weights, 0u);
  EXPECT_GT(report->memory.head_kv, 0u);
  EXPECT_EQ(report->memory.draft_weights, 0u);
  const auto misfit = Inspect({.model = TinyModelPath("qwen3"), .draft_model = head});
  ASSERT_TRUE(misfit.ok()) << misfit.error().message;
  EXPECT_THAT(misfit->vocabulary_difference, HasSubstr("is a head for another target than"));

  const std::string medusa = WriteHead(folder_, "qwen3", HeadKind::kMedusa);
  const auto without_kv = Inspect({.model = TinyModelPath("qwen3"), .draft_model = medusa});
  ASSERT_TRUE(without_kv.ok());
  EXPECT_EQ(without_kv->draft[0].drafter, DrafterKind::kMedusa);
  EXPECT_EQ(without_kv->memory.head_kv, 0u);

  const auto both = Inspect(
      {.model = TinyModelPath("llama"), .draft_model = TinyModelPath("llama"), .head = head});
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_EQ(both->draft.size(), 2u);
  EXPECT_EQ(both->draft[0].drafter, DrafterKind::kDraftModel);
  EXPECT_EQ(both->draft[1].drafter, DrafterKind::kEagle3);
  EXPECT_EQ(both->memory.head_weights, report->memory.head_weights);
  EXPECT_GT(both->memory.draft_kv, 0u);
  const auto no_head = Inspect({.model = TinyModelPath("llama"), .head = TinyModelPath("llama")});
  EXPECT_THAT(no_head.error().message, HasSubstr("is a model, not a head"));
  EXPECT_THAT(Inspect({.model = head}).error().message, HasSubstr("is a head, which guesses for"));
}

TEST_F(HeadInLlm, AMethodForAnotherKindOfFileIsRefused) {
  const std::string head = WriteHead(folder_, "llama");
  auto with_head = Llm::Load({.model = TinyModelPath("llama"), .draft_model = head, .threads = 1});
  auto with_draft = Llm::Load(
      {.model = TinyModelPath("llama"), .draft_model = TinyModelPath("llama"), .threads = 1});
  auto alone = Llm::Load({.model = TinyModelPath("llama"), .threads = 1});
  ASSERT_TRUE(with_head.ok() && with_draft.ok() && alone.ok());
  EXPECT_EQ(Generate(**with_head, With(DrafterKind::kDraftModel, head)).error().message,
            "method draft_model: the head " + head + " is for the method eagle3, not draft_model");
  EXPECT_EQ(Generate(**with_head, With(DrafterKind::kMedusa)).error().message,
            "method medusa: the head " + head + " is for the method eagle3, not medusa");
  for (Llm* llm : {with_draft->get(), alone->get()}) {
    EXPECT_THAT(Generate(*llm, With(DrafterKind::kEagle3)).error().message,
                HasSubstr("method eagle3 needs a head, and none is loaded"));
  }
  EXPECT_THAT(
      Generate(**with_head, With(ParseDraftMethod("eagle3+draft_model").value())).error().message,
      HasSubstr("needs a draft model"));
  const auto two = Llm::Load(
      {.model = TinyModelPath("llama"), .draft_model = head, .head = folder_.Path("other")});
  EXPECT_THAT(two.error().message, HasSubstr("is another one: name one of them"));
}

}  // namespace
}  // namespace hunch
