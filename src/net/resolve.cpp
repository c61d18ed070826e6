#include "net/resolve.hpp"

#include <netdb.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/quiet_thread.hpp"
#include "reactor/outer.hpp"
#include "reactor/room_for_one.hpp"

namespace holdfast::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

resolved_address to_resolved(tcp::endpoint const& socket_address) {
  auto const ip = socket_address.address().to_string();
  auto const port = ":" + std::to_string(socket_address.port());
  return {socket_address, socket_address.address().is_v6() ? "[" + ip + "]" + port : ip + port};
}

struct lookup_result {
  std::string failure;
  std::vector<resolved_address> found;
};

lookup_result look_up(std::string const& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  lookup_result result;
  if (int const code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); code != 0) {
    result.failure = code == EAI_NONAME ? "Host not found" : ::gai_strerror(code);
    return result;
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const list{found, &::freeaddrinfo};
  for (auto const* each = list.get(); each; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    tcp::endpoint socket_address;
    if (each->ai_addrlen > socket_address.capacity()) continue;
    std::memcpy(socket_address.data(), each->ai_addr, each->ai_addrlen);
    socket_address.resize(each->ai_addrlen);
    socket_address.port(port);
    result.found.push_back(to_resolved(socket_address));
  }
  if (result.found.empty()) result.failure = "Host not found";
  return result;
}

class threaded_resolution final : public resolution,
                                  public std::enable_shared_from_this<threaded_resolution> {
 public:
  threaded_resolution(asio::io_context& io, handler done)
      : io_{&io}, work_{asio::make_work_guard(io)}, done_{std::move(done)} {}

  void start(std::string host, std::uint16_t port) {
    try {
      start_quiet_thread([self = shared_from_this(), host = std::move(host), port] {
        lookup_result result;
        try {
          result = look_up(host, port);
        } catch (std::exception const&) {
          result.failure = "out of memory";
        }
        self->deliver(std::move(result));
      }).detach();
    } catch (std::system_error const& failure) {
      deliver({std::string{"no thread to ask in ("} + failure.what() + "); " + advice_about_threads, {}});
    }
  }

  void cancel() noexcept override {
    handler unused;  // destroyed after the lock is released: it may own the caller
    std::lock_guard const hold{mutex_};
    io_ = nullptr;
    work_.reset();
    std::swap(unused, done_);
  }

 private:
  void deliver(lookup_result result) noexcept {
    std::lock_guard const hold{mutex_};
    if (!io_) return;
    result_ = std::move(result);
    reactor::post(*io_, reactor::in_room{&room_, [self = shared_from_this()] {
                                           handler done;
                                           {
                                             // Waits until the thread has left the io_context, which `done`
                                             // may destroy.
                                             std::lock_guard const wait{self->mutex_};
                                             std::swap(done, self->done_);
                                           }
                                           if (done)
                                             done(self->result_.failure, std::move(self->result_.found));
                                         }});
    io_ = nullptr;
    work_.reset();
  }

  std::mutex mutex_;
  asio::io_context* io_;  ///< null once it may be gone
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  handler done_;
  lookup_result result_;
  reactor::room_for_one room_;
};

}  // namespace

std::vector<resolved_address> known_addresses(endpoint const& to) {
  if (to.transport == endpoint::scheme::unix_socket) {
    return {{asio::local::stream_protocol::endpoint{to.path}, to.path}};
  }
  // As RFC 6761 requires; and a start-up on one machine then needs no thread. IPv4 first: most servers listen
  // there.
  if (to.host == "localhost") {
    return {to_resolved({asio::ip::address_v4::loopback(), to.port}),
            to_resolved({asio::ip::address_v6::loopback(), to.port})};
  }
  boost::system::error_code not_numeric;
  auto const ip = asio::ip::make_address(to.host, not_numeric);
  if (not_numeric) return {};
  return {to_resolved({ip, to.port})};
}

std::shared_ptr<resolution> resolve(asio::io_context& io, endpoint const& to, resolution::handler done) {
  auto const query = std::make_shared<threaded_resolution>(io, std::move(done));
  query->start(to.host, to.port);
  return query;
}

}  // namespace holdfast::net
