#include "train/train_set.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <utility>

#include "base/fnv.h"
#include "base/philox.h"
#include "model/token_list.h"

namespace hunch {
namespace {

constexpr uint32_t kHoldOutEvery = 32;

// A number below `n`, evenly enough for n far below 2^32.
uint32_t Below(uint32_t n, uint64_t seed, uint32_t epoch, uint32_t draw) {
  const PhiloxCounter words = Philox4x32(
      {draw, epoch, 0, 1}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<uint32_t>(uint64_t{words[0]} * n >> 32);
}

}  // namespace

// The first row has no token before it.
bool IsLongEnough(const TrainText& text, int steps) {
  return std::cmp_greater(text.prompt, steps) && text.answer().size() > 1;
}

TrainSet MakeTrainSet(const TokenData& data, int requests, int steps, int most_tokens) {
  TrainSet set;
  set.fingerprint = kFnvStart;
  for (const auto& [request, text] : data.texts()) {
    if (std::cmp_greater_equal(request, requests)) break;
    if (!IsLongEnough(text, steps) || text.size() > most_tokens) continue;
    const PlacedText placed = {&text, set.rows};
    set.rows += text.size();
    set.all.push_back(placed);
    const auto bytes = std::as_bytes(std::span(text.tokens));
    set.fingerprint = Fnv64(fmt::format("{} {}", text.prompt, text.size()), set.fingerprint);
    set.fingerprint =
        Fnv64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, set.fingerprint);
    if (request % kHoldOutEvery == 0 && text.temperature == 0) {
      set.held_out.push_back(placed);
    } else {
      set.learned.push_back(placed);
      set.learned_tokens += static_cast<int64_t>(text.answer().size());
    }
  }
  return set;
}

std::vector<TokenId> GuessableTokens(std::span<const PlacedText> texts, int vocab_size, int size,
                                     std::span<const TokenId> end_tokens) {
  std::vector<int64_t> counts(vocab_size);
  for (const PlacedText& placed : texts) {
    for (const TokenId token : placed.text->answer()) ++counts[token];
  }
  return MostFrequentTokens(counts, size, end_tokens);
}

std::vector<std::vector<int>> BatchesOf(std::span<const PlacedText> texts, int batch_tokens,
                                        uint64_t seed, uint32_t epoch) {
  std::vector<int> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  for (uint32_t left = static_cast<uint32_t>(order.size()); left > 1; --left) {
    std::swap(order[left - 1], order[Below(left, seed, epoch, left)]);
  }
  std::vector<std::vector<int>> batches;
  int tokens = 0;
  for (const int index : order) {
    const int size = texts[index].text->size();
    if (batches.empty() || tokens + size > batch_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(index);
    tokens += size;
  }
  return batches;
}

}  // namespace hunch
