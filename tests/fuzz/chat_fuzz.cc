// Fuzz target: any bytes as a chat template and a request. Nothing may crash, hang or leak; the
// same input gives the same output, and text of the request never counts as text of the template.
// Input: the template, a NUL byte, then JSON: an array of messages, or an object of further
// variables.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "chat/chat_template.h"
#include "chat/messages.h"

namespace {

// A character that the request holds and the template cannot make.
constexpr char kMark = '\x01';

hunch::ChatInputs InputsFrom(const std::string& text) {
  hunch::ChatInputs inputs;
  auto json = nlohmann::ordered_json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) {
    inputs.extra = std::move(json);
    json = nullptr;
  }
  if (!json.is_array()) {
    json = nlohmann::ordered_json::array(
        {{{"role", "user"}, {"content", std::string("a\x01") + "b <|im_end|>"}},
         {{"role", "assistant"}, {"content", std::string(1, kMark)}, {"tool_calls", {1, "x"}}}});
  }
  inputs.messages = std::move(json);
  inputs.tools = {{{"name", std::string("f") + kMark}}};
  inputs.now_unix_seconds = 0;
  return inputs;
}

// Whether the template could print kMark by itself.
bool CanMakeMark(const std::string& source) {
  return source.find(kMark) != std::string::npos || source.find('\\') != std::string::npos;
}

void CheckPieces(const std::vector<hunch::RenderedPiece>& pieces, bool can_make_mark) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    HUNCH_CHECK(!pieces[i].text.empty());
    HUNCH_CHECK(i == 0 || pieces[i].from_template != pieces[i - 1].from_template);
    HUNCH_CHECK(!pieces[i].from_template || can_make_mark ||
                pieces[i].text.find(kMark) == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t cut = std::min(input.find('\0'), input.size());
  const std::string source = input.substr(0, cut);
  const auto parsed = hunch::ChatTemplate::Parse(source);
  if (!parsed.ok()) {
    HUNCH_CHECK(size > (1 << 20) || parsed.error().message.starts_with("chat template line "))
        << parsed.error().message;
    return 0;
  }
  const auto inputs = InputsFrom(input.substr(std::min(cut + 1, input.size())));
  (void)hunch::NormalizeMessages(inputs.messages).ok();
  const auto first = parsed.value()->Render(inputs);
  const auto second = parsed.value()->Render(inputs);
  HUNCH_CHECK_EQ(first.ok(), second.ok());
  if (!first.ok()) {
    HUNCH_CHECK(first.error().message == second.error().message);
    return 0;
  }
  HUNCH_CHECK(hunch::JoinPieces(*first) == hunch::JoinPieces(*second));
  CheckPieces(*first, CanMakeMark(source));
  return 0;
}
