#include "chat/text.h"

#include <algorithm>

namespace hunch::chat {

bool Text::HasRequest() const {
  if (runs_.empty()) return request_ && !bytes_.empty();
  return true;  // more than one run: they alternate
}

std::vector<Text::Run> Text::runs() const {
  if (!runs_.empty()) return runs_;
  if (bytes_.empty()) return {};
  return {{bytes_.size(), request_}};
}

bool Text::FromRequestAt(size_t position) const {
  if (runs_.empty()) return request_;
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), position,
                                    [](size_t at, const Run& r) { return at < r.end; });
  return run != runs_.end() && run->from_request;
}

void Text::Append(std::string_view bytes, bool from_request) {
  if (bytes.empty()) return;
  if (bytes_.empty()) {
    request_ = from_request;
    runs_.clear();
  } else if (runs_.empty()) {
    if (request_ != from_request) runs_ = {{bytes_.size(), request_}};
  }
  bytes_.append(bytes);
  if (runs_.empty()) return;
  if (runs_.back().from_request == from_request) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), from_request});
  }
}

void Text::Append(const Text& other) { Append(other, 0, other.size()); }

void Text::Append(const Text& other, size_t begin, size_t end) {
  if (begin >= end) return;
  const std::string_view bytes = other.bytes_;
  if (other.runs_.empty()) {
    Append(bytes.substr(begin, end - begin), other.request_);
    return;
  }
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](size_t at, const Run& r) { return at < r.end; });
  for (; begin < end; ++run) {
    const size_t stop = std::min(run->end, end);
    Append(bytes.substr(begin, stop - begin), run->from_request);
    begin = stop;
  }
}

Text Text::Slice(size_t begin, size_t end) const {
  Text slice;
  slice.Append(*this, begin, end);
  slice.markup_ = markup_;
  return slice;
}

Text EscapeHtml(const Text& text) {
  Text out;
  const std::string& bytes = text.bytes();
  size_t start = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string_view entity;
    switch (bytes[i]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      case '"':
        entity = "&#34;";
        break;
      default:
        continue;
    }
    out.Append(text, start, i);
    out.Append(entity, text.FromRequestAt(i));
    start = i + 1;
  }
  out.Append(text, start, bytes.size());
  out.set_markup(true);
  return out;
}

}  // namespace hunch::chat
