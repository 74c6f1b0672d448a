// Fuzz target: any bytes as a grammar of a user. It is refused with a message or taken, and then a
// constraint takes exactly the tokens that its masks allow, also after some were taken back.
// Input: a digit for the kind of grammar ('6': the schema of a strict tool), then its text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "grammar/grammars.h"
#include "session/tagged_output.h"
#include "support/byte_tokenizer.h"

namespace {

using hunch::StructuredOutput;
using Allowed = hunch::TokenConstraint::Allowed;

constexpr int kKinds = 6;
constexpr int kSteps = 40;

hunch::Result<StructuredOutput> Wanted(uint8_t first, std::string text) {
  const int kind = (first + 1) % (kKinds + 1);
  if (kind < kKinds) return StructuredOutput{static_cast<StructuredOutput::Kind>(kind), text};
  const std::vector<hunch::TaggedSchema> tags = {{"<a>", std::move(text), "</a>"}};
  return hunch::TaggedOutput(tags, "<a", hunch::TagUse::kFree);
}

// Of the tokens from `first` on, in a circle, takes the one that is allowed first. False: it gave
// up or there is none.
bool TakeOne(hunch::TokenConstraint& constraint, int vocab, hunch::TokenId first,
             std::vector<uint32_t>& mask) {
  const Allowed allowed = constraint.Fill(mask);
  if (allowed == Allowed::kNothing) return false;
  for (hunch::TokenId i = 0; i < vocab; ++i) {
    const hunch::TokenId token = (first + i) % vocab;
    const bool bit =
        allowed == Allowed::kAll || (mask[static_cast<size_t>(token) / 32] >> token % 32 & 1) != 0;
    const bool taken = constraint.Advance(token);
    // A constraint that needs too long gives up: from then on it allows nothing.
    if (taken != bit && constraint.Fill(mask) == Allowed::kNothing) return false;
    HUNCH_CHECK_EQ(taken, bit) << token;
    if (bit) return true;
  }
  HUNCH_CHECK(false) << "a mask without a token";
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto wanted = Wanted(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!wanted.ok()) {
    HUNCH_CHECK(!wanted.error().message.empty());
    return 0;
  }
  const hunch::ByteTokenizer tokenizer;
  hunch::Grammars grammars(hunch::VocabularyOf(tokenizer));
  const auto grammar = grammars.Compile(*wanted);
  if (!grammar.ok()) {
    HUNCH_CHECK(!grammar.error().message.empty());
    return 0;
  }
  const auto constraint = (*grammar)->Start();
  std::vector<uint32_t> mask(hunch::MaskWords(tokenizer.vocab_size()));
  std::vector<hunch::TokenId> forced;
  int taken = 0;
  for (int step = 0; step < kSteps; ++step) {
    // Which one depends on the text, so that others are tried of another.
    const auto first = static_cast<hunch::TokenId>((data[step % size] * 7 + step) % 257);
    if (!TakeOne(*constraint, tokenizer.vocab_size(), first, mask)) break;
    ++taken;
    constraint->Forced(forced);
    if (step % 7 != 6) continue;
    const int back = data[step % size] % 4;
    constraint->Undo(back);
    taken -= back;
  }
  (void)constraint->Complete();
  HUNCH_CHECK(taken >= 0);
  return 0;
}
