#include "server/event_stream.h"

#include "server/answer_id.h"

namespace hunch {

EventStream::EventStream(std::string answer_id, const AnswerOptions& options, size_t choices)
    : answer_id_(std::move(answer_id)),
      include_usage_(options.include_usage),
      event_ids_(options.event_ids),
      made_(choices),
      sent_(options.sent) {
  sent_.resize(choices);
}

void EventStream::Add(size_t choice, std::vector<Json> chunks) {
  for (Json& chunk : chunks) {
    if (++made_[choice] <= sent_[choice]) continue;
    sent_[choice] = made_[choice];
    if (include_usage_ && !chunk.contains("usage")) chunk["usage"] = nullptr;
    if (event_ids_) bytes_ += "id: " + EventIdText(answer_id_, sent_) + "\n";
    AddLast(DumpJson(chunk));
  }
}

void EventStream::AddLast(std::string_view data) {
  bytes_ += "data: ";
  bytes_ += data;
  bytes_ += "\n\n";
}

}  // namespace hunch
