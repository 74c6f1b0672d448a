// Api: the routes of the server and what each answers. What a POST asks for is prepared on a thread
// of its own, in order of arrival, so that a long text keeps nobody else waiting for the I/O
// thread.
//
// Belongs to the I/O thread, but for Drain (any thread) and Stop.
#ifndef HUNCH_SERVER_API_H_
#define HUNCH_SERVER_API_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/http.h"
#include "server/prepare.h"
#include "server/speculation_route.h"
#include "server/worker.h"
#include "session/async_llm.h"

namespace hunch {

class Api : public HttpHandler {
 public:
  // `llm` must outlive the API and its answers.
  Api(AsyncLlm& llm, ApiOptions options);

  void Handle(HttpRequest request, std::shared_ptr<Reply> reply) override;
  HttpResponse Refuse(int status, std::string_view message) override;
  // From now on no new work, and /health says so.
  void Drain() { draining_ = true; }
  // Ends the threads that prepare and swap, which hold replies: to be called before the HTTP server
  // goes, once its Run has returned.
  void Stop() {
    worker_.Stop();
    speculation_.Stop();
  }

 private:
  struct Route;

  bool Allowed(const HttpRequest& request) const;
  HttpResponse Get(const std::string& path) const;
  HttpResponse Health() const;
  HttpResponse Models(const std::string& path) const;
  Json ModelJson(const std::string& name) const;
  void Prepare(const Route& route, HttpRequest request, std::shared_ptr<Reply> reply);
  void Begin(Prepared prepared, std::shared_ptr<Reply> reply);

  static const std::vector<Route>& Routes();

  AsyncLlm& llm_;
  const ApiOptions options_;
  const int64_t started_;  // seconds since 1970
  std::atomic<bool> draining_ = false;
  Preparer preparer_;  // of the worker's thread
  Worker worker_;      // after what it uses
  SpeculationRoute speculation_;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_API_H_
