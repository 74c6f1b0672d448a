// What choosing a token costs per row, on logits of a real model: T = 0 and T = 0.8 with and
// without top-p, with the block maxima of the forward pass and without them.
//
//   sampler_bench MODEL.gguf
//
// The rows are those of a prompt's tokens. The settings are interleaved; medians.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "kv/block_pool.h"
#include "model/target.h"
#include "sampling/sampler.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

constexpr int kRows = 32;
constexpr int kRounds = 41;

struct Setting {
  const char* name;
  float temperature, top_p;
  bool maxima;
  std::vector<double> seconds;  // per row, one per round
};

Status Run(const char* path) {
  ThreadPool pool(AvailableCpus());
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  HUNCH_ASSIGN_OR_RETURN(const auto model,
                         Model::Load(file, pool, {.max_rows = 64, .max_logit_rows = 64}));
  HUNCH_ASSIGN_OR_RETURN(ModelKv kv, ModelKv::Create(model->config(), KvType::kF16, 8));
  std::vector<TokenId> tokens = tokenizer->Encode(
      "The river rises in the hills, and for a long way it is no more than a brook between stones; "
      "only where the second valley opens does it carry boats. int main() { return 0; }",
      false);
  tokens.resize(kRows);
  const std::vector<int32_t> blocks = {0, 1, 2, 3};
  const SequenceRows rows = {
      .blocks = blocks, .committed = 0, .tokens = tokens, .parents = {}, .logits_from = 0};
  const Logits logits = model->Forward({&rows, 1}, kv);

  Setting settings[] = {{"T 0", 0, 1, true, {}},
                        {"T 0, no maxima", 0, 1, false, {}},
                        {"T 0.8", 0.8f, 1, true, {}},
                        {"T 0.8, top-p 0.95", 0.8f, 0.95f, true, {}},
                        {"T 0.8, top-p 0.95, no maxima", 0.8f, 0.95f, false, {}}};
  const int vocab = model->config().vocab;
  for (int round = 0; round < kRounds; ++round) {
    for (Setting& setting : settings) {
      SamplingParams params;
      params.temperature = setting.temperature;
      params.top_p = setting.top_p;
      Sampler sampler(params, tokenizer->vocab_size(), 0, {});
      const auto start = std::chrono::steady_clock::now();
      for (int r = 0; r < kRows; ++r) {
        const float* maxima = setting.maxima ? logits.maxima + r * LogitBlocks(vocab) : nullptr;
        const std::span row(logits.rows + int64_t{r} * vocab, static_cast<size_t>(vocab));
        sampler.Choose(std::span(tokens).first(r + 1), {row, maxima});
      }
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      setting.seconds.push_back(seconds.count() / kRows);
    }
  }
  fmt::print("{}, {}, vocabulary {}\n", CpuName(), IsaName(ActiveIsa()), vocab);
  for (Setting& setting : settings) {
    std::nth_element(setting.seconds.begin(), setting.seconds.begin() + kRounds / 2,
                     setting.seconds.end());
    fmt::print("{:<30} {:7.1f} us a row\n", setting.name, 1e6 * setting.seconds[kRounds / 2]);
  }
  return Ok{};
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: sampler_bench MODEL.gguf\n");
    return 2;
  }
  const hunch::Status status = hunch::Run(argv[1]);
  if (!status.ok()) fmt::print(stderr, "sampler_bench: {}\n", status.error().message);
  return status.ok() ? 0 : 1;
}
