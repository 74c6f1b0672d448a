#include "server/http_server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "base/log.h"
#include "server/http_connection.h"

namespace hunch {

namespace asio = boost::asio;
using boost::asio::ip::tcp;
using Code = boost::beast::error_code;

namespace {

// Before it tries again where the system gives no socket for a client.
constexpr std::chrono::milliseconds kAcceptPause{100};

class AsioServer : public HttpServer {
 public:
  AsioServer(const HttpOptions& options, HttpHandler& handler)
      : options_(options), handler_(handler) {}
  ~AsioServer() override { listening_ = ending_ = false; }
  Status Open();

  int port() const override { return port_; }
  void Run() override {
    Accept();
    io_.run();
  }
  void StopListening() override {
    asio::post(io_, [this] { CloseAll(); });
  }
  void Shutdown(std::chrono::milliseconds patience) override;

 private:
  void Accept();
  void OnAccept(Code code, tcp::socket socket);
  void CloseAll();
  void EndIfDone();

  const HttpOptions options_;
  HttpHandler& handler_;
  int port_ = 0;
  bool accepting_ = false;  // an accept is under way
  bool listening_ = true;
  bool ending_ = false;
  int64_t next_connection_ = 0;
  // Before io_, whose destruction ends the connections that are left.
  std::map<int64_t, std::weak_ptr<HttpConnection>> connections_;
  asio::io_context io_{1};
  // Run goes on while nobody is connected.
  asio::executor_work_guard<asio::io_context::executor_type> busy_ = asio::make_work_guard(io_);
  tcp::acceptor acceptor_{io_};
  asio::steady_timer timer_{io_};
};

Status AsioServer::Open() {
  const auto failed = [&](std::string_view what, const Code& code) {
    return Error{ErrorCode::kIo, fmt::format("cannot {} {}:{}: {}", what, options_.host,
                                             options_.port, code.message())};
  };
  Code code;
  tcp::resolver resolver(io_);
  const auto found =
      resolver.resolve(options_.host, std::to_string(options_.port), tcp::resolver::passive, code);
  if (code || found.empty()) return failed("resolve", code);
  const tcp::endpoint endpoint = *found.begin();
  acceptor_.open(endpoint.protocol(), code);
  if (!code) acceptor_.set_option(asio::socket_base::reuse_address(true), code);
  if (!code) acceptor_.bind(endpoint, code);
  if (!code) acceptor_.listen(asio::socket_base::max_listen_connections, code);
  if (code) return failed("listen on", code);
  port_ = acceptor_.local_endpoint(code).port();
  return Ok{};
}

void AsioServer::Accept() {
  const bool room = static_cast<int>(connections_.size()) < options_.max_connections;
  if (accepting_ || !listening_ || !room) return;
  accepting_ = true;
  acceptor_.async_accept(
      [this](Code code, tcp::socket socket) { OnAccept(code, std::move(socket)); });
}

void AsioServer::OnAccept(Code code, tcp::socket socket) {
  accepting_ = false;
  if (!listening_) return;
  if (code) {
    timer_.expires_after(kAcceptPause);
    timer_.async_wait([this](Code stopped) {
      if (!stopped) Accept();
    });
    return;
  }
  const int64_t id = next_connection_++;
  const auto connection =
      std::make_shared<HttpConnection>(std::move(socket), options_, handler_, [this, id] {
        connections_.erase(id);
        if (ending_) return EndIfDone();
        Accept();
      });
  connections_[id] = connection;
  connection->Start();
  Accept();
}

void AsioServer::CloseAll() {
  listening_ = false;
  Code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  // Closing one may erase it from the map.
  const auto connections = connections_;
  for (const auto& [id, weak] : connections) {
    if (const auto connection = weak.lock()) connection->CloseWhenIdle();
  }
}

void AsioServer::EndIfDone() {
  if (connections_.empty()) io_.stop();
}

void AsioServer::Shutdown(std::chrono::milliseconds patience) {
  asio::post(io_, [this, patience] {
    CloseAll();
    ending_ = true;
    timer_.expires_after(patience);
    timer_.async_wait([this](Code stopped) {
      if (!stopped) io_.stop();
    });
    EndIfDone();
  });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const HttpOptions& options,
                                                       HttpHandler& handler) {
  auto server = std::make_unique<AsioServer>(options, handler);
  HUNCH_RETURN_IF_ERROR(server->Open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace hunch
