#include "sampling/sampler.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/ops.h"
#include "sampling/candidates.h"
#include "sampling/logit_processors.h"
#include "sampling/logprobs.h"
#include "sampling/noisy_choice.h"
#include "sampling/relative_row.h"
#include "sampling/top_list.h"

namespace hunch {

struct Sampler::State {
  State(const SamplingParams& request, int vocab, size_t prompt_len,
        std::vector<TokenId> end_tokens)
      : params(request),
        vocab_size(vocab),
        truncation(request),
        processors(request, vocab, prompt_len, std::move(end_tokens)) {
    candidates.Reserve(vocab);
  }

  // The first vocab_size logits: a row may be padded beyond the vocabulary, and padding is never
  // chosen.
  const float* Raw(std::span<const float> row) const {
    HUNCH_CHECK_GE(row.size(), static_cast<size_t>(vocab_size));
    return row.data();
  }
  TokenId Greedy(const float* raw, const float* processed) const;
  // Fills `top` with the count best tokens of the row; `relative` (and `candidates`, when the
  // request truncates) describe it afterwards. False, and nothing filled, when no token can be
  // chosen.
  bool SelectNoisy(size_t position, const float* processed, int count);
  // The mass that the probabilities are shares of.
  uint64_t MassOfChoosable() const;

  SamplingParams params;
  int vocab_size;
  Truncation truncation;
  LogitProcessors processors;
  Logprobs logprobs;
  RelativeRow relative;
  Candidates candidates;
  TopList top;
};

TokenId Sampler::State::Greedy(const float* raw, const float* processed) const {
  const int64_t best = ArgMax(processed, vocab_size);
  if (processed[best] > -std::numeric_limits<float>::infinity()) return static_cast<TokenId>(best);
  return static_cast<TokenId>(ArgMax(raw, vocab_size));
}

bool Sampler::State::SelectNoisy(size_t position, const float* processed, int count) {
  relative.Reset(processed, vocab_size, params.temperature);
  if (relative.empty()) return false;
  const NoiseKey key{params.seed, params.choice, position};
  top.Reset(count);
  if (truncation.any()) {
    candidates.Select(relative, truncation);
    OfferNoisyCandidates(candidates, key, top);
  } else {
    OfferNoisyRow(relative, key, top);
  }
  return true;
}

uint64_t Sampler::State::MassOfChoosable() const {
  if (params.temperature == 0 || !truncation.any()) return TotalMass(relative);
  uint64_t total = 0;
  for (int i = 0; i < candidates.size(); ++i) total += Mass(candidates.z(i));
  return total;
}

Sampler::Sampler(const SamplingParams& params, int vocab_size, size_t prompt_len,
                 std::vector<TokenId> end_tokens) {
  HUNCH_CHECK_GE(vocab_size, 1);
  state_ = std::make_unique<State>(params, vocab_size, prompt_len, std::move(end_tokens));
}

Sampler::~Sampler() = default;

TokenChoice Sampler::Choose(std::span<const TokenId> prefix, std::span<const float> row) {
  State& s = *state_;
  const float* raw = s.Raw(row);
  const float* processed = s.processors.Apply(prefix, raw);
  TokenChoice choice;
  if (s.params.temperature == 0 || !s.SelectNoisy(prefix.size(), processed, 1)) {
    choice.token = s.Greedy(raw, processed);
  } else {
    choice.token = s.top.entries().front().token;
  }
  if (s.params.logprobs >= 0) s.logprobs.Fill(raw, s.vocab_size, s.params.logprobs, choice);
  return choice;
}

void Sampler::TopPerturbed(std::span<const TokenId> prefix, std::span<const float> row, int count,
                           std::vector<Candidate>& out) {
  out.clear();
  if (count <= 0) return;
  State& s = *state_;
  const float* raw = s.Raw(row);
  const float* processed = s.processors.Apply(prefix, raw);
  bool choosable;
  if (s.params.temperature == 0) {
    s.relative.Reset(processed, s.vocab_size, 1.0f);
    choosable = !s.relative.empty();
    if (choosable) {
      s.candidates.SelectBest(s.relative, count);
      s.top.Reset(count);
      for (int i = 0; i < s.candidates.size(); ++i)
        s.top.Offer(s.candidates.id(i), s.candidates.z(i));
    }
  } else {
    choosable = s.SelectNoisy(prefix.size(), processed, count);
  }
  if (!choosable) {
    out.push_back({s.Greedy(raw, processed), 0.0f, 1.0f});
    return;
  }
  const double total = static_cast<double>(s.MassOfChoosable());
  for (const TopList::Entry& entry : s.top.entries()) {
    const double mass = static_cast<double>(Mass(s.relative.z(entry.token)));
    out.push_back({entry.token, entry.score, static_cast<float>(mass / total)});
  }
}

}  // namespace hunch
