#include "server/http_connection.h"

#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>
#include <ctime>
#include <utility>

#include "server/http_text.h"

namespace hunch {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

// A client whose request was refused half-read gets this long to take the answer.
constexpr std::chrono::milliseconds kLingerTime{2000};

}  // namespace

// Holds the connection while an answer is being made, and closes it if none ever came.
class HttpConnection::ConnectionReply : public Reply {
 public:
  explicit ConnectionReply(std::shared_ptr<HttpConnection> connection)
      : connection_(std::move(connection)), answer_(connection_->answer_) {}
  ~ConnectionReply() override {
    if (Current()) connection_->Close();
  }
  void AddHeader(std::string name, std::string value) override {
    if (Current()) connection_->answer_headers_.emplace_back(std::move(name), std::move(value));
  }
  void Send(HttpResponse response) override {
    if (Current()) connection_->Send(std::move(response));
  }
  void BeginStream() override {
    if (Current()) connection_->BeginStream();
  }
  void Write(std::string_view bytes) override {
    if (Current() && !bytes.empty()) connection_->WriteChunk(bytes);
  }
  void End() override {
    if (Current()) connection_->EndStream();
  }
  void OnGone(std::function<void()> gone) override {
    if (Current()) {
      connection_->gone_ = std::move(gone);
    } else if (gone) {
      gone();
    }
  }
  void Post(std::function<void()> work) override {
    asio::post(connection_->stream_.get_executor(), std::move(work));
  }

 private:
  bool Current() const { return connection_->answering_ && connection_->answer_ == answer_; }

  std::shared_ptr<HttpConnection> connection_;
  int64_t answer_;
};

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, const HttpOptions& options,
                               HttpHandler& handler, std::function<void()> closed)
    : stream_(std::move(socket)), options_(options), handler_(handler), closed_(std::move(closed)) {
  Code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  // For OnReadable, which looks without waiting.
  stream_.socket().non_blocking(true, ignored);
}

HttpConnection::~HttpConnection() { closed_(); }

void HttpConnection::CloseWhenIdle() {
  close_when_idle_ = true;
  keep_alive_ = false;
  if (!answering_ && outgoing_.empty() && !write_under_way_) Close();
}

void HttpConnection::Close() {
  if (is_closed_) return;
  is_closed_ = true;
  Code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  ClientGone();
}

void HttpConnection::ReadHeader(std::chrono::milliseconds patience) {
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options_.max_header_bytes));
  parser_->body_limit(options_.max_body_bytes);
  stream_.expires_after(patience);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](Code code, size_t) { self->OnHeader(code); });
}

void HttpConnection::OnHeader(Code code) {
  if (code) return OnReadError(code);
  const auto expect = parser_->get().find(http::field::expect);
  if (expect != parser_->get().end() && beast::iequals(expect->value(), "100-continue")) {
    outgoing_ += "HTTP/1.1 100 Continue\r\n\r\n";
    Flush();  // OnWritten reads on
    return;
  }
  ReadBody();
}

void HttpConnection::ReadBody() {
  stream_.expires_after(options_.read_timeout);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](Code code, size_t) { self->OnBody(code); });
}

void HttpConnection::OnBody(Code code) {
  if (code) return OnReadError(code);
  Handle();
}

void HttpConnection::OnReadError(Code code) {
  if (code == http::error::body_limit) return Refuse(413, "the request's body is too long");
  if (code == http::error::header_limit) return Refuse(431, "the request's header is too long");
  // Only the parser's own complaints can still be answered.
  const bool is_bad_http =
      code.category() == http::make_error_code(http::error::bad_target).category();
  if (is_bad_http && code != http::error::end_of_stream && code != http::error::partial_message) {
    return Refuse(400, "this is no HTTP request: " + code.message());
  }
  Close();
}

void HttpConnection::Refuse(int status, std::string_view message) {
  ++answer_;
  answering_ = true;
  refused_ = true;
  keep_alive_ = head_only_ = false;
  answer_headers_.clear();
  Send(handler_.Refuse(status, message));
}

