// What an eagle3 head costs beside its target: a step of a proposal (one row, four rows), reading
// what a step committed (one row, three rows), and reading a prompt.
//
//   head_bench MODEL.gguf [HEAD.gguf]
//
// Without a file: a head of the target's own shape with random 4-bit weights, three taps and 8192
// tokens, since the time does not depend on what it knows. The settings are interleaved; medians.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <vector>

#include "draft/head_model.h"
#include "quant/quant.h"
#include "quant/quantize.h"
#include "session/draft_side.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

constexpr int kRounds = 31;
constexpr int kContext = 512;  // positions that every row sees
constexpr int kPrompt = 256;   // rows of a prompt's pass
constexpr int kTokens = 8192;  // that the head can guess
constexpr ForwardLimits kLimits = {.max_rows = 256, .max_logit_rows = 8};

std::vector<std::byte> RandomHead(const ModelConfig& target, const Tokenizer& tokenizer) {
  HeadConfig config = {.kind = HeadKind::kEagle3,
                       .target = HeadTargetOf(target, tokenizer),
                       .taps = {1, target.layers / 2 - 1, target.layers - 4},
                       .tokens = {},
                       .heads = target.heads,
                       .kv_heads = target.kv_heads,
                       .head_dim = target.head_dim,
                       .ffn = target.ffn,
                       .rope_theta = 10000,
                       .norm_eps = target.norm_eps,
                       .medusa_heads = 0};
  for (TokenId token = 0; token < std::min(kTokens, tokenizer.vocab_size()); ++token) {
    config.tokens.push_back(token);
  }
  GgufWriter writer;
  SetHeadConfig(config, writer);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> weight(-0.05f, 0.05f);
  for (const HeadTensor& tensor : HeadTensors(config)) {
    std::vector<float> values(tensor.columns * std::max<int64_t>(tensor.rows, 1), 1.0f);
    const TensorType type = tensor.rows > 0 ? TensorType::kQ4_0 : TensorType::kF32;
    std::vector<std::byte> bytes(BytesOf(type, static_cast<int64_t>(values.size())));
    if (tensor.rows > 0) {
      for (float& value : values) value = weight(random);
      QuantizeQ4_0(values, bytes);
    } else {
      std::copy_n(reinterpret_cast<const std::byte*>(values.data()), bytes.size(), bytes.data());
    }
    writer.AddTensor(tensor.name, type, tensor.shape(), std::move(bytes));
  }
  return writer.Serialize();
}

struct Setting {
  const char* name;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

// Runs all settings in turn, and prints their medians; the first one's is the measure.
void Compare(std::vector<Setting> settings) {
  for (int round = 0; round < kRounds; ++round) {
    for (Setting& setting : settings) {
      const auto start = std::chrono::steady_clock::now();
      setting.run();
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      setting.seconds.push_back(taken.count());
    }
  }
  double measure = 0;
  for (Setting& setting : settings) {
    std::nth_element(setting.seconds.begin(), setting.seconds.begin() + kRounds / 2,
                     setting.seconds.end());
    const double median = setting.seconds[kRounds / 2];
    if (measure == 0) measure = median;
    fmt::print("{:<34} {:>9.3f} ms {:>7.1f} %\n", setting.name, 1e3 * median,
               100 * median / measure);
  }
}

Status Run(const char* path, const char* head_path) {
  ThreadPool pool(AvailableCpus());
  HUNCH_ASSIGN_OR_RETURN(std::shared_ptr<const GgufFile> file, GgufFile::Open(path));
  HUNCH_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  HUNCH_ASSIGN_OR_RETURN(const auto model, Model::Load(file, pool, kLimits));
  const int kv_blocks = (kContext + kPrompt) / kKvBlock + 1;
  HUNCH_ASSIGN_OR_RETURN(ModelKv kv, ModelKv::Create(model->config(), KvType::kF16, kv_blocks));
  ModelTarget target(*model, std::move(kv));

  std::vector<std::byte> bytes;
  if (head_path == nullptr) bytes = RandomHead(model->config(), *tokenizer);
  HUNCH_ASSIGN_OR_RETURN(const auto head_file, head_path == nullptr
                                                   ? GgufFile::Parse(bytes, "random")
                                                   : GgufFile::Open(head_path));
  HUNCH_ASSIGN_OR_RETURN(const HeadConfig config, ReadHeadConfig(*head_file));
  HUNCH_ASSIGN_OR_RETURN(const auto head, HeadModel::Load(*head_file, config, *model, pool, kLimits,
                                                          KvType::kF16, kv_blocks));
  fmt::print("head of {:.1f} MB beside {:.1f} MB\n",
             static_cast<double>(HeadWeightBytes(*head_file, config, *file)) / 1e6,
             static_cast<double>(WeightBytes(*file)) / 1e6);

  std::vector<int32_t> blocks(kv_blocks), pass_rows(kPrompt);
  for (int i = 0; i < kv_blocks; ++i) blocks[i] = i;
  for (int i = 0; i < kPrompt; ++i) pass_rows[i] = i;
  const std::vector<TokenId> tokens(kPrompt, 5);
  const std::vector<int32_t> roots(kPrompt, -1);
  std::vector<float> features(static_cast<size_t>(2 + kPrompt) * config.target.hidden, 0.1f);
  const auto rows = [&](int count, int logits_from) {
    return SequenceRows{.blocks = blocks,
                        .committed = kContext,
                        .tokens = std::span(tokens).first(count),
                        .parents = std::span(roots).first(count),
                        .logits_from = logits_from,
                        .features = features.data()};
  };
  const auto pass = [&](int count) {
    const SequenceRows part = rows(count, count - 1);
    target.ForwardTapped({&part, 1}, head->taps());
  };
  const auto step = [&](int count) {
    const SequenceRows part = rows(count, 0);
    head->Forward({&part, 1});
  };
  const auto read = [&](int count) {
    head->Lay({.blocks = blocks,
               .slot = kContext,
               .tokens = std::span(tokens).first(count),
               .pass_rows = std::span(pass_rows).first(count),
               .feature = features.data(),
               .feature_known = true});
    head->Read();
  };
  Compare({{"the target's pass of one row", [&] { pass(1); }},
           {"the head's step, one row", [&] { step(1); }},
           {"the head's step, four rows", [&] { step(4); }},
           {"the head reads one row", [&] { read(1); }},
           {"the head reads three rows", [&] { read(3); }}});
  Compare({{"the target's pass of 256 rows", [&] { pass(kPrompt); }},
           {"the head reads 256 rows", [&] { read(kPrompt); }}});
  return Ok{};
}

}  // namespace
}  // namespace hunch

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: head_bench MODEL.gguf [HEAD.gguf]\n");
    return 2;
  }
  const hunch::Status status = hunch::Run(argv[1], argc == 3 ? argv[2] : nullptr);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.error().message);
  return 1;
}
