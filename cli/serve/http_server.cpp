#include "serve/http_server.hpp"

#include "serve/http_connection.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <unordered_set>
#include <vector>

namespace holdfast::cli {

using namespace over_beast;

namespace {

/// Connections that are accepted in one step.
constexpr int most_at_once = 64;
/// In the kernel, which would keep megabytes for each client that asks and doesn't read.
constexpr int send_buffer = 131'072;

/// A copy: one that is closed leaves the set.
std::vector<http_connection*> listed(std::unordered_set<http_connection*> const& set) {
  return {set.begin(), set.end()};
}

}  // namespace

struct http_server::impl : shared_state {
  impl(int const listening, http_limits const& given, tls_context certificates, http_handler routes)
      : shared_state{.limits = given, .handler = std::move(routes)} {
    if (certificates) tls.emplace(certificates.release());
    int family = AF_INET;
    socklen_t size = sizeof family;
    getsockopt(listening, SOL_SOCKET, SO_DOMAIN, &family, &size);
    acceptor.assign(protocol{family, family == AF_UNIX ? 0 : IPPROTO_TCP}, listening);
    acceptor.non_blocking(true);
  }

  void accept();
  void accept_later();
  void accept_more();
  /// All connections are being answered, so none is closed for another one, which waits in the kernel.
  [[nodiscard]] bool is_full() const {
    return connections.size() >= limits.connections && without_request.empty();
  }
  void accepted(stream::socket_type socket);
  void beat();
  void send_to_all(std::uint64_t number, shared_text const& text);
  void end_streams();
  void end();

  asio::basic_socket_acceptor<protocol, executor> acceptor{context.get_executor()};
  asio::signal_set signals{context, SIGTERM, SIGINT, SIGHUP};
  asio::steady_timer heartbeat{context};
  asio::steady_timer rest{context};  ///< of the acceptor, when there is no room, or no descriptor left
};

void http_server::impl::accept() {
  if (is_full()) return accept_later();
  acceptor.async_accept([this](error_code const failed, stream::socket_type socket) {
    if (ended) return;
    if (!failed) {
      accepted(std::move(socket));
      accept_more();
      return accept();
    }
    accept_later();
  });
}

void http_server::impl::accept_later() {
  rest.expires_after(std::chrono::milliseconds{100});
  rest.async_wait([this](error_code) {
    if (!ended) accept();
  });
}

/// Otherwise each would have to wait for a step of all others that have something to do.
void http_server::impl::accept_more() {
  for (int i = 0; i != most_at_once && !is_full(); ++i) {
    stream::socket_type socket{context.get_executor()};
    error_code none;
    acceptor.accept(socket, none);
    if (none) return;
    accepted(std::move(socket));
  }
}

void http_server::impl::accepted(stream::socket_type socket) {
  if (connections.size() >= limits.connections && !without_request.empty())
    without_request.front()->cut_off();
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
  int const yes = 1;
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  std::make_shared<http_connection>(*this, std::move(socket))->begin();
}

void http_server::impl::send_to_all(std::uint64_t const number, shared_text const& text) {
  for (auto* const each : listed(streams)) each->send_event(number, text);
}

void http_server::impl::beat() {
  heartbeat.expires_after(limits.heartbeat);
  heartbeat.async_wait([this](error_code const failed) {
    if (failed || ended) return;
    end_streams();
    send_to_all(0, std::make_shared<std::string const>(":\n\n"));
    beat();
  });
}

/// Those of clients that may not have them any more.
void http_server::impl::end_streams() {
  for (auto* const each : listed(streams)) {
    if (!each->is_allowed()) each->close();
  }
}

void http_server::impl::end() {
  ended = true;
  error_code ignored;
  acceptor.close(ignored);
  heartbeat.cancel();
  rest.cancel();
  for (auto* const each : listed(connections)) each->close();
}

http_server::http_server(int const listening, http_limits const& limits, tls_context tls,
                         http_handler handler)
    : impl_{std::make_unique<impl>(listening, limits, std::move(tls), std::move(handler))} {}

http_server::~http_server() = default;

void http_server::run() {
  impl_->signals.async_wait([this](error_code const failed, int) {
    if (!failed) impl_->end();
  });
  impl_->accept();
  impl_->beat();
  impl_->context.run();
}

void http_server::publish(std::uint64_t const number, shared_text text) {
  asio::post(impl_->context, [this, number, text = std::move(text)] {
    if (!impl_->ended) impl_->send_to_all(number, text);
  });
}

void http_server::end_streams() { impl_->end_streams(); }

http_facts http_server::facts() const {
  auto facts = impl_->facts;
  facts.connections = impl_->connections.size();
  facts.streams = impl_->streams.size();
  return facts;
}

}  // namespace holdfast::cli
