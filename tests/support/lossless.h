// One cell of the lossless suite: the same request decoded plainly and with a drafter, on one
// target, through the engine. Not thread safe.
#ifndef HUNCH_TESTS_SUPPORT_LOSSLESS_H_
#define HUNCH_TESTS_SUPPORT_LOSSLESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "support/heads.h"

namespace hunch {

// A target with everything that its requests need.
struct Subject {
  Target* target = nullptr;
  Target* draft = nullptr;     // the same model with another KV memory
  Target* smaller = nullptr;   // a worse model with the same vocabulary
  LoadedHead* head = nullptr;  // for the drafters of LosslessHeads
  int vocab_size = 0;
  int kv_blocks = 0;
  std::vector<TokenId> end_tokens;
  std::vector<TokenId> prompt;
};

// The drafters of the suite, by name: ngram, suffix, cache (ngram_cache), token_recycling,
// lookahead,
// draft_model, draft_tree (the smaller one), merged, self,
// scripted, random, adversarial.
std::vector<std::string> LosslessDrafters();
// Those that read the target's hidden states: eagle3 (a chain), eagle3_tree, eagle (a chain),
// eagle2, medusa; and eagle3_beside_draft, with the smaller model as a second drafter.
std::vector<std::string> LosslessHeads();
// What is asked of the request besides its temperature: none, penalties, top_p, logit_bias,
// constraint, stop_string, end_token, max_tokens, context_end. The last four end the output at a
// chosen token.
std::vector<std::string> LosslessControls();

struct LosslessRun {
  std::vector<TokenId> output;
  std::vector<TokenChoice> choices;
  std::vector<bool> guessed;  // per token of the output
  FinishReason reason = FinishReason::kNone;
  EngineStats stats;
};

class LosslessCell {
 public:
  LosslessCell(const Subject& subject, std::string drafter, std::string control, float temperature,
               int output_tokens)
      : subject_(subject),
        drafter_(std::move(drafter)),
        control_(std::move(control)),
        temperature_(temperature),
        output_tokens_(output_tokens) {}

  // Runs seeds until the cell has seen an accepted and a rejected guess (and, for controls that end
  // the output, an end inside an accepted path), at most `seeds`; every run must equal plain
  // decoding. Reports by gtest.
  void Check(int seeds);

 private:
  using DrafterList = std::vector<std::unique_ptr<Drafter>>;
  struct Plan {
    SamplingParams params;
    std::vector<TokenId> end_tokens;
    int max_model_len;
    std::optional<TokenId> stop_at;  // the token that stands for a stop string
  };
  Plan PlanFor(uint64_t seed, const std::vector<TokenId>& free_output, size_t end_at) const;
  LosslessRun Run(const Plan& plan, DrafterList drafters) const;
  DrafterList MakeDrafters(const Plan& plan, const LosslessRun& plain, uint64_t seed);
  void CheckRun(const Plan& plan, uint64_t seed);

  Subject subject_;
  std::string drafter_, control_;
  float temperature_;
  int output_tokens_;
  std::unique_ptr<BlockPool> draft_pool_, head_pool_;  // of the last drafters
  int64_t accepted_ = 0, rejected_ = 0, ended_inside_ = 0;
  int64_t last_trees_ = 0;  // of the last drafter
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_LOSSLESS_H_
