// Learning while serving on a tiny model, with its own engine and threads: what is kept, what is
// not, and that no text changes when a head is swapped in and back while requests run.
#include "session/learn_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "learn/text_assembler.h"
#include "session/async_llm.h"
#include "session/draft_side.h"
#include "session/learner.h"
#include "support/files.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {
namespace {

using testing::HasSubstr;

class LearnSourceTest : public testing::Test {
 protected:
  std::string WriteHead(const std::string& name, uint32_t seed,
                        HeadKind kind = HeadKind::kEagle3) const {
    const auto file = GgufFile::Open(TinyModelPath("llama")).value();
    const ModelConfig model = ReadModelConfig(*file).value();
    const auto tokenizer = Tokenizer::Create(*file).value();
    HeadConfig config = SmallHead(model, tokenizer->vocab_size(), kind);
    config.target = HeadTargetOf(model, *tokenizer);
    const std::vector<std::byte> bytes = HeadBytes(config, RandomValues(seed), TensorType::kF16);
    return dir_.Write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::unique_ptr<Llm> Load(const std::string& head) const {
    return Llm::Load({.model = TinyModelPath("llama"),
                      .draft_model = head,
                      .threads = 2,
                      .max_model_len = 200,
                      .max_num_seqs = 4,
                      .learn = true})
        .value();
  }
  static SpeculativeConfig Eagle3(const std::string& head) {
    SpeculativeConfig config;
    config.method = DrafterKind::kEagle3;
    config.model = head;
    config.num_speculative_tokens = 6;
    config.acceptance_warning = 0;
    return config;
  }
  static TextRequest Request(uint64_t seed, float temperature, const SpeculativeConfig& config) {
    TextRequest request;
    for (int i = 0; i < 20; ++i)
      request.prompt.push_back(5 + (i * 7 + static_cast<int>(seed)) % 40);
    request.params.seed = seed;
    request.params.temperature = temperature;
    request.params.max_tokens = 120;
    request.params.ignore_eos = true;
    request.speculation = config;
    return request;
  }
  static std::vector<LearnedText> Drain(LearnSource& source) {
    std::vector<LearnedText> texts;
    TextAssembler assembler(source.kind().layout, size_t{1} << 30,
                            [&](LearnedText text) { texts.push_back(std::move(text)); });
    while (const auto slot = source.ring().Front()) {
      assembler.Add(slot->label, slot->row);
      source.ring().Pop();
    }
    return texts;
  }
  static RequestOutput Run(Llm& llm, TextRequest request) {
    std::optional<RequestOutput> output;
    const auto id = llm.Start(std::move(request), nullptr,
                              [&](RequestOutput done) { output = std::move(done); });
    EXPECT_TRUE(id.ok());
    while (!output) llm.Step();
    return *output;
  }

  const TempDir dir_;
};

TEST_F(LearnSourceTest, KeepsWhatIsCommittedButForAuditsAndSalts) {
  const std::string head = WriteHead("head.gguf", 4);
  const auto llm = Load(head);
  ASSERT_NE(llm->learn_source(), nullptr);
  const RequestOutput kept = Run(*llm, Request(1, 0.8f, Eagle3(head)));
  std::vector<LearnedText> texts = Drain(*llm->learn_source());
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].prompt, 20u);
  EXPECT_EQ(texts[0].temperature, 0.8f);
  const std::vector<TokenId> answer(texts[0].tokens.begin() + 20, texts[0].tokens.end());
  EXPECT_EQ(answer, kept.token_ids);

  TextRequest salted = Request(2, 0, Eagle3(head));
  salted.speculation.cache_salt = "mine";
  Run(*llm, std::move(salted));
  TextRequest audit = Request(3, 0, {});
  audit.background = true;
  Run(*llm, std::move(audit));
  EXPECT_FALSE(llm->learn_source()->ring().Front()) << "not a row";

  Run(*llm, Request(4, 0, {}));
  EXPECT_EQ(Drain(*llm->learn_source()).size(), 1u) << "also of who does not guess";
}

TEST_F(LearnSourceTest, ScoresHeadsOnWhatWasSaidAsTheEngineDoes) {
  for (const HeadKind kind : {HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa}) {
    const std::string head = WriteHead("a.gguf", 4, kind);
    const auto llm = Load(head);
    SpeculativeConfig config = Eagle3(head);
    config.method = DraftersOf(kind).front();
    LearnedTexts texts;
    for (uint64_t seed = 1; seed <= 3; ++seed) Run(*llm, Request(seed, 0, config));
    for (LearnedText& text : Drain(*llm->learn_source())) {
      texts.push_back(std::make_shared<const LearnedText>(std::move(text)));
    }
    ASSERT_EQ(texts.size(), 3u);
    const std::atomic<bool> stop{false}, stopped{true};
    const auto score = llm->learn_source()->Score(head, texts, stop);
    ASSERT_TRUE(score.ok()) << score.error().message;
    EXPECT_EQ(score->tokens, 3 * 119);
    EXPECT_GT(score->passes, 119);
    EXPECT_LE(score->passes, score->tokens);
    EXPECT_FALSE(llm->learn_source()->Score(head, texts, stopped).ok());
    const std::string other =
        WriteHead("b.gguf", 4, kind == HeadKind::kMedusa ? HeadKind::kEagle : HeadKind::kMedusa);
    EXPECT_THAT(llm->learn_source()->Score(other, texts, stop).error().message,
                HasSubstr("is no head of the kind"));
    EXPECT_FALSE(llm->learn_source()->Score(dir_.Path("none.gguf"), texts, stop).ok());
  }
}

