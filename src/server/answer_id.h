// The ids of answers and of the events of their streams. An event's id holds whatever makes the
// same answer again beside the request itself, so any server with the same model can go on with a
// stream that broke. Pure functions.
#ifndef HUNCH_SERVER_ANSWER_ID_H_
#define HUNCH_SERVER_ANSWER_ID_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/json_text.h"

namespace hunch {

struct AnswerId {
  uint32_t created = 0;  // seconds since 1970
  uint64_t seed = 0;
  uint32_t request = 0;  // RequestHash
  uint32_t salt = 0;     // tells answers to equal requests apart
  bool operator==(const AnswerId&) const = default;
};

// "chatcmpl-0123..." for the prefix "chatcmpl".
std::string AnswerIdText(std::string_view prefix, const AnswerId& id);

struct EventId {
  static constexpr size_t kMostChoices = 64;

  AnswerId answer;
  // How many events of each choice there were, this one included. Choices run side by side, and
  // how their events mix differs from run to run.
  std::vector<uint32_t> sent;
  bool operator==(const EventId&) const = default;
};

// "ANSWER_ID-3.0.2" for `sent` 3, 0, 2.
std::string EventIdText(std::string_view answer_id, const std::vector<uint32_t>& sent);
// Nothing if it is no event's id of an answer with this prefix.
std::optional<EventId> ParseEventId(std::string_view prefix, std::string_view text);

// Of the body, but for its seed, and of what names the model: tells whether a request that comes
// with an event's id is the one that the event answered.
uint32_t RequestHash(std::string_view fingerprint, Json body);

}  // namespace hunch

#endif  // HUNCH_SERVER_ANSWER_ID_H_
