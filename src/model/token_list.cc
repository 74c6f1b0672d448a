#include "model/token_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace hunch {
namespace {

constexpr std::string_view kMagic = "hunch-vocab 1 ";

// Takes a number and the character after it off the front of `text`; false when it does not begin
// with one.
bool TakeNumber(std::string_view& text, char after, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  const size_t used = static_cast<size_t>(end - text.data());
  if (used == text.size() || text[used] != after) return false;
  text.remove_prefix(used + 1);
  return true;
}

Error Bad(const std::string& name, size_t line, std::string_view what) {
  return {ErrorCode::kBadFile,
          fmt::format(
              "{}: line {}: {}. A token list is \"hunch-vocab 1 <vocabulary size> <number "
              "of ids>\", then ascending ids, one a line: make it again with `hunch vocab count`",
              name, line, what)};
}

}  // namespace

std::vector<TokenId> MostFrequentTokens(std::span<const int64_t> counts, int size,
                                        std::span<const TokenId> always) {
  const auto vocab = static_cast<TokenId>(counts.size());
  std::vector<bool> wanted(counts.size(), false);
  for (const TokenId token : always) {
    if (token >= 0 && token < vocab) wanted[token] = true;
  }
  std::vector<TokenId> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return wanted[a] != wanted[b] ? wanted[a] : counts[a] > counts[b];
  });
  order.resize(std::min(order.size(), static_cast<size_t>(std::max(size, 0))));
  std::sort(order.begin(), order.end());
  return order;
}

std::string TokenListText(std::span<const TokenId> tokens, int vocab_size) {
  std::string text = fmt::format("{}{} {}\n", kMagic, vocab_size, tokens.size());
  for (const TokenId token : tokens) text += fmt::format("{}\n", token);
  return text;
}

Result<std::vector<TokenId>> ParseTokenList(std::string_view text, const std::string& name,
                                            int vocab_size) {
  if (!text.starts_with(kMagic)) return Bad(name, 1, "this is no token list");
  text.remove_prefix(kMagic.size());
  int stated_vocab = 0, count = 0;
  if (!TakeNumber(text, ' ', stated_vocab) || !TakeNumber(text, '\n', count))
    return Bad(name, 1, "two numbers are wanted");
  if (count < 1 || count > stated_vocab)
    return Bad(name, 1, "the number of ids must be from 1 to the vocabulary size");
  if (stated_vocab != vocab_size) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} was made for a vocabulary of {} tokens, this model has {}: count "
                             "again with this model",
                             name, stated_vocab, vocab_size)};
  }
  std::vector<TokenId> tokens;  // grows as lines are read: a large count alone asks for nothing
  for (int i = 0; i < count; ++i) {
    const size_t line = static_cast<size_t>(i) + 2;
    TokenId token = 0;
    if (!TakeNumber(text, '\n', token)) return Bad(name, line, "an id is wanted");
    if (token >= vocab_size) return Bad(name, line, "the id is outside the vocabulary");
    if (!tokens.empty() && token <= tokens.back()) return Bad(name, line, "the ids must ascend");
    tokens.push_back(token);
  }
  if (!text.empty())
    return Bad(name, static_cast<size_t>(count) + 2, "there are more ids than stated");
  return tokens;
}

}  // namespace hunch
