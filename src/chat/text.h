// Text: a string whose every byte knows whether it came from the template or from the request.
// A plain value type: copies are independent, nothing is shared, so it is as thread safe as
// std::string. Invariant: runs() are ascending, not empty and differ from their neighbours; they
// end at size().
#ifndef HUNCH_CHAT_TEXT_H_
#define HUNCH_CHAT_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace hunch::chat {

class Text {
 public:
  struct Run {
    size_t end;  // one past its last byte
    bool from_request;
  };

  Text() = default;
  Text(std::string bytes, bool from_request) : bytes_(std::move(bytes)), request_(from_request) {}

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Whether any byte came from the request.
  bool HasRequest() const;
  std::vector<Run> runs() const;
  bool FromRequestAt(size_t position) const;

  void Append(std::string_view bytes, bool from_request);
  void Append(const Text& other);
  void Append(const Text& other, size_t begin, size_t end);
  // The bytes [begin, end).
  Text Slice(size_t begin, size_t end) const;

  // Markup is what the filters `safe` and `escape` return: adding other text to it escapes that
  // text.
  bool markup() const { return markup_; }
  void set_markup(bool markup) { markup_ = markup; }

 private:
  std::string bytes_;
  // Empty while all bytes have one origin, which request_ then tells: nearly every string is so.
  std::vector<Run> runs_;
  bool request_ = false;
  bool markup_ = false;
};

// HTML escaping as markupsafe does it; origin is kept.
Text EscapeHtml(const Text& text);

}  // namespace hunch::chat

#endif  // HUNCH_CHAT_TEXT_H_
