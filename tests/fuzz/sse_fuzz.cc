// Fuzz target: any bytes as what a model says, sent as server-sent events. A client that reads them
// by the standard's rules has the text, whatever is in it, and one that comes back with the id of
// an event gets exactly what follows. And any bytes as such an id. Input: a byte of switches, a
// byte for how the text is cut, the text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/answer_format.h"
#include "server/answer_id.h"
#include "server/event_stream.h"
#include "support/byte_tokenizer.h"

namespace {

constexpr size_t kChoices = 2;  // that say the same
constexpr hunch::AnswerId kId = {.created = 1, .seed = ~uint64_t{0}, .request = 2, .salt = 3};

struct Switches {
  explicit Switches(uint8_t bits)
      : chat(bits & 1), tools(bits & 2), logprobs(bits & 4), usage(bits & 8) {}
  std::string_view prefix() const { return chat ? "chatcmpl" : "cmpl"; }
  bool chat, tools, logprobs, usage;
};

struct Event {
  std::string id, data;
  bool operator==(const Event&) const = default;
};

// By https://html.spec.whatwg.org/multipage/server-sent-events.html, but for fields and comments
// that there is no reason to send.
std::vector<Event> ReadEvents(std::string_view stream) {
  std::vector<Event> events;
  std::string id, data;
  while (!stream.empty()) {
    const size_t end = stream.find_first_of("\r\n");
    HUNCH_CHECK(end != std::string_view::npos) << "a line without an end";
    const std::string_view line = stream.substr(0, end);
    stream.remove_prefix(end + (stream.substr(end).starts_with("\r\n") ? 2 : 1));
    if (line.empty()) {
      HUNCH_CHECK(!data.empty()) << "an event without data";
      data.pop_back();
      events.push_back({id, std::move(data)});
      data.clear();
      continue;
    }
    const size_t colon = line.find(": ");
    HUNCH_CHECK(colon != std::string_view::npos) << line;
    const std::string_view name = line.substr(0, colon), value = line.substr(colon + 2);
    HUNCH_CHECK(name == "id" || name == "data") << line;
    if (name == "id") {
      id = value;
    } else {
      (data += value) += '\n';
    }
  }
  HUNCH_CHECK(data.empty()) << "an event without an end";
  return events;
}

std::vector<hunch::TextDelta> Cut(std::string_view bytes, size_t part) {
  std::vector<hunch::TextDelta> deltas;
  hunch::StreamDecoder decoder;
  while (!bytes.empty()) {
    const auto token = static_cast<hunch::TokenId>(static_cast<uint8_t>(bytes[0]));
    deltas.push_back(
        {decoder.Push(bytes.substr(0, part)), false, hunch::TokenChoice{token, -1, {}}});
    bytes.remove_prefix(std::min(part, bytes.size()));
  }
  deltas.push_back({decoder.Flush(), false});
  return deltas;
}

// What is sent to a client that has `sent` events of each choice.
std::string Stream(const Switches& switches, const std::vector<hunch::TextDelta>& deltas,
                   const std::vector<uint32_t>& sent) {
  static const hunch::ByteTokenizer tokenizer;
  hunch::AnswerHead head;
  head.id = hunch::AnswerIdText(switches.prefix(), kId);
  head.model = "m";
  std::unique_ptr<hunch::AnswerFormat> format;
  if (switches.chat) {
    std::optional<hunch::AnswerTools> tools;
    if (switches.tools) tools.emplace().calls.names = {"f"};
    format = MakeChatFormat(head, tokenizer, switches.logprobs, std::move(tools));
  } else {
    format = MakeCompletionFormat(head, tokenizer, switches.logprobs, {});
  }
  hunch::EventStream events(
      head.id, {.include_usage = switches.usage, .event_ids = true, .sent = sent}, kChoices);
  for (size_t i = 0; i < kChoices; ++i) events.Add(i, format->First(static_cast<int>(i)));
  for (const hunch::TextDelta& delta : deltas) {
    for (size_t i = 0; i < kChoices; ++i) events.Add(i, format->Delta(static_cast<int>(i), delta));
  }
  for (size_t i = 0; i < kChoices; ++i) {
    events.Add(i, format->Last(static_cast<int>(i), hunch::FinishReason::kStop));
  }
  events.AddLast("[DONE]");
  return events.Take();
}

// What a choice said: content, then names and arguments of its calls.
std::string Joined(const std::vector<Event>& events, const Switches& switches, size_t choice) {
  std::string content, calls;
  for (const Event& event : events) {
    const auto json = hunch::ParseJsonObject(event.data);
    HUNCH_CHECK(json.ok()) << event.data;
    HUNCH_CHECK_EQ(json->contains("usage"), switches.usage);
    const hunch::Json& own = (*json)["choices"][0];
    if (own["index"] != choice) continue;
    if (!switches.chat) {
      content += own["text"].get<std::string>();
      continue;
    }
    const hunch::Json& delta = own["delta"];
    if (delta.contains("content") && delta["content"].is_string()) {
      content += delta["content"].get<std::string>();
    }
    if (!delta.contains("tool_calls")) continue;
    const hunch::Json& function = delta["tool_calls"][0]["function"];
    if (function.contains("name")) calls += function["name"].get<std::string>();
    calls += function["arguments"].get<std::string>();
  }
  return content + calls;
}

std::string Expected(const Switches& switches, const std::vector<hunch::TextDelta>& deltas) {
  std::string text;
  for (const hunch::TextDelta& delta : deltas) text += delta.text;
  if (!switches.chat || !switches.tools) return text;
  hunch::ToolCallParser parser({.names = {"f"}});
  std::string content, calls;
  for (const auto& pieces : {parser.Push(text), parser.Finish()}) {
    for (const hunch::ToolCallPiece& piece : pieces) {
      (piece.kind == hunch::ToolCallPiece::Kind::kContent ? content : calls) += piece.text;
    }
  }
  return content + calls;
}

void CheckId(std::string_view text) {
  const auto id = hunch::ParseEventId("cmpl", text);
  if (!id) return;
  const std::string again = hunch::EventIdText(hunch::AnswerIdText("cmpl", id->answer), id->sent);
  HUNCH_CHECK(hunch::ParseEventId("cmpl", again) == id) << again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckId({reinterpret_cast<const char*>(data), size});
  if (size < 2) return 0;
  const Switches switches(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::vector<hunch::TextDelta> deltas = Cut(text, 1 + data[1] % 16);
  std::vector<Event> events = ReadEvents(Stream(switches, deltas, {}));
  HUNCH_CHECK(events.back().data == "[DONE]");
  const size_t kept = 1 + data[1] % (events.size() - 1);
  const auto id = hunch::ParseEventId(switches.prefix(), events[kept - 1].id);
  HUNCH_CHECK(id && id->answer == kId) << events[kept - 1].id;
  const std::vector<Event> rest = ReadEvents(Stream(switches, deltas, id->sent));
  HUNCH_CHECK_EQ(rest.size(), events.size() - kept);
  // The end has no id of its own, and keeps that of the event before.
  for (size_t i = 0; i + 1 < rest.size(); ++i) HUNCH_CHECK(rest[i] == events[kept + i]) << i;
  events.pop_back();
  for (size_t i = 0; i < kChoices; ++i) {
    HUNCH_CHECK(Joined(events, switches, i) == Expected(switches, deltas)) << i;
  }
  return 0;
}
