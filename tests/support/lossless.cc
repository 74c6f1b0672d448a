#include "support/lossless.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "draft/draft_model.h"
#include "draft/lookahead.h"
#include "draft/ngram.h"
#include "draft/ngram_cache.h"
#include "draft/suffix.h"
#include "draft/token_recycling.h"
#include "support/fake_constraint.h"
#include "support/fake_drafters.h"

namespace hunch {

std::vector<std::string> LosslessDrafters() {
  return {"ngram",      "suffix", "cache", "token_recycling", "lookahead", "draft_model",
          "draft_tree", "merged", "self",  "scripted",        "random",    "adversarial"};
}

std::vector<std::string> LosslessHeads() {
  return {"eagle3", "eagle3_tree", "eagle", "eagle2", "medusa", "eagle3_beside_draft"};
}

std::vector<std::string> LosslessControls() {
  return {"none",        "penalties", "top_p",      "logit_bias", "constraint",
          "stop_string", "end_token", "max_tokens", "context_end"};
}

namespace {

constexpr int kGuesses = 4;

bool EndsTheOutput(const std::string& control) {
  return control == "stop_string" || control == "end_token" || control == "max_tokens" ||
         control == "context_end";
}

// Trees of random shape over the tokens that really come, so that some are right.
ScriptedDrafter::Script RandomFrom(std::vector<TokenId> tokens, uint64_t seed) {
  return [tokens = std::move(tokens), random = std::mt19937_64(seed)](
             std::span<const TokenId>, const ProposeLimits& limits) mutable {
    DraftTree tree;
    for (int node = 0; node < limits.max_nodes; ++node) {
      const int parent = static_cast<int>(random() % (node + 1)) - 1;
      tree.Add(tokens[random() % tokens.size()], parent, 0.5f);
    }
    return tree;
  };
}

}  // namespace

LosslessCell::Plan LosslessCell::PlanFor(uint64_t seed, const std::vector<TokenId>& free_output,
                                         size_t end_at) const {
  Plan plan = {.params = {},
               .end_tokens = subject_.end_tokens,
               .max_model_len = static_cast<int>(subject_.prompt.size()) + output_tokens_ + 1000,
               .stop_at = std::nullopt};
  plan.params.temperature = temperature_;
  plan.params.seed = seed;
  plan.params.max_tokens = output_tokens_;
  plan.params.logprobs = 2;
  plan.params.ignore_eos = control_ != "end_token";
  if (control_ == "penalties") {
    plan.params.repetition_penalty = 1.1f;
    plan.params.frequency_penalty = 0.3f;
    plan.params.presence_penalty = 0.2f;
  } else if (control_ == "top_p") {
    plan.params.top_p = 0.9f;
  } else if (control_ == "logit_bias") {
    plan.params.logit_bias = {{subject_.prompt.back(), 3.0f}, {subject_.prompt.front(), -100.0f}};
  }
  if (free_output.empty()) return plan;
  const TokenId at_end = free_output[end_at];
  if (control_ == "stop_string") plan.stop_at = at_end;
  if (control_ == "end_token") plan.end_tokens.push_back(at_end);
  if (control_ == "max_tokens") plan.params.max_tokens = static_cast<int>(end_at) + 1;
  if (control_ == "context_end") {
    plan.max_model_len = static_cast<int>(subject_.prompt.size() + end_at) + 1;
  }
  return plan;
}

LosslessRun LosslessCell::Run(const Plan& plan, DrafterList drafters) const {
  Engine engine(*subject_.target, {.vocab_size = subject_.vocab_size,
                                   .max_model_len = plan.max_model_len,
                                   .kv_blocks = subject_.kv_blocks,
                                   .end_tokens = plan.end_tokens});
  LosslessRun run;
  // Fewer than the window and the guesses have would starve it.
  const int guesses = drafter_ == "lookahead" ? 8 : kGuesses;
  EngineRequest request;
  request.prompt = subject_.prompt;
  request.params = plan.params;
  request.drafters = std::move(drafters);
  request.budget = {.policy = Policy::kFixed, .fixed_nodes = guesses};
  if (control_ == "constraint") {
    const auto constraint = [&] {
      return std::make_unique<FakeConstraint>(
          subject_.vocab_size, [&plan](const std::vector<TokenId>& output, TokenId token) {
            const auto& ends = plan.end_tokens;
            const bool ends_it = std::find(ends.begin(), ends.end(), token) != ends.end();
            return HashRule(output, token) && !ends_it;
          });
    };
    request.constraint = constraint();
    // The others do not know, and what they guess is looked at anyway.
    if (drafter_ == "self" || drafter_ == "draft_tree" || subject_.head != nullptr) {
      for (const auto& drafter : request.drafters) drafter->Constrain(constraint());
    }
  }
  request.filter = [&](const CommittedToken& token) {
    run.choices.push_back(token.choice);
    run.guessed.push_back(token.guessed);
    return plan.stop_at == token.choice.token ? FilterAnswer::kStop : FilterAnswer::kGoOn;
  };
  const auto id = engine.Submit(std::move(request));
  HUNCH_CHECK(id.ok()) << id.error().message;
  std::unique_ptr<EngineResult> result;
  while ((result = engine.Take(*id)) == nullptr) engine.Step();
  EXPECT_EQ(engine.pool().free_blocks(), engine.pool().capacity()) << "blocks leaked";
  run.output.assign(result->tokens.begin() + result->prompt_tokens, result->tokens.end());
  run.reason = result->reason;
  run.stats = result->stats;
  return run;
}

LosslessCell::DrafterList LosslessCell::MakeDrafters(const Plan& plan, const LosslessRun& plain,
                                                     uint64_t seed) {
  std::vector<TokenId> whole = subject_.prompt;
  whole.insert(whole.end(), plain.output.begin(), plain.output.end());
  const int branches = drafter_ == "draft_tree" ? 2 : 1;
  const auto model = [&](Target& target) {
    draft_pool_ = std::make_unique<BlockPool>(subject_.kv_blocks);
    return std::make_unique<DraftModel>(
        target, *draft_pool_, subject_.vocab_size, plan.max_model_len, plan.end_tokens,
        TreeDrafterOptions{.branches = branches, .expand = branches});
  };
  DrafterList drafters;
  if (drafter_ == "ngram" || drafter_ == "merged") {
    drafters.push_back(std::make_unique<NgramDrafter>(NgramOptions{4, 1}));
  }
  if (drafter_ == "suffix") {
    drafters.push_back(std::make_unique<SuffixDrafter>(plan.max_model_len));
  }
  if (drafter_ == "cache") {
    drafters.push_back(std::make_unique<NgramCacheDrafter>(plan.max_model_len));
  }
  if (drafter_ == "token_recycling" || drafter_ == "merged") {
    drafters.push_back(std::make_unique<TokenRecyclingDrafter>());
  }
  if (drafter_ == "lookahead") {
    drafters.push_back(std::make_unique<LookaheadDrafter>(LookaheadOptions{3, 3, 2}));
  }
  if (drafter_ == "draft_model" || drafter_ == "draft_tree" || drafter_ == "merged") {
    drafters.push_back(model(*subject_.smaller));
  }
  if (drafter_ == "self") drafters.push_back(model(*subject_.draft));
  if (subject_.head != nullptr) {
    head_pool_ = std::make_unique<BlockPool>(subject_.kv_blocks);
    const bool beside = drafter_ == "eagle3_beside_draft";
    const bool chain = drafter_ == "eagle3" || drafter_ == "eagle" || beside;
    // Its chain stops at an even token: the rest of the guesses is for the draft model.
    std::vector<TokenId> stops = plan.end_tokens;
    for (TokenId token = 0; beside && token < subject_.vocab_size; token += 2) {
      stops.push_back(token);
    }
    drafters.push_back(subject_.head->Drafts(*head_pool_, plan.max_model_len,
                                             {.branches = chain ? 1 : 3, .expand = chain ? 1 : 2},
                                             stops));
  }
  if (drafter_ == "eagle3_beside_draft") drafters.push_back(model(*subject_.smaller));
  if (drafter_ == "scripted") {
    drafters.push_back(std::make_unique<ScriptedDrafter>(TrueContinuation(
        whole, subject_.vocab_size, [](size_t position) { return position % 5 == 3; })));
  }
  if (drafter_ == "random") {
    drafters.push_back(std::make_unique<ScriptedDrafter>(RandomFrom(plain.output, seed)));
  }
  if (drafter_ == "adversarial") {
    drafters.push_back(
        std::make_unique<ScriptedDrafter>(Adversary(whole, subject_.vocab_size, plan.end_tokens)));
  }
  HUNCH_CHECK(!drafters.empty()) << drafter_;
  return drafters;
}

void LosslessCell::CheckRun(const Plan& plan, uint64_t seed) {
  const LosslessRun plain = Run(plan, {});
  const LosslessRun guessed = Run(plan, MakeDrafters(plan, plain, seed));
  ASSERT_EQ(plain.output, guessed.output) << "seed " << seed;
  ASSERT_EQ(plain.reason, guessed.reason) << "seed " << seed;
  ASSERT_EQ(plain.stats.drafts, 0);
  for (size_t i = 0; i < plain.choices.size(); ++i) {
    ASSERT_EQ(plain.choices[i].logprob, guessed.choices[i].logprob)
        << "seed " << seed << " at " << i;
    ASSERT_EQ(plain.choices[i].top.size(), guessed.choices[i].top.size());
    for (size_t j = 0; j < plain.choices[i].top.size(); ++j) {
      ASSERT_EQ(plain.choices[i].top[j].token, guessed.choices[i].top[j].token);
      ASSERT_EQ(plain.choices[i].top[j].logprob, guessed.choices[i].top[j].logprob);
    }
  }
  const EngineStats& stats = guessed.stats;
  ASSERT_LE(stats.accepted_tokens, stats.draft_tokens);
  // Every decode pass commits what was accepted and one token of the target's own, unless the end
  // came first.
  ASSERT_LE(stats.decode_tokens, stats.accepted_tokens + stats.target_passes);
  ASSERT_GE(stats.decode_tokens, stats.accepted_tokens + stats.target_passes - 1);
  last_trees_ += stats.drafters.back().trees;
  accepted_ += stats.accepted_tokens;
  rejected_ += stats.draft_tokens - stats.accepted_tokens;
  // A limit clamps the draft so that the target's own token is the last one: the guess before it
  // shows that the limit fell into an accepted path.
  const bool limit = guessed.reason == FinishReason::kLength;
  const size_t length = guessed.guessed.size();
  ended_inside_ += guessed.guessed.back() || (limit && length > 1 && guessed.guessed[length - 2]);
}

void LosslessCell::Check(int seeds) {
  const bool self = drafter_ == "self";
  const bool ends = EndsTheOutput(control_);
  const auto seen_all = [&] {
    return accepted_ > 0 && (self || rejected_ > 0) && (!ends || ended_inside_ > 0);
  };
  const std::vector<TokenId> prompt = subject_.prompt;
  for (int seed = 1; seed <= seeds && !seen_all(); ++seed) {
    // At T = 0 the seed changes nothing, so the prompt must.
    subject_.prompt.assign(prompt.begin() + seed % (prompt.size() / 2), prompt.end());
    const Plan free = PlanFor(seed, {}, 0);
    if (!ends) {
      CheckRun(free, seed);
    } else {
      const std::vector<TokenId> output = Run(free, {}).output;
      for (size_t end_at = 3; end_at < output.size() && end_at < 14 && !seen_all(); ++end_at) {
        // The chosen token must be new there, or the output ends before.
        if (std::find(output.begin(), output.begin() + end_at, output[end_at]) !=
            output.begin() + end_at) {
          continue;
        }
        CheckRun(PlanFor(seed, output, end_at), seed);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(accepted_, 0) << "no guess was accepted: the cell shows nothing";
  if (self && !ends) {
    EXPECT_EQ(rejected_, 0) << "a model that drafts for itself is always right";
  }
  if (!self) {
    EXPECT_GT(rejected_, 0) << "no guess was rejected: the cell shows nothing";
  }
  if (drafter_ == "eagle3_beside_draft") {
    EXPECT_GT(last_trees_, 0) << "the draft model was never asked";
  }
  if (ends) {
    EXPECT_GT(ended_inside_, 0) << "no output ended inside an accepted path";
  }
}

}  // namespace hunch
