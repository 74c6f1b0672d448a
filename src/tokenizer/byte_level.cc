#include "tokenizer/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace hunch {
namespace {

constexpr bool StandsForItself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

constexpr int kAlphabetEnd = 0x100 + 68;

constexpr std::array<uint16_t, 256> kCharacterOf = [] {
  std::array<uint16_t, 256> characters{};
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    characters[byte] = static_cast<uint16_t>(StandsForItself(byte) ? byte : next++);
  }
  return characters;
}();

constexpr std::array<int16_t, kAlphabetEnd> kByteOf = [] {
  std::array<int16_t, kAlphabetEnd> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (int byte = 0; byte < 256; ++byte) bytes[kCharacterOf[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

}  // namespace

std::string ByteLevelCharacter(uint8_t byte) {
  std::string text;
  AppendUtf8(kCharacterOf[byte], &text);
  return text;
}

bool AppendByteLevelDecoded(std::string_view text, std::string* bytes) {
  const size_t before = bytes->size();
  for (size_t position = 0; position < text.size();) {
    const Utf8Char character = DecodeUtf8(text, position);
    if (character.state != Utf8State::kValid || character.code_point >= kAlphabetEnd ||
        kByteOf[character.code_point] < 0) {
      bytes->resize(before);
      return false;
    }
    bytes->push_back(static_cast<char>(kByteOf[character.code_point]));
    position += character.length;
  }
  return true;
}

}  // namespace hunch
