// hunch serve: the HTTP server. Its threads are described in docs/architecture.md; this one waits
// for a signal.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <thread>

#include "apps/commands.h"
#include "apps/generate.h"
#include "apps/serve_learning.h"
#include "apps/served_model.h"
#include "base/one_line.h"
#include "server/api.h"
#include "server/http_server.h"
#include "session/async_llm.h"

namespace hunch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{50};           // how often for a signal
constexpr milliseconds kDrainTime{30'000};  // for the requests that run when it comes
constexpr milliseconds kLastWrites{5'000};  // for answers to be sent, after them

// As it stands in a URL.
std::string HostInUrl(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

// Until the first signal, and then until the requests are over. False: some were cut off.
bool ServeUntilSignal(Context& context, AsyncLlm& llm, Learner* learner, Api& api,
                      HttpServer& server) {
  while (context.interrupts.Pending() == 0) std::this_thread::sleep_for(kLook);
  api.Drain();
  server.StopListening();
  const AsyncLlm::Load load = llm.load();
  if (const int left = load.running + load.waiting; left > 0) {
    context.console.err << fmt::format("hunch serve: finishing {} requests\n", left) << std::flush;
  }
  const bool drained = llm.Drain(kDrainTime);
  llm.Stop();
  // Only now: what it compares runs where nobody else wants to.
  if (learner != nullptr) learner->Stop();
  server.Shutdown(kLastWrites);
  return drained;
}

}  // namespace

Result<int> ServeCommand(const Flags& flags, Context& context) {
  HUNCH_ASSIGN_OR_RETURN(const SpeculativeConfig speculation, SpeculationOf(flags));
  HUNCH_RETURN_IF_ERROR(CheckLearning(flags, speculation, context));
  HUNCH_ASSIGN_OR_RETURN(auto loaded, LoadServedModel(flags, speculation, context));
  const int max_model_len = loaded->max_model_len();
  LearnSource* const source = loaded->learn_source();
  AsyncLlm llm(std::move(loaded),
               {.max_num_seqs = flags.served_seqs,
                .max_queued = flags.max_queued,
                .audit_rate = flags.audit_rate,
                .watchdog = {.limit = std::chrono::seconds(flags.watchdog_seconds)}});
  std::unique_ptr<Learner> learner;
  std::function<LearnStats()> learning;
  if (source != nullptr) {
    HUNCH_ASSIGN_OR_RETURN(learner, StartLearning(flags, speculation, context, llm, *source));
    learning = [&learner] { return learner->stats(); };
  }
  Api api(llm, {.model_names = ModelNames(flags),
                .api_key = flags.api_key,
                .speculation = speculation,
                .fingerprint = Fingerprint(flags),
                .allowed_origins = flags.allowed_origins,
                .learning = learning});
  HttpOptions http;
  http.host = flags.host;
  http.port = flags.port;
  HUNCH_ASSIGN_OR_RETURN(const auto server, HttpServer::Listen(http, api));
  context.interrupts.Arm();
  context.console.err << OneLine(fmt::format(
                             "hunch serve: listening on http://{}:{} ({}, {} sequences of {} "
                             "tokens)",
                             HostInUrl(flags.host), server->port(), ModelNames(flags)[0],
                             flags.served_seqs, max_model_len))
                      << std::endl;
  std::thread io([&] { server->Run(); });
  const bool drained = ServeUntilSignal(context, llm, learner.get(), api, *server);
  io.join();
  api.Stop();
  return drained ? kExitOk : InterruptedExit(context);
}

}  // namespace hunch
