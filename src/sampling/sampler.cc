#include "sampling/sampler.h"

#include <bit>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/ops.h"
#include "sampling/candidates.h"
#include "sampling/logit_processors.h"
#include "sampling/logprobs.h"
#include "sampling/noisy_choice.h"
#include "sampling/relative_row.h"
#include "sampling/speed_only.h"
#include "sampling/top_list.h"

namespace hunch {

namespace {

// The lowest index of the largest logit; false when `maxima` does not tell.
bool ArgMaxByBlocks(const float* x, int n, const float* maxima, int64_t* best) {
  // The last block may reach into padding.
  const int whole = n / kLogitBlock;
  if (maxima == nullptr || whole == 0) return false;
  const int64_t block = ArgMax(maxima, whole);
  if (maxima[block] == -std::numeric_limits<float>::infinity()) return false;
  const float* first = x + block * kLogitBlock;
  *best = first - x + ArgMax(first, kLogitBlock);
  const int tail = whole * kLogitBlock;
  if (tail == n) return true;
  const int64_t in_tail = tail + ArgMax(x + tail, n - tail);
  if (x[in_tail] > x[*best]) *best = in_tail;
  return true;
}

}  // namespace

struct Sampler::State {
  State(const SamplingParams& request, int vocab, size_t prompt_len,
        std::vector<TokenId> end_tokens, ConstraintCursor* constraint_or_null)
      : params(request),
        vocab_size(vocab),
        constraint(constraint_or_null),
        truncation(request),
        processors(request, vocab, prompt_len, std::move(end_tokens)) {
    candidates.Reserve(vocab);
    if (constraint != nullptr) masked.resize(static_cast<size_t>(vocab));
  }

  // The first vocab_size logits: a row may be padded beyond the vocabulary, and padding is never
  // chosen. Under a constraint it may be a copy; null: it allows nothing.
  const float* Raw(std::span<const TokenId> prefix, std::span<const float> row);
  // What the forward pass knows of the row that is chosen from: nothing, once it was processed.
  static const float* Maxima(const Row& row, const float* processed) {
    return processed == row.logits.data() ? row.maxima : nullptr;
  }
  TokenId Greedy(const float* raw, const float* processed, const float* maxima) const;
  // Fills `top` with the count best tokens of the row; `relative` (and `candidates`, when the
  // request truncates) describe it afterwards. False, and nothing filled, when no token can be
  // chosen.
  bool SelectNoisy(const NoiseKey& key, const float* processed, const float* maxima, int count);
  NoiseKey KeyAt(size_t position) const { return {params.seed, params.choice, position}; }
  bool ChooseInTopP(const NoiseKey& key, const float* processed, const float* maxima,
                    TokenId* token);
  TokenId ChooseToken(const NoiseKey& key, const float* raw, const float* processed,
                      const float* maxima);
  // `relative` describes the row: its law.
  void FillLaw(std::vector<float>& law);
  // The entries of `top`.
  void FillCandidates(std::vector<Candidate>& out);
  // The mass that the probabilities are shares of.
  uint64_t MassOfChoosable() const;

