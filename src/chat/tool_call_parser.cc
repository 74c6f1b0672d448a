#include "chat/tool_call_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"

namespace hunch {
namespace {

using Kind = ToolCallPiece::Kind;

constexpr std::string_view kFence = "```";
constexpr std::array kOpeners = {ToolCallParser::kOpener, std::string_view("```json\n"),
                                 std::string_view("```\n")};

bool IsSpace(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

}  // namespace

std::vector<ToolCallPiece> ToolCallParser::Push(std::string_view text) {
  while (!text.empty()) {
    switch (mode_) {
      case Mode::kContent:
        text = InContent(text);
        break;
      case Mode::kBody:
        text = InBody(text);
        break;
      case Mode::kBroken:
        text = InBroken(text);
        break;
      case Mode::kAfterBody:
        text = AfterBody(text);
        break;
    }
  }
  return std::exchange(pieces_, {});
}

std::vector<ToolCallPiece> ToolCallParser::Finish() {
  switch (mode_) {
    case Mode::kContent:
      if (calls_ == 0 || !held_.empty()) GiveHeld();
      break;
    case Mode::kBody:
      // A name alone is a call that was cut: what there will be of its arguments is nothing.
      if (!begun_ && tagged() && !body_->name().empty()) BeginCall();
      cut_ = begun_ && !body_->arguments_over();
      if (!begun_) Reject();
      break;
    case Mode::kBroken:
      Add(Kind::kArguments, held_);
      cut_ = true;
      break;
    case Mode::kAfterBody:
      break;
  }
  return std::exchange(pieces_, {});
}

std::string_view ToolCallParser::InContent(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    const bool more_calls = calls_ < options_.most_calls;
    // What was held is no opener if it does not grow into one; another may begin here.
    if (!held_.empty() && !(more_calls && GrowsOpener(byte))) GiveHeld();
    if (more_calls && GrowsOpener(byte)) {
      held_.push_back(byte);
      if (std::find(kOpeners.begin(), kOpeners.end(), held_) == kOpeners.end()) continue;
      BeginBody(held_ == kOpener ? kCloser : kFence);
      return text.substr(i + 1);
    }
    if (more_calls && byte == '{' && may_be_bare_) {
      BeginBody("");
      return text.substr(i);
    }
    if (IsSpace(byte)) {
      spaces_.push_back(byte);
    } else {
      GiveHeld();
      Add(Kind::kContent, text.substr(i, 1));
      may_be_bare_ = false;
    }
  }
  return {};
}

std::string_view ToolCallParser::InBody(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (!body_->Put(text[i])) {
      if (!begun_) {
        Reject();
      } else {
        // Complete arguments make a call, whatever the model forgot after them.
        mode_ = body_->arguments_over() ? Mode::kAfterBody : Mode::kBroken;
      }
      return text.substr(i);
    }
    if (!begun_) raw_.push_back(text[i]);
    if (!begun_ && ReadyToBegin()) BeginCall();
    if (begun_) Add(Kind::kArguments, body_->TakeArguments());
    if (!body_->over()) continue;
    EndBody();
    return text.substr(i + 1);
  }
  return {};
}

std::string_view ToolCallParser::InBroken(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kCloser[held_.size()]) {
      Add(Kind::kArguments, std::exchange(held_, {}));
      if (text[i] != kCloser[0]) {
        Add(Kind::kArguments, text.substr(i, 1));
        continue;
      }
    }
    held_.push_back(text[i]);
    if (held_ != kCloser) continue;
    held_.clear();
    mode_ = Mode::kContent;
    return text.substr(i + 1);
  }
  return {};
}

std::string_view ToolCallParser::AfterBody(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    // Closing braces beyond those that were opened do no harm.
    if (held_.empty() && (IsSpace(byte) || byte == '}')) continue;
    if (held_.empty() && byte == '{' && calls_ < options_.most_calls) {
      BeginBody(closer_);
      return text.substr(i);
    }
    if (byte != closer_[held_.size()]) {
      // It was not closed. One byte may begin the next opener, too.
      mode_ = Mode::kContent;
      if (held_.size() > 1) GiveHeld();
      return text.substr(i);
    }
    held_.push_back(byte);
    if (held_ != closer_) continue;
    held_.clear();
    mode_ = Mode::kContent;
    return text.substr(i + 1);
  }
  return {};
}

bool ToolCallParser::GrowsOpener(char byte) const {
  return std::any_of(kOpeners.begin(), kOpeners.end(), [&](std::string_view opener) {
    return opener.starts_with(held_) && opener.size() > held_.size() &&
           opener[held_.size()] == byte;
  });
}

void ToolCallParser::BeginBody(std::string_view closer) {
  closer_ = closer;
  begun_ = false;
  raw_ = std::exchange(spaces_, {}) + std::exchange(held_, {});
  body_.emplace(/*strict=*/!tagged());
  mode_ = Mode::kBody;
}

bool ToolCallParser::ReadyToBegin() const {
  if (tagged()) return body_->is_call();
  const auto& names = options_.names;
  if (!body_->over() || std::find(names.begin(), names.end(), body_->name()) == names.end()) {
    return false;
  }
  return !options_.untagged || options_.untagged(body_->name(), body_->arguments());
}

void ToolCallParser::BeginCall() {
  HUNCH_CHECK(!begun_);
  begun_ = true;
  raw_.clear();
  ++calls_;
  Add(Kind::kName, body_->name());
}

void ToolCallParser::EndBody() {
  if (!begun_) return Reject();
  may_be_bare_ = closer_.empty();
  mode_ = may_be_bare_ ? Mode::kContent : Mode::kAfterBody;
}

// It is no call.
void ToolCallParser::Reject() {
  Add(Kind::kContent, std::exchange(raw_, {}));
  may_be_bare_ = false;
  mode_ = Mode::kContent;
}

// What was held back is content.
void ToolCallParser::GiveHeld() {
  if (!held_.empty()) may_be_bare_ = false;
  Add(Kind::kContent, std::exchange(spaces_, {}));
  Add(Kind::kContent, std::exchange(held_, {}));
}

void ToolCallParser::Add(Kind kind, std::string_view text) {
  if (text.empty()) return;
  const int call = kind == Kind::kContent ? calls_ : calls_ - 1;
  if (!pieces_.empty() && pieces_.back().kind == kind && pieces_.back().call == call) {
    pieces_.back().text += text;
  } else {
    pieces_.push_back({kind, call, std::string(text)});
  }
}

}  // namespace hunch
