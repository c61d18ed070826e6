#include "net/resolve.hpp"

#include <netdb.h>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
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
  std::vector<tcp::endpoint> found;  ///< without a port
};

lookup_result look_up(std::string const& host) {
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
    result.found.push_back(socket_address);
  }
  if (result.found.empty()) result.failure = "Host not found";
  return result;
}

/// One who waits for a look-up.
class asker final : public resolution, public std::enable_shared_from_this<asker> {
 public:
  asker(asio::io_context& io, std::uint16_t port, handler done)
      : io_{&io}, work_{asio::make_work_guard(io)}, port_{port}, done_{std::move(done)} {}

  void cancel() noexcept override {
    handler unused;  // destroyed after the lock is released: it may own the caller
    std::lock_guard const hold{mutex_};
    io_ = nullptr;
    work_.reset();
    std::swap(unused, done_);
  }

  [[nodiscard]] bool waits() const noexcept {
    std::lock_guard const hold{mutex_};
    return io_ != nullptr;
  }

  void deliver(lookup_result const& result) noexcept {
    std::lock_guard const hold{mutex_};
    if (!io_) return;
    try {
      failure_ = result.failure;
      for (auto const& each : result.found) found_.push_back(to_resolved({each.address(), port_}));
    } catch (std::exception const&) {
      failure_ = "out of memory";
    }
    reactor::post(*io_, reactor::in_room{&room_, [self = shared_from_this()] {
                                           handler done;
                                           {
                                             // Waits until the thread has left the io_context, which `done`
                                             // may destroy.
                                             std::lock_guard const wait{self->mutex_};
                                             std::swap(done, self->done_);
                                           }
                                           if (done) done(self->failure_, std::move(self->found_));
                                         }});
    io_ = nullptr;
    work_.reset();
  }

 private:
  mutable std::mutex mutex_;
  asio::io_context* io_;  ///< null once it may be gone
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::uint16_t const port_;
  handler done_;
  std::string failure_;
  std::vector<resolved_address> found_;
  reactor::room_for_one room_;
};

/// Those who wait for each host that is being looked up: who comes meanwhile waits with them, so that a name
/// service that hangs costs few threads for a host, not one for each attempt to connect. A question that has
/// no answer for long may never get one, so another is asked beside it; who is waiting takes the first
/// answer.
class look_ups : public std::enable_shared_from_this<look_ups> {
 public:
  void add(std::string const& host, std::shared_ptr<asker> const& one) {
    std::lock_guard const hold{mutex_};
    auto& about = questions_[host];
    std::erase_if(about.waiting, [](auto const& each) { return !each->waits(); });
    about.waiting.push_back(one);
    auto const now = std::chrono::steady_clock::now();
    if ((about.asked && now < about.asked_at + patience) || about.threads == most_threads) return;
    try {
      start_quiet_thread([self = shared_from_this(), host] { self->look_up_in_thread(host); }).detach();
      ++about.threads;
      about.asked = true;
      about.asked_at = now;
    } catch (std::system_error const& failure) {
      if (about.threads != 0) return;  // that one may be answered yet
      questions_.erase(host);
      one->deliver(
          {std::string{"no thread to ask in ("} + failure.what() + "); " + advice_about_threads, {}});
    } catch (...) {
      about.waiting.pop_back();  // it would keep its io_context at work
      throw;
    }
  }

 private:
  static constexpr std::chrono::seconds patience{2};
  static constexpr int most_threads = 4;  ///< for a host

  struct question {
    std::vector<std::shared_ptr<asker>> waiting{};
    std::chrono::steady_clock::time_point asked_at{};  ///< last
    bool asked = false;                                ///< and not answered since
    int threads = 0;
  };

  void look_up_in_thread(std::string const& host) noexcept {
    lookup_result result;
    try {
      result = look_up(host);
    } catch (std::exception const&) {
      result.failure = "out of memory";
    }
    std::unique_lock hold{mutex_};
    auto const about = questions_.find(host);
    auto const waiting = std::exchange(about->second.waiting, {});
    about->second.asked = false;
    if (--about->second.threads == 0) questions_.erase(about);
    hold.unlock();
    for (auto const& each : waiting) each->deliver(result);
  }

  std::mutex mutex_;
  std::map<std::string, question> questions_;
};

/// A look-up may outlast the io_context, so this only holds what its thread holds, too.
class look_ups_of : public asio::execution_context::service {
 public:
  using key_type = look_ups_of;
  static inline asio::execution_context::id id{};

  explicit look_ups_of(asio::execution_context& io) : service{io} {}

  [[nodiscard]] look_ups& get() const noexcept { return *look_ups_; }

 private:
  void shutdown() noexcept override {}

  std::shared_ptr<look_ups> const look_ups_ = std::make_shared<look_ups>();
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
  auto one = std::make_shared<asker>(io, to.port, std::move(done));
  asio::use_service<look_ups_of>(io).get().add(to.host, one);
  return one;
}

}  // namespace holdfast::net
