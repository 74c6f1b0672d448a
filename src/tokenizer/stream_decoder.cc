#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

std::string StreamDecoder::Push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  size_t position = 0;
  while (position < pending_.size()) {
    const Utf8Char character = DecodeUtf8(pending_, position);
    if (character.state == Utf8State::kIncomplete) break;
    if (character.state == Utf8State::kValid) {
      text.append(pending_, position, character.length);
    } else {
      text += kReplacementCharacter;
    }
    position += character.length;
  }
  pending_.erase(0, position);
  return text;
}

std::string StreamDecoder::Flush() {
  // What waits is always one incomplete character.
  const bool waiting = !pending_.empty();
  pending_.clear();
  return std::string(waiting ? kReplacementCharacter : std::string_view());
}

std::string DecodeTokens(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  StreamDecoder decoder;
  std::string text;
  for (const TokenId token : tokens) text += decoder.Push(tokenizer.TokenBytes(token));
  return text + decoder.Flush();
}

}  // namespace hunch