  SamplingParams params;
  int vocab_size;
  ConstraintCursor* constraint;
  std::vector<float> masked;  // [vocab], empty without a constraint
  Truncation truncation;
  LogitProcessors processors;
  Logprobs logprobs;
  RelativeRow relative;
  Candidates candidates;
  TopList top;
};

const float* Sampler::State::Raw(std::span<const TokenId> prefix, std::span<const float> row) {
  HUNCH_CHECK_GE(row.size(), static_cast<size_t>(vocab_size));
  if (constraint == nullptr) return row.data();
  switch (constraint->After(prefix)) {
    case ConstraintCursor::Allowed::kAll:
      return row.data();
    case ConstraintCursor::Allowed::kNothing:
      return nullptr;
    case ConstraintCursor::Allowed::kSome:
      constraint->Mask(row.data(), masked.data());
      return masked.data();
  }
  return nullptr;
}

TokenId Sampler::State::Greedy(const float* raw, const float* processed,
                               const float* maxima) const {
  int64_t best;
  // SPEED ONLY: the best block, then the best in it.
  if (!kTakeSpeedOnlyBranches || !ArgMaxByBlocks(processed, vocab_size, maxima, &best)) {
    best = ArgMax(processed, vocab_size);
  }
  if (processed[best] > -std::numeric_limits<float>::infinity()) return static_cast<TokenId>(best);
  best = ArgMax(raw, vocab_size);
  // Where all that is allowed is minus infinity or NaN, ArgMax may name what is not.
  const bool nothing = !(raw[best] > -std::numeric_limits<float>::infinity());
  if (nothing && raw == masked.data()) return constraint->FirstAllowed();
  return static_cast<TokenId>(best);
}

bool Sampler::State::SelectNoisy(const NoiseKey& key, const float* processed, const float* maxima,
                                 int count) {
  relative.Reset(processed, vocab_size, params.temperature, maxima);
  if (relative.empty()) return false;
  top.Reset(count);
  if (truncation.any()) {
    candidates.Select(relative, truncation);
    OfferNoisyCandidates(candidates, key, top);
  } else {
    OfferNoisyRow(relative, key, top);
  }
  return true;
}

// The token of SelectNoisy, found for less; false when it takes SelectNoisy to find it.
bool Sampler::State::ChooseInTopP(const NoiseKey& key, const float* processed, const float* maxima,
                                  TokenId* token) {
  if (!kTakeSpeedOnlyBranches || !truncation.only_top_p()) return false;
  relative.Reset(processed, vocab_size, params.temperature, maxima);
  if (relative.empty()) return false;
  candidates.GatherAtLeastTopP(relative, truncation.top_p);
  top.Reset(1);
  OfferNoisyCandidates(candidates, key, top);
  *token = top.entries().front().token;
  return candidates.SurelyInTopP(*token);
}

TokenId Sampler::State::ChooseToken(const NoiseKey& key, const float* raw, const float* processed,
                                    const float* maxima) {
  if (params.temperature == 0) return Greedy(raw, processed, maxima);
  TokenId token;
  // SPEED ONLY: the best of more tokens than top-p keeps, if top-p keeps it, is the best of those.
  // It is 19 times in 20.
  if (ChooseInTopP(key, processed, maxima, &token)) return token;
  if (!SelectNoisy(key, processed, maxima, 1)) return Greedy(raw, processed, maxima);
  return top.entries().front().token;
}

uint64_t Sampler::State::MassOfChoosable() const {
  if (params.temperature == 0 || !truncation.any()) return relative.mass();
  uint64_t total = 0;
  for (int i = 0; i < candidates.size(); ++i) total += Mass(candidates.z(i));
  return total;
}

void Sampler::State::FillLaw(std::vector<float>& law) {
  if (truncation.any()) {
    candidates.Select(relative, truncation);
    const double total = static_cast<double>(MassOfChoosable());
    for (int i = 0; i < candidates.size(); ++i) {
      law[candidates.id(i)] =
          static_cast<float>(static_cast<double>(Mass(candidates.z(i))) / total);
    }
    return;
  }
  const double unit = 0x1p40 / static_cast<double>(relative.mass());
  // What has no mass has no probability; of the rest, a mass's fraction is not cut off. Written so
  // that compilers make vectors of it: comparisons as integers, exp being positive.
  const int32_t least = std::bit_cast<int32_t>(0x1p-40f);
  float exps[RelativeRow::kBlock];
  for (int block = 0; block < relative.blocks(); ++block) {
    if (!(relative.block_z(block) >= kLeastWithMass)) continue;
    const int first = block * RelativeRow::kBlock;
    const int n = relative.block_size(block);
    relative.Copy(first, n, exps);
    for (int i = 0; i < n; ++i) exps[i] = exps[i] > -64.0f ? exps[i] : -64.0f;  // NaN too
    ExpRow(exps, n, exps);
    float* out = law.data() + first;
    for (int i = 0; i < n; ++i) {
      const int32_t bits = std::bit_cast<int32_t>(exps[i]);
      const float exp = std::bit_cast<float>(bits & -int32_t{bits >= least});
      out[i] = static_cast<float>(static_cast<double>(exp) * unit);
    }
  }
}

void Sampler::State::FillCandidates(std::vector<Candidate>& out) {
  const double total = static_cast<double>(MassOfChoosable());
  for (const TopList::Entry& entry : top.entries()) {
    const double mass = static_cast<double>(Mass(relative.z(entry.token)));
    out.push_back({entry.token, entry.score, static_cast<float>(mass / total)});
  }
}

Sampler::Sampler(const SamplingParams& params, int vocab_size, size_t prompt_len,
                 std::vector<TokenId> end_tokens, ConstraintCursor* constraint) {
  HUNCH_CHECK_GE(vocab_size, 1);
  state_ =
      std::make_unique<State>(params, vocab_size, prompt_len, std::move(end_tokens), constraint);
}

Sampler::~Sampler() = default;

TokenChoice Sampler::Choose(std::span<const TokenId> prefix, const Row& row) {
  State& s = *state_;
  const float* raw = s.Raw(prefix, row.logits);
  TokenChoice choice;
  if (raw == nullptr) return choice;
  const float* processed = s.processors.Apply(prefix, raw);
  const float* maxima = s.Maxima(row, processed);
  choice.token = s.ChooseToken(s.KeyAt(prefix.size()), raw, processed, maxima);
  if (s.params.logprobs >= 0) s.logprobs.Fill(raw, s.vocab_size, s.params.logprobs, choice);
  return choice;
}

void Sampler::TopPerturbed(std::span<const TokenId> prefix, const Row& row, int count,
                           std::vector<Candidate>& out) {
  out.clear();
  if (count <= 0) return;
  State& s = *state_;
  const float* raw = s.Raw(prefix, row.logits);
  if (raw == nullptr) return;
  const float* processed = s.processors.Apply(prefix, raw);
  const float* maxima = s.Maxima(row, processed);
  bool choosable;
  if (s.params.temperature == 0) {
    s.relative.Reset(processed, s.vocab_size, 1.0f, maxima);
    choosable = !s.relative.empty();
    if (choosable) {
      s.candidates.SelectBest(s.relative, count);
      s.top.Reset(count);
      for (int i = 0; i < s.candidates.size(); ++i)
        s.top.Offer(s.candidates.id(i), s.candidates.z(i));
    }
  } else {
    choosable = s.SelectNoisy(s.KeyAt(prefix.size()), processed, maxima, count);
  }
  if (!choosable) {
    out.push_back({s.Greedy(raw, processed, maxima), 0.0f, 1.0f});
    return;
  }
  s.FillCandidates(out);
}

void Sampler::Draw(std::span<const TokenId> prefix, const Row& row, int count, RatioNoise& noise,
                   std::vector<Candidate>& out) {
  out.clear();
  if (count <= 0) return;
  State& s = *state_;
  const float* raw = s.Raw(prefix, row.logits);
  if (raw == nullptr) return;
  const float* processed = s.processors.Apply(prefix, raw);
  const float* maxima = s.Maxima(row, processed);
  const NoiseKey key{noise.seed(), noise.choice(), noise.NextRow()};
  if (s.params.temperature > 0 && s.SelectNoisy(key, processed, maxima, count)) {
    s.FillCandidates(out);
  } else {
    out.push_back({s.Greedy(raw, processed, maxima), 0.0f, 1.0f});
  }
}

void Sampler::Law(std::span<const TokenId> prefix, const Row& row, std::vector<float>& law) {
  State& s = *state_;
  law.assign(s.vocab_size, 0.0f);
  const float* raw = s.Raw(prefix, row.logits);
  if (raw == nullptr) return;
  const float* processed = s.processors.Apply(prefix, raw);
  const float* maxima = s.Maxima(row, processed);
  if (s.params.temperature > 0) {
    s.relative.Reset(processed, s.vocab_size, s.params.temperature, maxima);
    if (!s.relative.empty()) return s.FillLaw(law);
  }
  law[s.Greedy(raw, processed, maxima)] = 1.0f;
}

TokenChoice Sampler::Describe(std::span<const TokenId> prefix, TokenId token, const Row& row) {
  State& s = *state_;
  TokenChoice choice;
  choice.token = token;
  if (token < 0 || s.params.logprobs < 0) return choice;
  const float* raw = s.Raw(prefix, row.logits);
  if (raw != nullptr) s.logprobs.Fill(raw, s.vocab_size, s.params.logprobs, choice);
  return choice;
}

}  // namespace hunch