void HttpConnection::Handle() {
  http::request<http::string_body>& message = parser_->get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  request.path = target.substr(0, target.find('?'));
  request.authorization = std::string(message[http::field::authorization]);
  request.last_event_id = std::string(message["Last-Event-ID"]);
  request.origin = std::string(message[http::field::origin]);
  request.body = std::move(message.body());
  http_1_0_ = message.version() < 11;
  head_only_ = message.method() == http::verb::head;
  keep_alive_ = message.keep_alive() && !close_when_idle_;
  parser_.reset();
  ++answer_;
  answering_ = true;
  answer_headers_.clear();
  stream_.expires_never();
  handler_.Handle(std::move(request), std::make_shared<ConnectionReply>(shared_from_this()));
  if (answering_) Watch();
}

void HttpConnection::Watch() {
  if (watching_ || is_closed_) return;
  watching_ = true;
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this()](Code code) { self->OnReadable(code); });
}

void HttpConnection::OnReadable(Code code) {
  watching_ = false;
  if (code || !answering_ || is_closed_) return;
  char byte;
  Code peeked;
  stream_.socket().receive(asio::buffer(&byte, 1), asio::ip::tcp::socket::message_peek, peeked);
  if (peeked == asio::error::would_block) return Watch();
  // Without an error it is the next request, early: from here on only writing shows that it left.
  if (peeked) Close();
}

// Nobody waits for the answer any more.
void HttpConnection::ClientGone() {
  answering_ = false;
  const auto gone = std::exchange(gone_, nullptr);
  if (gone) gone();
}

void HttpConnection::Send(HttpResponse response) {
  for (auto& header : answer_headers_) response.headers.push_back(std::move(header));
  outgoing_ += ResponseText(response, keep_alive_, head_only_, std::time(nullptr));
  Answered();
}

void HttpConnection::BeginStream() {
  if (http_1_0_) keep_alive_ = false;
  outgoing_ += StreamHeader(!http_1_0_, keep_alive_, std::time(nullptr), answer_headers_);
  Flush();
}

void HttpConnection::WriteChunk(std::string_view bytes) {
  if (outgoing_.size() + writing_.size() + bytes.size() > options_.max_unsent_bytes) {
    return Close();
  }
  outgoing_ += http_1_0_ ? std::string(bytes) : Chunk(bytes);
  Flush();
}

void HttpConnection::EndStream() {
  if (!http_1_0_) outgoing_ += kLastChunk;
  Answered();
}

void HttpConnection::Answered() {
  answering_ = false;
  gone_ = nullptr;
  Flush();
}

void HttpConnection::Flush() {
  if (write_under_way_ || is_closed_ || outgoing_.empty()) return;
  write_under_way_ = true;
  writing_ = std::exchange(outgoing_, {});
  stream_.expires_after(options_.write_timeout);
  stream_.async_write_some(asio::buffer(writing_),
                           [self = shared_from_this()](Code code, size_t written) {
                             self->writing_.erase(0, written);
                             self->OnWritten(code);
                           });
}

void HttpConnection::OnWritten(Code code) {
  write_under_way_ = false;
  if (code) return Close();
  if (!writing_.empty()) {
    outgoing_.insert(0, std::exchange(writing_, {}));
  }
  if (!outgoing_.empty()) return Flush();
  stream_.expires_never();
  if (answering_ || is_closed_) return;
  if (parser_ && !refused_) return ReadBody();  // it was "100 Continue"
  if (refused_) return Linger();
  if (!keep_alive_) return Close();
  ReadHeader(options_.idle_timeout);
}

// Closing with unread bytes would reset the connection, and the client could lose the answer.
void HttpConnection::Linger() {
  Code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLingerTime);
  const auto discard = [self = shared_from_this()](auto&& again) -> void {
    self->buffer_.clear();
    self->stream_.async_read_some(self->buffer_.prepare(size_t{64} << 10),
                                  [self, again](Code code, size_t) {
                                    if (code) return self->Close();
                                    again(again);
                                  });
  };
  discard(discard);
}

}  // namespace hunch
