// One client's connection. Private to the HTTP server; belongs to its I/O thread.
//
// It reads a request, hands it over, writes the answer, and reads the next. While an answer is
// being made it watches the socket: a client that closes its end, even for writing only, has left.
// Invariant: at most one read and one write are under way, and no read while an answer is.
#ifndef HUNCH_SERVER_HTTP_CONNECTION_H_
#define HUNCH_SERVER_HTTP_CONNECTION_H_

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http.h"
#include "server/http_server.h"

namespace hunch {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `options` and `handler` must outlive the connection; `closed` is called when it ends.
  HttpConnection(boost::asio::ip::tcp::socket socket, const HttpOptions& options,
                 HttpHandler& handler, std::function<void()> closed);
  ~HttpConnection();

  void Start() { ReadHeader(options_.read_timeout); }
  // No further request; at once if none is being answered.
  void CloseWhenIdle();
  // At once.
  void Close();

 private:
  class ConnectionReply;
  using Code = boost::beast::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void ReadHeader(std::chrono::milliseconds patience);
  void OnHeader(Code code);
  void ReadBody();
  void OnBody(Code code);
  void OnReadError(Code code);
  void Refuse(int status, std::string_view message);
  void Handle();
  void Watch();
  void OnReadable(Code code);
  void ClientGone();

  void Send(HttpResponse response);
  void BeginStream();
  void WriteChunk(std::string_view bytes);
  void EndStream();
  // The answer's last byte is in outgoing_.
  void Answered();
  void Flush();
  void OnWritten(Code code);
  void Linger();

  boost::beast::tcp_stream stream_;
  const HttpOptions& options_;
  HttpHandler& handler_;
  std::function<void()> closed_;
  boost::beast::flat_buffer buffer_;  // read, not parsed yet
  std::optional<Parser> parser_;

  // Of the request being answered.
  int64_t answer_ = 0;      // counts them; names the one that replies belong to
  bool answering_ = false;  // between the request and its answer's last byte
  bool http_1_0_ = false, head_only_ = false, keep_alive_ = false;
  std::function<void()> gone_;
  HttpHeaders answer_headers_;  // beyond the usual ones

  std::string outgoing_;  // made, not handed to the socket yet
  std::string writing_;   // what the socket has
  bool write_under_way_ = false;
  bool watching_ = false;
  bool close_when_idle_ = false;
  bool refused_ = false;  // bytes of the request may still be coming
  bool is_closed_ = false;
};

}  // namespace hunch

#endif  // HUNCH_SERVER_HTTP_CONNECTION_H_
