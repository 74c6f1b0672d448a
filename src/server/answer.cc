#include "server/answer.h"

#include <utility>

#include "base/check.h"
#include "server/step_json.h"

namespace hunch {

Answer::Answer(AsyncLlm& llm, const AnswerOptions& options, std::unique_ptr<AnswerFormat> format,
               std::shared_ptr<Reply> reply)
    : llm_(llm), options_(options), format_(std::move(format)), reply_(std::move(reply)) {}

void Answer::Begin(std::vector<TextRequest> requests) {
  left_ = requests.size();
  outputs_.resize(left_);
  begun_.resize(left_);
  events_.emplace(format_->id(), options_, left_);
  std::vector<AsyncRequest> submitted;
  for (size_t i = 0; i < requests.size(); ++i) {
    // Both are called on the engine's thread, and what they do happens on ours. What keeps the
    // answer alive goes there with the last of them, so that it never ends on the engine's thread.
    const bool needs_text = options_.stream || requests[i].params.logprobs >= 0;
    AsyncRequest request;
    request.request = std::move(requests[i]);
    if (needs_text) {
      request.on_text = [weak = weak_from_this(), i](std::vector<TextDelta> deltas) {
        auto self = weak.lock();
        Reply& reply = *self->reply_;
        reply.Post(
            [self = std::move(self), i, deltas = std::move(deltas)] { self->OnText(i, deltas); });
      };
    }
    request.on_done = [self = shared_from_this(), i](Result<RequestOutput> result) mutable {
      Reply& reply = *self->reply_;
      reply.Post([self = std::move(self), i, result = std::move(result)]() mutable {
        self->OnDone(i, std::move(result));
      });
    };
    submitted.push_back(std::move(request));
  }
  Result<std::vector<AsyncLlm::Ticket>> tickets = llm_.Submit(std::move(submitted));
  if (!tickets.ok()) {
    over_ = true;
    return reply_->Send(ErrorResponse(ApiErrorOf(tickets.error())));
  }
  tickets_ = std::move(*tickets);
  reply_->OnGone([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->over_) return;
    self->over_ = true;
    self->CancelAll();
  });
}

void Answer::CancelAll() {
  for (const AsyncLlm::Ticket ticket : tickets_) llm_.Cancel(ticket);
}

void Answer::OnText(size_t choice, const std::vector<TextDelta>& deltas) {
  if (over_) return;
  for (const TextDelta& delta : deltas) {
    if (delta.choice) outputs_[choice].logprobs.push_back(*delta.choice);
  }
  if (!options_.stream) return;
  BeginChoice(choice);
  for (const TextDelta& delta : deltas) {
    std::vector<Json> chunks = format_->Delta(static_cast<int>(choice), delta);
    if (delta.step) {
      if (chunks.empty()) chunks.push_back(format_->Empty());
      chunks[0]["speculation"] = StepJson(delta, llm_.llm().tokenizer());
    }
    events_->Add(choice, std::move(chunks));
  }
  SendEvents();
}

void Answer::OnDone(size_t choice, Result<RequestOutput> result) {
  --left_;
  if (over_) return;
  if (!result.ok()) return Fail(ApiErrorOf(result.error()));
  if (result->finish_reason == FinishReason::kCancelled) {
    return Fail({.status = 503, .message = "the server is shutting down", .code = "shutting_down"});
  }
  FinishChoice(choice, std::move(*result));
  if (left_ == 0) FinishAll();
}

void Answer::BeginChoice(size_t choice) {
  if (begun_[choice]) return;
  begun_[choice] = true;
  events_->Add(choice, format_->First(static_cast<int>(choice)));
}

void Answer::FinishChoice(size_t choice, RequestOutput output) {
  ChoiceOutput& own = outputs_[choice];
  own.output = std::move(output);
  if (!options_.stream) return;
  BeginChoice(choice);
  std::vector<Json> last = format_->Last(static_cast<int>(choice), own.output.finish_reason);
  HUNCH_CHECK(!last.empty());
  last.back()["timings"] = TimingsJson({own}, 1);
  events_->Add(choice, std::move(last));
  if (left_ > 0) SendEvents();
}

void Answer::FinishAll() {
  over_ = true;
  if (!options_.stream) {
    Json whole = format_->Whole(outputs_);
    whole["usage"] = UsageJson(outputs_, options_.n);
    whole["timings"] = TimingsJson(outputs_, options_.n);
    return reply_->Send({.body = DumpJson(whole)});
  }
  if (options_.include_usage) {
    // It comes after everything, and is counted as one of the first choice's.
    std::vector<Json> last = {format_->Empty()};
    last[0]["usage"] = UsageJson(outputs_, options_.n);
    events_->Add(0, std::move(last));
  }
  events_->AddLast("[DONE]");
  SendEvents();
  reply_->End();
}

void Answer::Fail(const ApiError& error) {
  over_ = true;
  CancelAll();
  if (!stream_begun_) return reply_->Send(ErrorResponse(error));
  events_->AddLast(DumpJson(ErrorJson(error)));
  SendEvents();
  reply_->End();
}

void Answer::SendEvents() {
  const std::string events = events_->Take();
  if (events.empty()) return;
  if (!stream_begun_) reply_->BeginStream();
  stream_begun_ = true;
  reply_->Write(events);
}

}  // namespace hunch
