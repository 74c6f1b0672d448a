// AsyncLlm: requests from any thread, run together by one thread that owns the model. It steps
// while there is work and parks otherwise.
//
// Thread safety: any thread may call anything, except that Drain, Stop and the destructor are
// called by one thread at a time. What a request sends back is called on the engine's thread, after
// the step that made it: it must be quick and never wait, since every request waits for it.
#ifndef HUNCH_SESSION_ASYNC_LLM_H_
#define HUNCH_SESSION_ASYNC_LLM_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/watchdog.h"
#include "session/auditor.h"
#include "session/llm.h"
#include "session/serve_stats.h"

namespace hunch {

struct AsyncOptions {
  int max_num_seqs = 1;   // that run at once
  int max_queued = 128;   // that wait beside them
  double audit_rate = 0;  // the part of requests that is audited (auditor.h)
  WatchdogOptions watchdog = {};
};

struct AsyncRequest {
  TextRequest request;
  // What a step added: one delta for each token, in order, those without text left out. May be
  // empty, which spares the work.
  std::function<void(std::vector<TextDelta>)> on_text;
  // Once, after all text, whatever happens: the output (also of a cancelled request), or the error
  // for which it did not start.
  std::function<void(Result<RequestOutput>)> on_done;
};

class AsyncLlm {
 public:
  using Ticket = int64_t;  // names a request from Submit on

  struct Load {
    int running = 0, waiting = 0;
  };

  AsyncLlm(std::unique_ptr<Llm> llm, const AsyncOptions& options);
  // As Stop.
  ~AsyncLlm();

  // All of them or none, in order; the tickets are in their order. Errors: those of Llm::Check;
  // kResourceExhausted: there is no room now; kUnsupported: Drain or Stop was called.
  Result<std::vector<Ticket>> Submit(std::vector<AsyncRequest> requests);
  // The request is over before the next step. Nothing happens when it is over already.
  void Cancel(Ticket ticket);

  // Hot swap (Llm) for the requests that run, wait and come, but for those with their
  // own_speculation. Waits while what `config` needs is loaded, and until the step under way is
  // over; the requests go on meanwhile. Errors: Llm::PrepareSwap's, which change nothing;
  // kUnsupported: Drain or Stop was called.
  Status SwapSpeculation(const SpeculativeConfig& config);
  // What that was last given; none: it never was.
  std::optional<SpeculativeConfig> swapped_speculation() const;

  // Takes no more requests and waits until those it has are over, but no longer than `patience`.
  // False: some were not.
  bool Drain(std::chrono::milliseconds patience);
  // Takes no more requests, cancels those it has, and ends the thread.
  void Stop();

  Load load() const;
  // A step has not come back for so long that the process is about to end.
  bool stuck() const { return watchdog_.stuck(); }
  // As of the end of the last step.
  ServeStats stats() const;
  // The most requests that may be here at once.
  int room() const { return options_.max_num_seqs + options_.max_queued; }
  // For what any thread may call.
  const Llm& llm() const { return *llm_; }

 private:
  struct Job;

  void Run();
  bool WaitForWork(std::vector<std::shared_ptr<Job>>& admitted,
                   std::vector<std::shared_ptr<Job>>& dropped);
  void TakeSwap();
  void TakeCancelled(std::vector<std::shared_ptr<Job>>& dropped);
  void Begin(const std::shared_ptr<Job>& job);
  void HandOver();

  const AsyncOptions options_;
  std::unique_ptr<Llm> llm_;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the engine's thread
  std::condition_variable over_;  // for Drain
  std::deque<std::shared_ptr<Job>> waiting_;
  std::vector<Ticket> cancelled_;
  int running_count_ = 0;
  bool draining_ = false, stopping_ = false;
  Ticket next_ticket_ = 1;
  ServeStats published_;
  std::unique_ptr<PreparedSwap> swap_;  // until the engine's thread takes it
  std::optional<SpeculativeConfig> speculation_;
  std::condition_variable swapped_;  // swap_ was taken
  std::mutex one_swap_;              // held before mutex_

  // Of the engine's thread.
  std::vector<std::shared_ptr<Job>> running_;  // in order of arrival
  ServeStats stats_;
  Auditor auditor_;

  Watchdog watchdog_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hunch

#endif  // HUNCH_SESSION_ASYNC_LLM_H_
