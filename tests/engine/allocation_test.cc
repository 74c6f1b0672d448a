// A step in the steady state allocates nothing: not between plan and commit, not after. Counted by
// a global operator new, on a real (tiny) model, so that plan, drafter, forward pass, sampler and
// acceptance are all in it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "draft/draft_model.h"
#include "engine/engine.h"
#include "learn/row_collector.h"
#include "support/heads.h"
#include "support/model_runner.h"

// GCC sees malloc behind an inlined new and takes every delete for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hunch {
namespace {

struct Case {
  const char* name;
  float temperature;
  float top_p;
  bool drafts;
  int sequences = 1;
  bool head = false;     // instead of a draft model
  bool learned = false;  // its rows are collected
};

class AllocationTest : public testing::TestWithParam<Case> {
 protected:
  static constexpr ForwardLimits kLimits = {.max_rows = 32, .max_logit_rows = 12};
  static constexpr int kBlocks = 64;

  EngineRequest Request() {
    EngineRequest request;
    request.prompt = {1, 5, 9, 2, 7, 5, 9};
    request.params.temperature = GetParam().temperature;
    request.params.top_p = GetParam().top_p;
    request.params.ignore_eos = true;
    request.params.max_tokens = 160;
    if (GetParam().head) {
      request.drafters.push_back(head_.Drafts(draft_pool_, 256, {.branches = 2, .expand = 2}));
      request.budget = {.policy = Policy::kFixed, .fixed_nodes = 3};
    } else if (GetParam().drafts) {
      // The target drafts for itself, with another seed's noise it would not: all is accepted.
      request.drafters.push_back(std::make_unique<DraftModel>(
          draft_, draft_pool_, model_->config().vocab, 256, std::vector<TokenId>{}));
      request.budget = {.policy = Policy::kFixed, .fixed_nodes = 3};
    }
    if (GetParam().learned) request.sink = &collector_;
    return request;
  }

  ThreadPool pool_{2};
  std::unique_ptr<Model> model_ =
      Model::Load(GgufFile::Open(TinyModelPath("llama")).value(), pool_, kLimits).value();
  ModelTarget target_{*model_, ModelKv::Create(model_->config(), KvType::kF16, kBlocks).value()};
  ModelTarget draft_{*model_, ModelKv::Create(model_->config(), KvType::kF16, kBlocks).value()};
  LoadedHead head_{HeadBytes(SmallHead(model_->config(), model_->config().vocab), RandomValues(1)),
                   *model_, pool_, kLimits, kBlocks};
  BlockPool draft_pool_{kBlocks};
  RowCollector collector_{head_.config, kLimits.max_rows, 64};
};

TEST_P(AllocationTest, AStepInTheSteadyStateAllocatesNothing) {
  Engine engine(target_, {.vocab_size = model_->config().vocab,
                          .max_model_len = 256,
                          .kv_blocks = kBlocks,
                          .end_tokens = {}});
  std::vector<Engine::RequestId> ids;
  for (int i = 0; i < GetParam().sequences; ++i) ids.push_back(engine.Submit(Request()).value());
  for (int warm_up = 0; warm_up < 20; ++warm_up) ASSERT_TRUE(engine.Step());
  const int64_t before = allocations.load();
  for (int step = 0; step < 16; ++step) ASSERT_TRUE(engine.Step());
  EXPECT_EQ(allocations.load() - before, 0);
  for (const Engine::RequestId id : ids) {
    ASSERT_EQ(engine.Take(id), nullptr) << "it ran out of steps to count";
  }
  ASSERT_TRUE(engine.Submit(Request()).ok());
  EXPECT_GT(allocations.load(), before) << "the counter does not count";
}

INSTANTIATE_TEST_SUITE_P(Requests, AllocationTest,
                         testing::Values(Case{"greedy", 0, 1, false}, Case{"noise", 0.8f, 1, false},
                                         Case{"top_p", 0.8f, 0.95f, false},
                                         Case{"greedy_drafts", 0, 1, true},
                                         Case{"top_p_drafts", 0.8f, 0.95f, true},
                                         Case{"shared_drafts", 0.8f, 0.95f, true, 3},
                                         Case{"head", 0.8f, 0.95f, true, 1, true},
                                         Case{"shared_head", 0, 1, true, 3, true},
                                         Case{"learned_head", 0, 1, true, 3, true, true},
                                         Case{"learned_plain", 0, 1, false, 1, false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hunch
