// ObjectScanner: reads a JSON object a byte at a time and says after each whether one can still
// come of it. It keeps no text. Not thread safe.
//
// More forgiving than JSON in one thing: control characters stand in strings as they are, since
// models write them so.
#ifndef HUNCH_CHAT_OBJECT_SCANNER_H_
#define HUNCH_CHAT_OBJECT_SCANNER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hunch {

class ObjectScanner {
 public:
  static constexpr size_t kMostDepth = 100;

  // False: no object goes on like this, now or later. Not to be called once it is over.
  bool Put(char byte);

  bool over() const { return place_ == Place::kOver; }
  // Objects and arrays that are open.
  size_t depth() const { return closers_.size(); }
  // What may come next, white space aside.
  bool before_key() const { return place_ == Place::kFirstKey || place_ == Place::kKey; }
  bool after_key() const { return place_ == Place::kColon; }
  bool before_value() const { return place_ == Place::kValue; }
  bool after_value() const { return place_ == Place::kAfter; }
  bool in_string() const { return place_ == Place::kString; }

 private:
  enum class Place {
    kStart,
    kFirstKey,   // after {
    kKey,        // after , in an object
    kColon,      // after a key
    kValue,      // after : or , in an array
    kFirstItem,  // after [
    kAfter,      // after a value
    kString,
    kEscape,  // after a backslash
    kHex,     // after \u
    kNumber,
    kWord,  // in true, false or null
    kOver,
    kBad,
  };

  bool Go(Place place) {
    place_ = place;
    return place != Place::kBad;
  }
  bool Open(char closer, Place place);
  bool Close(char closer);
  bool PutValue(char byte);
  bool PutAfter(char byte);
  bool PutString(char byte);
  bool PutNumber(char byte);
  Place AfterValue() const { return closers_.empty() ? Place::kOver : Place::kAfter; }

  Place place_ = Place::kStart;
  std::string closers_;  // } or ] for each open object and array
  bool is_key_ = false;  // the string
  int digits_left_ = 0;  // of \u
  std::string_view word_left_;
  std::string number_;
};

// All of `text` is one JSON object in the strict sense, nested no deeper than a scanner allows.
bool IsJsonObject(std::string_view text);

}  // namespace hunch

#endif  // HUNCH_CHAT_OBJECT_SCANNER_H_
