// What travels between the HTTP server and what answers: no library's types, so that routes and
// answers are tested without a socket.
#ifndef HUNCH_SERVER_HTTP_H_
#define HUNCH_SERVER_HTTP_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hunch {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;         // "GET", in the case that it came in
  std::string path;           // without query
  std::string authorization;  // a header's value; "": absent
  std::string body;
  std::string last_event_id = {}, origin = {};  // as authorization
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  HttpHeaders headers = {};  // beyond the usual ones
};

// Where the answer to one request goes. Belongs to the server's I/O thread. An answer is one Send,
// or BeginStream, any number of Write and End. What comes after the client has left is dropped.
class Reply {
 public:
  virtual ~Reply() = default;
  // Goes with the answer's header, which was not sent yet.
  virtual void AddHeader(std::string name, std::string value) = 0;
  virtual void Send(HttpResponse response) = 0;
  // A body of unknown length, of type text/event-stream, each Write sent at once.
  virtual void BeginStream() = 0;
  virtual void Write(std::string_view bytes) = 0;
  virtual void End() = 0;
  // `gone` is called once if the client leaves before the answer is complete, or does not read it.
  virtual void OnGone(std::function<void()> gone) = 0;
  // From any thread: has `work` done on the I/O thread.
  virtual void Post(std::function<void()> work) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // On the I/O thread, which serves every other client too: must not wait. May answer later.
  virtual void Handle(HttpRequest request, std::shared_ptr<Reply> reply) = 0;
  // The answer to what is no HTTP, or past a limit.
  virtual HttpResponse Refuse(int status, std::string_view message) = 0;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_HTTP_H_
