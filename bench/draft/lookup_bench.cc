// What looking up costs at a long context: a step of the drafters that need no model (a token
// observed, a tree proposed), and their Start.
//
//   lookup_bench [TOKENS.txt] [--benchmark_...]
//
// TOKENS.txt: token ids of real text, by blanks (hunch tokenize gives them); the first 32768 are
// the prompt and the rest are fed token by token. Without it the text is made up: words from a
// skewed law, with copied passages. A step is one token here; with more accepted it is cheaper for
// each.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "draft/ngram.h"
#include "draft/ngram_cache.h"
#include "draft/ngram_cache_builder.h"
#include "draft/suffix.h"

namespace hunch {
namespace {

constexpr size_t kContext = 32768;
constexpr size_t kSteps = 4096;
constexpr int kNodes = 16;

std::vector<TokenId> MadeUpText() {
  std::mt19937 random(1);
  std::vector<TokenId> text;
  while (text.size() < kContext + kSteps) {
    if (text.size() > 200 && random() % 16 == 0) {  // a passage again
      const size_t from = random() % (text.size() - 64), length = 8 + random() % 56;
      for (size_t i = 0; i < length; ++i) text.push_back(text[from + i]);
    } else {  // Zipf's law, roughly
      const double u = (1.0 + random() % 100000) / 100000;
      text.push_back(static_cast<TokenId>(50000 * u * u * u * u));
    }
  }
  text.resize(kContext + kSteps);
  return text;
}

std::vector<TokenId> text_of_all;

// Of the prompt and as much made-up text again.
std::shared_ptr<const NgramTable> CorpusTable() {
  static const std::shared_ptr<const NgramTable> table = [] {
    const std::string path =
        std::filesystem::temp_directory_path() / fmt::format("lookup_bench-{}.ngc", getpid());
    const VocabularyId vocabulary = {0, 1 << 20};
    const std::vector<std::vector<TokenId>> streams = {
        {text_of_all.begin(), text_of_all.begin() + kContext}, MadeUpText()};
    if (!BuildNgramCache(streams, path, vocabulary).ok()) std::abort();
    auto opened = NgramTable::Open(path, vocabulary);
    std::remove(path.c_str());
    return *opened;
  }();
  return table;
}

std::unique_ptr<Drafter> Make(int which) {
  if (which == 0) return std::make_unique<NgramDrafter>(NgramOptions{});
  if (which == 3) {
    return std::make_unique<NgramCacheDrafter>(static_cast<int>(text_of_all.size()), CorpusTable());
  }
  std::shared_ptr<SuffixStore> store;
  if (which == 2) {
    store = std::make_shared<SuffixStore>();
    const std::span<const TokenId> text = text_of_all;
    for (size_t at = 0; at + 512 <= kContext; at += 512) store->Add(text.subspan(at, 512));
  }
  return std::make_unique<SuffixDrafter>(static_cast<int>(text_of_all.size()), store);
}

void Start(benchmark::State& state) {
  const std::span<const TokenId> text = text_of_all;
  for (auto _ : state) {
    state.PauseTiming();
    auto drafter = Make(static_cast<int>(state.range(0)));
    state.ResumeTiming();
    benchmark::DoNotOptimize(drafter->Start(text.first(kContext), {}));
    state.PauseTiming();
    drafter.reset();
    state.ResumeTiming();
  }
}

void Step(benchmark::State& state) {
  const std::span<const TokenId> text = text_of_all;
  auto drafter = Make(static_cast<int>(state.range(0)));
  DraftTree tree;
  size_t size = text.size();
  int64_t nodes = 0;
  for (auto _ : state) {
    if (size == text.size()) {
      state.PauseTiming();
      (void)drafter->Start(text.first(kContext), {}).ok();
      size = kContext;
      state.ResumeTiming();
    }
    (void)drafter->Propose(text.first(size), {kNodes, kNodes, 0}, tree).ok();
    nodes += tree.size();
    drafter->Observe({tree, {}, text.first(++size)});
  }
  state.counters["nodes"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kAvgIterations);
}

BENCHMARK(Start)
    ->ArgName("ngram0_suffix1_store2_cache3")
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(Step)
    ->ArgName("ngram0_suffix1_store2_cache3")
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1) {
    std::ifstream file(argv[1]);
    for (hunch::TokenId token; file >> token;) hunch::text_of_all.push_back(token);
    if (hunch::text_of_all.size() <= hunch::kContext) {
      std::fprintf(stderr, "%s: fewer than %zu tokens\n", argv[1], hunch::kContext + 1);
      return 1;
    }
    hunch::text_of_all.resize(std::min(hunch::text_of_all.size(), hunch::kContext + hunch::kSteps));
  } else {
    hunch::text_of_all = hunch::MadeUpText();
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
