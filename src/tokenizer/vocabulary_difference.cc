#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace hunch {
namespace {

std::string DescribeEnds(const Tokenizer& tokenizer) {
  std::string ends;
  for (const TokenId id : tokenizer.end_tokens()) {
    if (!ends.empty()) ends += ", ";
    ends += fmt::format("{} ({})", id, Quote(tokenizer.TokenBytes(id)));
  }
  return ends;
}

}  // namespace

std::string VocabularyDifference(const Tokenizer& target, const Tokenizer& drafter) {
  const int both = std::min(target.vocab_size(), drafter.vocab_size());
  int shared = 0;
  for (TokenId id = 0; id < both; ++id) {
    const std::string_view ours = target.TokenBytes(id);
    const std::string_view theirs = drafter.TokenBytes(id);
    // Without text it is padding: models of one family pad to different sizes, and a newer one may
    // name what an older one left unused.
    if (ours.empty() || theirs.empty()) continue;
    ++shared;
    if (ours != theirs) {
      return fmt::format("token {} is {} in the target and {} in the drafter", id, Quote(ours),
                         Quote(theirs));
    }
    if (target.IsSpecial(id) != drafter.IsSpecial(id)) {
      return fmt::format("token {} ({}) is {} in the target and {} in the drafter", id, Quote(ours),
                         target.IsSpecial(id) ? "a control token" : "ordinary text",
                         drafter.IsSpecial(id) ? "a control token" : "ordinary text");
    }
  }
  if (shared == 0) return "the target's vocabulary and the drafter's have no token in common";
  if (target.add_bos() && drafter.add_bos() && target.bos() != drafter.bos()) {
    return fmt::format("texts start with token {} ({}) in the target and {} ({}) in the drafter",
                       target.bos(), Quote(target.TokenBytes(target.bos())), drafter.bos(),
                       Quote(drafter.TokenBytes(drafter.bos())));
  }
  const auto& ends = target.end_tokens();
  const auto& drafter_ends = drafter.end_tokens();
  // Which of its end tokens a file calls eos differs between converters of the same model; having
  // none in common does not.
  if (!ends.empty() && !drafter_ends.empty() &&
      std::find_first_of(ends.begin(), ends.end(), drafter_ends.begin(), drafter_ends.end()) ==
          ends.end()) {
    return fmt::format("no end token in common: {} in the target, {} in the drafter",
                       DescribeEnds(target), DescribeEnds(drafter));
  }
  return "";
}

}  // namespace hunch
