#include "engine/measure_rows.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "sampling/sampler.h"

namespace hunch {
namespace {

template <typename Work>
double SecondsOf(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Samples of one thing; its median, as MedianTimes has it.
double Median(const std::vector<PassTime>& samples) {
  return samples.empty() ? 0 : MedianTimes(samples).front().seconds;
}

// The work that is timed, on one sequence of made-up tokens.
class Passes {
 public:
  Passes(Target& target, BlockPool& pool, int slots)
      : target_(target), table_(pool), reservation_(table_.Reserve(slots)) {
    HUNCH_CHECK(reservation_) << slots << " slots of " << pool.free_blocks() << " free blocks";
    for (int i = 0; i < slots; ++i) {
      tokens_.push_back(static_cast<TokenId>((17 + int64_t{7919} * i) % target.vocab()));
    }
  }

  // Writes the first `slots` slots: some by reading tokens, the rest as copies of those, since
  // reading a long context takes minutes and what the slots hold does not change what they cost.
  // Copies leave out the first block: a sequence's first positions are unlike all others.
  void Fill(int slots) {
    const int read = std::min({slots, 4 * kSlotsPerBlock, target_.limits().max_rows});
    if (read > 0) Forward(0, std::span(tokens_).first(read), read);
    const int from = read > kSlotsPerBlock ? kSlotsPerBlock : 0;
    for (int slot = read; slot < slots; ++slot) {
      target_.MoveSlot(table_.blocks(), from + (slot - read) % (read - from), slot);
    }
  }

  void Verify(int context, int rows) {
    Forward(context, std::span(tokens_).subspan(context, rows), 0);
  }

  // As the engine decodes plainly: a row, its greedy token, the next row.
  void Decode(int context, int steps) {
    Sampler sampler(SamplingParams{}, target_.vocab(), context, {});
    std::vector<TokenId> prefix(tokens_.begin(), tokens_.begin() + context + 1);
    for (int step = 0; step < steps; ++step) {
      const Logits logits = Forward(context + step, std::span(prefix).last(1), 0);
      const std::span row(logits.rows, static_cast<size_t>(target_.vocab()));
      prefix.push_back(sampler.Choose(prefix, {row, logits.maxima}).token);
    }
  }

  void Prompt(int tokens) {
    for (int begin = 0; begin < tokens;) {
      const int rows = std::min(tokens - begin, target_.limits().max_rows);
      const bool last = begin + rows == tokens;
      Forward(begin, std::span(tokens_).subspan(begin, rows), last ? rows - 1 : rows);
      begin += rows;
    }
  }

 private:
  Logits Forward(int context, std::span<const TokenId> tokens, int logits_from) {
    const SequenceRows rows = {.blocks = table_.blocks(),
                               .committed = context,
                               .tokens = tokens,
                               .parents = {},
                               .logits_from = logits_from};
    return target_.Forward({&rows, 1});
  }

  Target& target_;
  BlockTable table_;
  std::optional<Reservation> reservation_;  // goes before the table
  std::vector<TokenId> tokens_;             // [slots]
};

}  // namespace

int MeasurePlan::Slots() const {
  const auto most = [](const std::vector<int>& list) {
    return list.empty() ? 0 : *std::max_element(list.begin(), list.end());
  };
  return std::max(most(contexts) + std::max({most(rows), decode_steps, 1}), most(prompts));
}

int64_t MeasurePlan::Pieces() const {
  const auto passes = static_cast<int64_t>(contexts.size() * rows.size());
  const int64_t decodes = decode_steps > 0 ? static_cast<int64_t>(contexts.size()) : 0;
  return passes + repeats * (passes + decodes + static_cast<int64_t>(prompts.size()));
}

std::optional<RowTimes> MeasureRows(Target& target, BlockPool& pool, const MeasurePlan& plan,
                                    const OnMeasure& on_measure) {
  Passes passes(target, pool, plan.Slots());
  if (!plan.contexts.empty()) {
    passes.Fill(*std::max_element(plan.contexts.begin(), plan.contexts.end()));
  }
  const size_t contexts = plan.contexts.size();
  std::vector<std::vector<PassTime>> rows(contexts), decode(contexts);
  std::vector<std::vector<PassTime>> prompts(plan.prompts.size());
  int64_t done = 0;
  const auto go_on = [&] { return on_measure(done++, plan.Pieces()); };

  // Round -1 meets cold pages and caches, and is thrown away. Orders rotate, so that nothing always
  // follows the same neighbour.
  for (int repeat = -1; repeat < plan.repeats; ++repeat) {
    for (size_t c = 0; c < contexts; ++c) {
      const int context = plan.contexts[c];
      for (size_t turn = 0; turn < plan.rows.size(); ++turn) {
        if (!go_on()) return std::nullopt;
        const int m = plan.rows[(turn + static_cast<size_t>(repeat + 1)) % plan.rows.size()];
        const double seconds = SecondsOf([&] { passes.Verify(context, m); });
        if (repeat >= 0) rows[c].push_back({m, seconds});
      }
      if (repeat < 0 || plan.decode_steps == 0) continue;
      if (!go_on()) return std::nullopt;
      decode[c].push_back({1, SecondsOf([&] { passes.Decode(context, plan.decode_steps); })});
    }
    for (size_t p = 0; p < plan.prompts.size() && repeat >= 0; ++p) {
      if (!go_on()) return std::nullopt;
      prompts[p].push_back({1, SecondsOf([&] { passes.Prompt(plan.prompts[p]); })});
    }
  }
  RowTimes times;
  for (size_t c = 0; c < contexts; ++c) {
    times.contexts.push_back({plan.contexts[c], MedianTimes(std::move(rows[c])),
                              Median(decode[c]) / std::max(plan.decode_steps, 1)});
  }
  for (size_t p = 0; p < prompts.size(); ++p) {
    times.prompts.push_back({plan.prompts[p], Median(prompts[p])});
  }
  return times;
}

}  // namespace hunch
