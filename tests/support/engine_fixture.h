// What tests of the engine share: one on a fake target whose KV slots remember their tokens, and
// what its requests give alone. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_ENGINE_FIXTURE_H_
#define HUNCH_TESTS_SUPPORT_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "support/fake_drafters.h"
#include "support/fake_kv_target.h"

namespace hunch {

class EngineFixture : public testing::Test {
 public:
  static constexpr int kVocab = 96;
  static constexpr TokenId kEnd = kVocab - 1;

 protected:
  static constexpr ForwardLimits kLimits = {.max_rows = 32, .max_logit_rows = 12};

  static EngineOptions Options(int kv_blocks, int max_model_len) {
    return {.vocab_size = kVocab,
            .max_model_len = max_model_len,
            .kv_blocks = kv_blocks,
            .end_tokens = {kEnd}};
  }
  Engine MakeEngine(int kv_blocks, int max_model_len, bool share_prefixes = false,
                    int max_num_seqs = 1000) {
    EngineOptions options = Options(kv_blocks, max_model_len);
    options.share_prefixes = share_prefixes;
    options.max_num_seqs = max_num_seqs;
    return Engine(target_, std::move(options));
  }
  EngineRequest MakeRequest(size_t prompt, int max_tokens,
                            std::unique_ptr<Drafter> drafter = nullptr, int guesses = 4) {
    EngineRequest request;
    request.prompt = fake_.Prompt(prompt);
    request.params.max_tokens = max_tokens;
    request.params.temperature = 0.8f;
    request.params.ignore_eos = true;
    if (drafter) request.drafters.push_back(std::move(drafter));
    request.budget = {.policy = Policy::kFixed, .fixed_nodes = guesses};
    return request;
  }
  static EngineResult Finish(Engine& engine, Engine::RequestId id) {
    std::unique_ptr<EngineResult> result;
    while ((result = engine.Take(id)) == nullptr) engine.Step();
    return *result;
  }
  // What a request gives alone, plainly, with plenty of memory.
  std::vector<TokenId> Plain(EngineRequest request) {
    Engine engine(alone_, Options(64, 512));
    return Finish(engine, engine.Submit(std::move(request)).value()).tokens;
  }
  std::vector<TokenId> Plain(const std::vector<TokenId>& prompt, const SamplingParams& params) {
    EngineRequest request;
    request.prompt = prompt;
    request.params = params;
    return Plain(std::move(request));
  }
  std::unique_ptr<Drafter> Right(const std::vector<TokenId>& whole) {
    return std::make_unique<ScriptedDrafter>(TrueContinuation(whole, kVocab));
  }

  FakeTarget fake_{kVocab, 11};
  FakeKvTarget target_{fake_, 64, kLimits};
  FakeKvTarget alone_{fake_, 64, kLimits};  // of Plain, at any time
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_ENGINE_FIXTURE_H_
