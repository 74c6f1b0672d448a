// Answer: one HTTP request's way through the model. It submits a sequence for each choice, writes
// what comes back (whole, or as server-sent events), and cancels all of them when the client
// leaves.
//
// The stream's header is sent with its first text: whatever is wrong before that is an HTTP error.
// A stream that is resumed is made anew from its beginning, and what the client has of it is left
// out.
// Belongs to the I/O thread. It lives as long as its sequences run.
#ifndef HUNCH_SERVER_ANSWER_H_
#define HUNCH_SERVER_ANSWER_H_

#include <memory>
#include <optional>
#include <vector>

#include "server/answer_format.h"
#include "server/api_error.h"
#include "server/event_stream.h"
#include "server/http.h"
#include "session/async_llm.h"

namespace hunch {

class Answer : public std::enable_shared_from_this<Answer> {
 public:
  // `llm` must outlive the answer.
  Answer(AsyncLlm& llm, const AnswerOptions& options, std::unique_ptr<AnswerFormat> format,
         std::shared_ptr<Reply> reply);

  // One request for each choice.
  void Begin(std::vector<TextRequest> requests);

 private:
  void OnText(size_t choice, const std::vector<TextDelta>& deltas);
  void OnDone(size_t choice, Result<RequestOutput> result);
  void BeginChoice(size_t choice);
  void FinishChoice(size_t choice, RequestOutput output);
  void FinishAll();
  void Fail(const ApiError& error);
  void CancelAll();
  void SendEvents();

  AsyncLlm& llm_;
  AnswerOptions options_;
  std::unique_ptr<AnswerFormat> format_;
  std::shared_ptr<Reply> reply_;
  std::vector<AsyncLlm::Ticket> tickets_;
  std::vector<ChoiceOutput> outputs_;  // [choices]
  std::vector<bool> begun_;            // [choices]: its stream's first chunk was written
  std::optional<EventStream> events_;  // from Begin on
  size_t left_ = 0;                    // choices that run
  bool stream_begun_ = false;
  bool over_ = false;  // answered, failed, or nobody waits
};

}  // namespace hunch

#endif  // HUNCH_SERVER_ANSWER_H_
