// HttpServer: HTTP/1.1 on one I/O thread (Boost.Beast parses, Boost.Asio waits). It knows limits,
// timeouts and clients that leave; what is answered is the HttpHandler's.
//
// Thread safety: Run is called by one thread, and everything of the handler and its replies happens
// on that one. The rest is for any thread.
#ifndef HUNCH_SERVER_HTTP_SERVER_H_
#define HUNCH_SERVER_HTTP_SERVER_H_

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/http.h"

namespace hunch {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address, or a name of this machine
  int port = 0;                    // 0: any free one
  int max_connections = 512;       // more wait until one ends
  size_t max_header_bytes = size_t{16} << 10;
  size_t max_body_bytes = size_t{4} << 20;
  size_t max_unsent_bytes = size_t{8} << 20;        // of an answer that its client does not read
  std::chrono::milliseconds read_timeout{30'000};   // for a request that has begun
  std::chrono::milliseconds idle_timeout{75'000};   // between two requests
  std::chrono::milliseconds write_timeout{30'000};  // without a byte taken by the client
};

class HttpServer {
 public:
  // Errors: the address cannot be listened on. `handler` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> Listen(const HttpOptions& options,
                                                    HttpHandler& handler);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Serves until Shutdown.
  virtual void Run() = 0;
  // No new connections; those that wait for a request are closed. The others end with their answer.
  virtual void StopListening() = 0;
  // As StopListening, and Run returns once every answer is sent, at the latest after `patience`.
  virtual void Shutdown(std::chrono::milliseconds patience) = 0;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_HTTP_SERVER_H_
