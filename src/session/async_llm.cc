#include "session/async_llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "kernels/self_check.h"

namespace hunch {

struct AsyncLlm::Job {
  Ticket ticket = 0;
  Stopwatch since_submission;
  double queue_seconds = 0;  // once it runs
  AsyncRequest own;
  std::unique_ptr<TextRequest> audited;  // what an audit will ask; null: none
  RequestId id = 0;                      // once it runs
  std::vector<TextDelta> fresh;          // of the current step
  std::optional<Result<RequestOutput>> result;
};

AsyncLlm::AsyncLlm(std::unique_ptr<Llm> llm, const AsyncOptions& options)
    : options_(options),
      llm_(std::move(llm)),
      auditor_(*llm_, options.audit_rate),
      watchdog_(options.watchdog),
      thread_([this] { Run(); }) {}

AsyncLlm::~AsyncLlm() { Stop(); }

Result<std::vector<AsyncLlm::Ticket>> AsyncLlm::Submit(std::vector<AsyncRequest> requests) {
  for (const AsyncRequest& request : requests) {
    HUNCH_RETURN_IF_ERROR(llm_->Check(request.request));
  }
  std::vector<Ticket> tickets;
  std::lock_guard lock(mutex_);
  if (draining_ || stopping_) {
    return Error{ErrorCode::kUnsupported, "the server is shutting down"};
  }
  const size_t most = static_cast<size_t>(room());
  if (requests.size() > most) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} sequences are asked for at once, and at most {} fit: ask for fewer",
                    requests.size(), most)};
  }
  if (running_count_ + waiting_.size() + requests.size() > most) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("{} requests run and {} wait, which leaves no room: try again later",
                             running_count_, waiting_.size())};
  }
  for (AsyncRequest& request : requests) {
    auto job = std::make_shared<Job>();
    job->ticket = next_ticket_++;
    job->own = std::move(request);
    tickets.push_back(job->ticket);
    waiting_.push_back(std::move(job));
  }
  work_.notify_one();
  return tickets;
}

void AsyncLlm::Cancel(Ticket ticket) {
  std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  work_.notify_one();
}

Status AsyncLlm::SwapSpeculation(const SpeculativeConfig& config) {
  const Error closed = {ErrorCode::kUnsupported, "the server is shutting down"};
  std::lock_guard one(one_swap_);
  HUNCH_ASSIGN_OR_RETURN(auto prepared, llm_->PrepareSwap(config));
  std::unique_lock lock(mutex_);
  if (draining_ || stopping_) return closed;
  for (const auto& job : waiting_) {
    TextRequest& request = job->own.request;
    if (request.own_speculation) continue;
    request.speculation = WithCacheSalt(config, request.speculation.cache_salt);
  }
  swap_ = std::move(prepared);
  work_.notify_one();
  swapped_.wait(lock, [this] { return swap_ == nullptr || stopping_; });
  if (swap_ != nullptr) return closed;
  speculation_ = config;
  return Ok{};
}

std::optional<SpeculativeConfig> AsyncLlm::swapped_speculation() const {
  std::lock_guard lock(mutex_);
  return speculation_;
}

bool AsyncLlm::Drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  return over_.wait_for(lock, patience, [this] { return running_count_ == 0 && waiting_.empty(); });
}

void AsyncLlm::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    work_.notify_one();
    swapped_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

ServeStats AsyncLlm::stats() const {
  std::lock_guard lock(mutex_);
  ServeStats stats = published_;
  stats.running = running_count_;
  stats.waiting = static_cast<int>(waiting_.size());
  return stats;
}

AsyncLlm::Load AsyncLlm::load() const {
  std::lock_guard lock(mutex_);
  return {running_count_, static_cast<int>(waiting_.size())};
}

