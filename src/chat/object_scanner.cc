#include "chat/object_scanner.h"

#include <nlohmann/json.hpp>

namespace hunch {
namespace {

constexpr size_t kLongestNumber = 400;  // a double has at most some 320 digits that matter

bool IsSpace(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }
bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsHexDigit(char byte) {
  return IsDigit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

}  // namespace

bool ObjectScanner::Put(char byte) {
  switch (place_) {
    case Place::kString:
    case Place::kEscape:
    case Place::kHex:
      return PutString(byte);
    case Place::kNumber:
      return PutNumber(byte);
    case Place::kWord:
      if (byte != word_left_.front()) return Go(Place::kBad);
      word_left_.remove_prefix(1);
      return word_left_.empty() ? Go(AfterValue()) : true;
    default:
      break;
  }
  if (IsSpace(byte)) return place_ != Place::kOver && place_ != Place::kBad;
  switch (place_) {
    case Place::kStart:
      return byte == '{' ? Open('}', Place::kFirstKey) : Go(Place::kBad);
    case Place::kFirstKey:
      if (byte == '}') return Close(byte);
      [[fallthrough]];
    case Place::kKey:
      is_key_ = true;
      return Go(byte == '"' ? Place::kString : Place::kBad);
    case Place::kColon:
      return Go(byte == ':' ? Place::kValue : Place::kBad);
    case Place::kFirstItem:
      if (byte == ']') return Close(byte);
      [[fallthrough]];
    case Place::kValue:
      return PutValue(byte);
    case Place::kAfter:
      return PutAfter(byte);
    default:
      return Go(Place::kBad);
  }
}

bool ObjectScanner::Open(char closer, Place place) {
  if (closers_.size() == kMostDepth) return Go(Place::kBad);
  closers_.push_back(closer);
  return Go(place);
}

bool ObjectScanner::Close(char closer) {
  if (closers_.back() != closer) return Go(Place::kBad);
  closers_.pop_back();
  return Go(AfterValue());
}

bool ObjectScanner::PutValue(char byte) {
  constexpr std::string_view kTrue = "true", kFalse = "false", kNull = "null";
  switch (byte) {
    case '{':
      return Open('}', Place::kFirstKey);
    case '[':
      return Open(']', Place::kFirstItem);
    case '"':
      is_key_ = false;
      return Go(Place::kString);
    case 't':
    case 'f':
    case 'n':
      word_left_ = (byte == 't' ? kTrue : byte == 'f' ? kFalse : kNull).substr(1);
      return Go(Place::kWord);
    default:
      if (byte != '-' && !IsDigit(byte)) return Go(Place::kBad);
      number_ = byte;
      return Go(Place::kNumber);
  }
}

bool ObjectScanner::PutAfter(char byte) {
  if (byte != ',') return Close(byte);
  return Go(closers_.back() == '}' ? Place::kKey : Place::kValue);
}

bool ObjectScanner::PutString(char byte) {
  if (place_ == Place::kHex) {
    if (!IsHexDigit(byte)) return Go(Place::kBad);
    return --digits_left_ == 0 ? Go(Place::kString) : true;
  }
  if (place_ == Place::kEscape) {
    if (byte == 'u') {
      digits_left_ = 4;
      return Go(Place::kHex);
    }
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    return Go(kEscapes.find(byte) != std::string_view::npos ? Place::kString : Place::kBad);
  }
  if (byte == '\\') return Go(Place::kEscape);
  if (byte == '"') return Go(is_key_ ? Place::kColon : AfterValue());
  return true;
}

bool ObjectScanner::PutNumber(char byte) {
  const bool goes_on =
      IsDigit(byte) || byte == '.' || byte == 'e' || byte == 'E' || byte == '+' || byte == '-';
  if (goes_on && number_.size() < kLongestNumber) {
    number_.push_back(byte);
    return true;
  }
  // What ends a number belongs to what is around it.
  if (goes_on || !nlohmann::json::accept(number_)) return Go(Place::kBad);
  place_ = AfterValue();
  return IsSpace(byte) || PutAfter(byte);
}

bool IsJsonObject(std::string_view text) {
  ObjectScanner scanner;
  for (const char byte : text) {
    const bool good = scanner.over() ? IsSpace(byte) : scanner.Put(byte);
    if (!good) return false;
  }
  return scanner.over() && nlohmann::json::accept(text);
}

}  // namespace hunch
