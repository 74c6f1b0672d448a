// EventStream: an answer as server-sent events, with ids where the stream can be resumed. What the
// client has of an earlier stream is left out. Not thread safe.
#ifndef HUNCH_SERVER_EVENT_STREAM_H_
#define HUNCH_SERVER_EVENT_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/answer_format.h"

namespace hunch {

class EventStream {
 public:
  EventStream(std::string answer_id, const AnswerOptions& options, size_t choices);

  // What comes next of a choice.
  void Add(size_t choice, std::vector<Json> chunks);
  // An event without an id: the end, or an error.
  void AddLast(std::string_view data);
  // The bytes since this was asked last.
  std::string Take() { return std::exchange(bytes_, {}); }

 private:
  const std::string answer_id_;
  const bool include_usage_, event_ids_;
  std::vector<uint32_t> made_, sent_;  // [choices]: events made; those that the client has or gets
  std::string bytes_;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_EVENT_STREAM_H_