TEST_F(LearnSourceTest, NeedsAHead) {
  const auto without = Llm::Load({.model = TinyModelPath("llama"), .threads = 1, .learn = true});
  EXPECT_THAT(without.error().message, HasSubstr("learning needs a head"));
  const auto draft = Llm::Load({.model = TinyModelPath("llama"),
                                .draft_model = TinyModelPath("llama"),
                                .threads = 1,
                                .learn = true});
  EXPECT_THAT(draft.error().message, HasSubstr("learning needs a head"));
}

class DoneRound : public LearnRound {
 public:
  std::optional<bool> Ended() override { return true; }
};

// Whatever is swapped, and whenever: every request says what it says plainly and alone.
TEST_F(LearnSourceTest, NoTextChangesThroughSwapsAndRollbacksInMidRequest) {
  const std::string first = WriteHead("first.gguf", 4);
  constexpr int kDifferent = 8;
  const auto make = [](int i, const SpeculativeConfig& config) {
    return Request(i % kDifferent, i % 2 == 0 ? 0.0f : 0.8f, config);
  };
  std::vector<RequestOutput> plain;
  {
    const auto llm = Load(first);
    for (int i = 0; i < kDifferent; ++i) plain.push_back(Run(*llm, make(i, {})));
  }
  auto loaded = Load(first);
  LearnSource& source = *loaded->learn_source();
  AsyncLlm llm(std::move(loaded), {.max_num_seqs = 4, .max_queued = 4});
  const auto config = [&] { return llm.swapped_speculation().value_or(Eagle3(first)); };
  // What is learned is better at first and, once it is in use, worse.
  bool in_use = false;
  int rounds = 0, swaps_in_mid_request = 0;
  LearnHooks hooks;
  hooks.score = [&](const std::string& head, const LearnedTexts& texts,
                    const std::atomic<bool>& stop) -> Result<PassesNeeded> {
    if (texts.empty()) return PassesNeeded();
    const auto real = source.Score(head, {texts.front()}, stop);
    EXPECT_TRUE(real.ok() || stop) << real.error().message;
    return PassesNeeded{.passes = 1000, .tokens = (head == first) == in_use ? 3000 : 2000};
  };
  hooks.train = [&](const std::string&, const std::string& to) {
    std::filesystem::rename(WriteHead("made.gguf", 10 + ++rounds), to);
    return Result<std::unique_ptr<LearnRound>>(std::make_unique<DoneRound>());
  };
  hooks.swap = [&](const std::string& head) {
    SpeculativeConfig other = config();
    other.model = head;
    in_use = head != first;
    const bool before = llm.load().running > 0;
    const Status swapped = llm.SwapSpeculation(other);
    swaps_in_mid_request += before && llm.load().running > 0;
    return swapped;
  };
  hooks.in_use = [&] { return config().model; };
  GuessCounts guesses;
  hooks.guesses = [&] {
    guesses.verified += 1000;
    guesses.accepted += in_use ? 100 : 600;
    return guesses;
  };
  const LearnOptions options = {.folder = dir_.Path("learn"),
                                .head = first,
                                .least_new_tokens = 100,
                                .least_pause = 0,
                                .policy = {.least_replayed = 100, .least_guesses = 500},
                                .idle_replays = false};
  const auto learner = Learner::Create(options, hooks, source.ring(), source.kind()).value();

  int64_t drafted = 0;
  int sent = 0;
  while ((swaps_in_mid_request < 4 || learner->stats().rollbacks < 2) && sent < 4000) {
    std::vector<std::promise<RequestOutput>> outputs(4);
    std::vector<AsyncRequest> requests;
    for (int i = 0; i < 4; ++i) {
      requests.push_back({.request = make(sent + i, config()),
                          .on_text = nullptr,
                          .on_done = [&output = outputs[i]](Result<RequestOutput> done) {
                            output.set_value(std::move(done).value());
                          }});
    }
    ASSERT_TRUE(llm.Submit(std::move(requests)).ok());
    while (llm.load().running + llm.load().waiting > 0) {
      learner->Keep();
      learner->Look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::promise<RequestOutput>& promised : outputs) {
      const RequestOutput output = promised.get_future().get();
      const RequestOutput& wanted = plain[sent++ % kDifferent];
      ASSERT_EQ(output.token_ids, wanted.token_ids) << sent;
      ASSERT_EQ(output.text, wanted.text) << sent;
      ASSERT_EQ(output.speculation.drafter_errors, 0);
      drafted += output.speculation.draft_tokens;
    }
  }
  EXPECT_GE(swaps_in_mid_request, 4);
  EXPECT_GE(learner->stats().rollbacks, 2);
  EXPECT_GT(drafted, sent * 20);
}

}  // namespace
}  // namespace hunch
