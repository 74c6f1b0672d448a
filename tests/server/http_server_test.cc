// The HTTP server with real sockets: limits, timeouts, connections that are kept, clients that
// leave or do not read.
#include "server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace hunch {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// Answers by path.
class TestHandler : public HttpHandler {
 public:
  void Handle(HttpRequest request, std::shared_ptr<Reply> reply) override {
    if (request.path == "/later") {
      reply->OnGone([this] { ++gone; });
      ++waiting;
      later = std::move(reply);
    } else if (request.path == "/stream") {
      reply->BeginStream();
      reply->Write("one ");
      reply->Write("two");
      reply->End();
    } else if (request.path == "/flood") {
      reply->OnGone([this] { ++gone; });
      reply->BeginStream();
      for (int i = 0; i < 1000; ++i) reply->Write(std::string(100'000, 'x'));
      reply->End();
    } else if (request.path == "/endless") {
      reply->OnGone([this] { ++gone; });
      reply->BeginStream();
      for (int i = 0; i < 200; ++i) reply->Write(std::string(100'000, 'x'));
      later = std::move(reply);
    } else if (request.path == "/headers") {
      reply->AddHeader("X-Origin", request.origin);
      reply->BeginStream();
      reply->Write(request.last_event_id);
      reply->End();
    } else if (request.path != "/forget") {
      reply->Send({.body = request.method + " " + request.path + " " + request.body});
    }
  }
  HttpResponse Refuse(int status, std::string_view message) override {
    return {.status = status, .body = std::string(message)};
  }

  std::atomic<int> gone = 0, waiting = 0;
  std::shared_ptr<Reply> later;  // of the I/O thread
};

class Client {
 public:
  explicit Client(int port, int receive_buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Send(const std::string& text) {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
  }
  // Until `end` has come, or the connection is over, or five seconds.
  std::string ReadUntil(std::string_view end) {
    std::string text;
    while (end.empty() || text.find(end) == std::string::npos) {
      pollfd ready = {fd_, POLLIN, 0};
      if (poll(&ready, 1, 5000) <= 0) return text + "(nothing came)";
      char bytes[4096];
      const ssize_t n = recv(fd_, bytes, sizeof(bytes), 0);
      if (n <= 0) break;
      text.append(bytes, static_cast<size_t>(n));
    }
    return text;
  }
  std::string ReadAll() { return ReadUntil(""); }

  bool connected = false;

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  void Start() {
    auto server = HttpServer::Listen(options_, handler_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->Run(); });
  }
  void TearDown() override { Stop(100ms); }
  void Stop(std::chrono::milliseconds patience) {
    if (!thread_.joinable()) return;
    server_->Shutdown(patience);
    thread_.join();
    handler_.later.reset();
  }
  int port() const { return server_->port(); }
  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(10ms);
    return condition();
  }

  HttpOptions options_;
  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  Start();
  Client client(port());
  client.Send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("GET /a "), HasSubstr("Connection: keep-alive"));
  client.Send("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(client.ReadUntil("abc"), StartsWith("HTTP/1.1 200 OK\r\n"));
  // Two at once, and the last says goodbye.
  client.Send("GET /c HTTP/1.1\r\nHost: x\r\n\r\nGET /d HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string both = client.ReadAll();
  EXPECT_THAT(both, HasSubstr("GET /c"));
  EXPECT_THAT(both, HasSubstr("GET /d"));
  EXPECT_THAT(both, HasSubstr("Connection: close"));
}

TEST_F(HttpServerTest, StreamsInChunksOrUntilTheEnd) {
  Start();
  Client client(port());
  client.Send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("0\r\n\r\n"),
              HasSubstr("\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"));
  Client old(port());
  old.Send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.ReadAll(), ::testing::EndsWith("\r\n\r\none two"));
}

TEST_F(HttpServerTest, HeadersComeInAndGoOutWithTheirOwnRequest) {
  Start();
  Client client(port());
  client.Send("GET /headers HTTP/1.1\r\nOrigin: http://a\r\nlast-event-id: x-1\r\n\r\n");
  const std::string answer = client.ReadUntil("0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("\r\nX-Origin: http://a\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\n3\r\nx-1\r\n"));
  client.Send("GET /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.ReadAll(), ::testing::Not(HasSubstr("X-Origin")));
}

TEST_F(HttpServerTest, AHeadRequestGetsNoBody) {
  Start();
  Client client(port());
  client.Send("HEAD /a HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, SaysContinueToThoseWhoAsk) {
  Start();
  Client client(port());
  client.Send("POST /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("\r\n\r\n"), StartsWith("HTTP/1.1 100 Continue\r\n"));
  client.Send("abc");
  EXPECT_THAT(client.ReadUntil("abc"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, RefusesWhatIsPastALimit) {
  options_.max_body_bytes = 1000;
  Start();
  Client announced(port());
  announced.Send("POST /a HTTP/1.1\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_THAT(announced.ReadAll(), StartsWith("HTTP/1.1 413 "));
  Client chunked(port());
  chunked.Send("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
               std::string(2000, 'a') + "\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.ReadAll(), StartsWith("HTTP/1.1 413 "));
  Client header(port());
  header.Send("GET /a HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n");
  EXPECT_THAT(header.ReadAll(), StartsWith("HTTP/1.1 431 "));
  Client nonsense(port());
  nonsense.Send("Hello!\r\n\r\n");
  EXPECT_THAT(nonsense.ReadAll(), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HttpServerTest, DoesNotWaitForeverForARequest) {
  options_.read_timeout = 50ms;
  Start();
  Client silent(port());
  EXPECT_EQ(silent.ReadAll(), "");
  Client half(port());
  half.Send("POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half.ReadAll(), "");
}

TEST_F(HttpServerTest, NoticesThatAClientLeft) {
  Start();
  Client client(port());
  client.Send("GET /later HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return handler_.waiting == 1; }));
  EXPECT_EQ(handler_.gone, 0);
  client.Close();
  EXPECT_TRUE(Eventually([&] { return handler_.gone == 1; }));
}

TEST_F(HttpServerTest, AnswersLaterOnTheSameConnection) {
  Start();
  Client client(port());
  client.Send("GET /later HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return handler_.waiting == 1; }));
  handler_.later->Post([&] {
    handler_.later->Send({.body = "at last"});
    handler_.later.reset();
  });
  EXPECT_THAT(client.ReadUntil("at last"), HasSubstr("at last"));
  client.Send("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.ReadUntil("GET /a"), HasSubstr("GET /a"));
  EXPECT_EQ(handler_.gone, 0);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadStallsNobodyAndIsDropped) {
  options_.max_unsent_bytes = 1'000'000;
  Start();
  Client slow(port(), 4096);
  slow.Send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return handler_.gone == 1; }));
  Client other(port());
  other.Send("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(other.ReadUntil("GET /a"), HasSubstr("GET /a"));
}

TEST_F(HttpServerTest, AClientThatStopsReadingIsDroppedInTime) {
  options_.max_unsent_bytes = size_t{1} << 30;
  options_.write_timeout = 100ms;
  Start();
  Client slow(port(), 4096);
  slow.Send("GET /endless HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return handler_.gone == 1; }));
}

TEST_F(HttpServerTest, AReplyThatIsForgottenClosesTheConnection) {
  Start();
  Client client(port());
  client.Send("GET /forget HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, MoreConnectionsThanAllowedWait) {
  options_.max_connections = 1;
  Start();
  auto first = std::make_unique<Client>(port());
  first->Send("GET /a HTTP/1.1\r\n\r\n");
  first->ReadUntil("GET /a");
  Client second(port());
  second.Send("GET /b HTTP/1.1\r\n\r\n");
  first.reset();
  EXPECT_THAT(second.ReadUntil("GET /b"), HasSubstr("GET /b"));
}

TEST_F(HttpServerTest, ShuttingDownWaitsForAnswersOnly) {
  Start();
  Client idle(port()), busy(port());
  busy.Send("GET /later HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return handler_.waiting == 1; }));
  server_->StopListening();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_TRUE(Eventually([&] { return !Client(port()).connected; }));
  handler_.later->Post([&] {
    handler_.later->Send({.body = "at last"});
    handler_.later.reset();
  });
  EXPECT_THAT(busy.ReadAll(), HasSubstr("at last"));
  Stop(10s);
}

TEST_F(HttpServerTest, APortThatIsTakenIsAnError) {
  Start();
  HttpOptions same = options_;
  same.port = port();
  const auto second = HttpServer::Listen(same, handler_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("cannot listen on 127.0.0.1:"));
  same.host = "no.such.host.invalid";
  EXPECT_FALSE(HttpServer::Listen(same, handler_).ok());
}

}  // namespace
}  // namespace hunch
