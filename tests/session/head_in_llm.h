// What tests of heads beside a whole tiny model share.
#ifndef HUNCH_TESTS_SESSION_HEAD_IN_LLM_H_
#define HUNCH_TESTS_SESSION_HEAD_IN_LLM_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session/draft_side.h"
#include "session/llm.h"
#include "support/files.h"
#include "support/heads.h"
#include "support/model_runner.h"

namespace hunch {

// A head of random weights for a tiny model, as a file.
inline std::string WriteHead(const TempDir& folder, const std::string& target,
                             HeadKind kind = HeadKind::kEagle3, const std::string& name = "") {
  const auto file = GgufFile::Open(TinyModelPath(target)).value();
  const ModelConfig model = ReadModelConfig(*file).value();
  const auto tokenizer = Tokenizer::Create(*file).value();
  HeadConfig config = SmallHead(model, tokenizer->vocab_size(), kind);
  config.target = HeadTargetOf(model, *tokenizer);
  for (TokenId token = 2; token < tokenizer->vocab_size(); token += 2) {
    config.tokens.push_back(token);
  }
  const std::vector<std::byte> bytes = HeadBytes(config, RandomValues(4), TensorType::kF16);
  return folder.Write(name.empty() ? target + ".head.gguf" : name,
                      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

inline SpeculativeConfig With(DraftMethod method, const std::string& model = "") {
  SpeculativeConfig config;
  config.method = method;
  config.model = model;
  config.num_speculative_tokens = 6;
  return config;
}

class HeadInLlm : public testing::Test {
 protected:
  Result<RequestOutput> Generate(Llm& llm, const SpeculativeConfig& speculation,
                                 const OnText& on_text = nullptr) {
    const std::vector<TokenId> prompt = {5, 6, 7, 8, 9, 5, 6};
    return llm.Generate(prompt, params_, speculation, on_text);
  }
  TempDir folder_;
  SamplingParams params_ = [] {
    SamplingParams params;
    params.max_tokens = 50;
    params.ignore_eos = true;
    params.temperature = 1.5f;
    return params;
  }();
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SESSION_HEAD_IN_LLM_H_