void AsyncLlm::Run() {
  stats_.kernels_distrusted = static_cast<int>(CheckedKernels().distrusted.size());
  {
    std::lock_guard lock(mutex_);
    published_ = stats_;
  }
  std::vector<std::shared_ptr<Job>> admitted, dropped;
  while (WaitForWork(admitted, dropped)) {
    watchdog_.Begin();
    for (const auto& job : dropped) {
      RequestOutput nothing;
      nothing.finish_reason = FinishReason::kCancelled;
      stats_.Count(nothing, job->since_submission.Seconds());
      job->own.on_done(std::move(nothing));
    }
    for (const auto& job : admitted) Begin(job);
    if (running_.empty()) auditor_.StartNext();
    llm_->Step();
    HandOver();
    watchdog_.End();
    // Not to be held while the thread is parked.
    admitted.clear();
    dropped.clear();
  }
}

// Parks until there is something to do. Moves what may run into `admitted`, what was cancelled
// before it ran into `dropped`, and tells the model of the other cancellations. False: it is over.
bool AsyncLlm::WaitForWork(std::vector<std::shared_ptr<Job>>& admitted,
                           std::vector<std::shared_ptr<Job>>& dropped) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] {
    return stopping_ || !running_.empty() || !waiting_.empty() || !cancelled_.empty() ||
           auditor_.busy() || swap_ != nullptr;
  });
  if (stopping_ || draining_) auditor_.Stop();
  TakeSwap();
  if (stopping_) {
    if (running_.empty() && waiting_.empty() && !auditor_.running()) return false;
    for (const auto& job : waiting_) dropped.push_back(job);
    waiting_.clear();
    for (const auto& job : running_) llm_->Cancel(job->id);
  }
  TakeCancelled(dropped);
  while (!waiting_.empty() && running_count_ < options_.max_num_seqs) {
    admitted.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    ++running_count_;
  }
  if (running_count_ == 0 && waiting_.empty()) over_.notify_all();
  return true;
}

void AsyncLlm::TakeSwap() {
  if (swap_ == nullptr) return;
  llm_->Swap(std::move(swap_));
  swapped_.notify_all();
}

void AsyncLlm::TakeCancelled(std::vector<std::shared_ptr<Job>>& dropped) {
  for (const Ticket ticket : cancelled_) {
    const auto named = [&](const std::shared_ptr<Job>& job) { return job->ticket == ticket; };
    if (const auto it = std::find_if(waiting_.begin(), waiting_.end(), named);
        it != waiting_.end()) {
      dropped.push_back(*it);
      waiting_.erase(it);
    } else if (const auto at = std::find_if(running_.begin(), running_.end(), named);
               at != running_.end()) {
      llm_->Cancel((*at)->id);
    }
  }
  cancelled_.clear();
}

void AsyncLlm::Begin(const std::shared_ptr<Job>& job) {
  OnText on_text;
  if (job->own.on_text) {
    on_text = [job = job.get()](const TextDelta& delta) {
      const bool says = !delta.text.empty() || delta.choice || delta.step || delta.prompt_logprobs;
      if (says) job->fresh.push_back(delta);
      return true;
    };
  }
  const auto on_done = [job = job.get()](RequestOutput output) { job->result = std::move(output); };
  job->audited = auditor_.Draw(job->own.request);
  const Result<RequestId> id = llm_->Start(std::move(job->own.request), on_text, on_done);
  if (id.ok()) {
    job->id = *id;
  } else {
    job->result = id.error();
  }
  job->queue_seconds = job->since_submission.Seconds();
  running_.push_back(job);
}

// Gives everybody what the step brought.
void AsyncLlm::HandOver() {
  int over = 0;
  for (const auto& job : running_) {
    if (!job->fresh.empty()) job->own.on_text(std::exchange(job->fresh, {}));
    if (!job->result) continue;
    if (job->result->ok()) {
      stats_.Count(job->result->value(), job->queue_seconds);
      if (job->audited) auditor_.Add(std::move(job->audited), job->result->value());
    }
    job->own.on_done(std::move(*job->result));
    ++over;
  }
  std::erase_if(running_, [](const std::shared_ptr<Job>& job) { return job->result.has_value(); });
  stats_.engine = llm_->totals();
  stats_.kv_usage = llm_->kv_usage();
  stats_.audits = auditor_.counts();
  std::lock_guard lock(mutex_);
  published_ = stats_;
  running_count_ -= over;
  if (running_count_ == 0 && waiting_.empty()) over_.notify_all();
}

}  // namespace hunch
