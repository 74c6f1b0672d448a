// /v1/speculation: GET says how the server guesses and what came of it, POST makes it guess in
// another way, for the requests that run too. Who may POST can have files of the server's machine
// opened, so that needs a key. A draft model is loaded on a thread of its own, one after the other.
//
// Belongs to the I/O thread, but for Stop, as Api's.
#ifndef HUNCH_SERVER_SPECULATION_ROUTE_H_
#define HUNCH_SERVER_SPECULATION_ROUTE_H_

#include <memory>
#include <string>
#include <string_view>

#include "server/http.h"
#include "server/prepare.h"
#include "server/worker.h"
#include "session/async_llm.h"

namespace hunch {

class SpeculationRoute {
 public:
  static constexpr std::string_view kPath = "/v1/speculation";

  // Both must outlive it.
  SpeculationRoute(AsyncLlm& llm, const ApiOptions& options) : llm_(llm), options_(options) {}

  // Of a request whose key was checked.
  void Handle(HttpRequest request, std::shared_ptr<Reply> reply);
  void Stop() { worker_.Stop(); }

 private:
  HttpResponse State() const;
  HttpResponse Swap(const std::string& body);

  AsyncLlm& llm_;
  const ApiOptions& options_;
  Worker worker_;  // last: it uses the above
};

}  // namespace hunch

#endif  // HUNCH_SERVER_SPECULATION_ROUTE_H_
