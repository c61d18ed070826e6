/// A simulated connection for requests: delays, breaks, lost replies.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/pipeline.hpp"
#include "net/session.hpp"
#include "simulation/server.hpp"

namespace holdfast::simulation {

/// The outcome of a request, decided when it is sent.
enum class fate {
  answered,
  lost,        ///< the connection breaks before the request arrives
  unanswered,  ///< the server executes the request, and the connection breaks before the reply arrives
  refused,     ///< the server replies that it is loading its data
  forgotten,   ///< the server has forgotten its scripts
  delayed,     ///< the request arrives late
  overtaken,   ///< the connection breaks, and the request arrives behind its copy over the next one
};

struct network {
  nanoseconds least_latency{std::chrono::microseconds{50}};
  nanoseconds most_latency{std::chrono::milliseconds{2}};
  nanoseconds long_delay{std::chrono::seconds{1}};     ///< of a delayed request
  nanoseconds outage{std::chrono::milliseconds{300}};  ///< until a broken connection is made again
  bool breaks_subscriptions = true;                    ///< they break with the usual connection
  /// The fate of the next request; empty: all are answered.
  std::function<fate()> fate_of{};
  /// The extra delay of the next message; nothing: the message is lost. Empty: no message has a delay.
  std::function<std::optional<nanoseconds>()> delay_of_message{};
};

/// Requests keep their order, and unanswered requests are sent again, ahead of later ones. A broken
/// connection delivers nothing any more, as net::broken_connections ensures, but for requests whose fate that
/// is.
class link {
 public:
  struct events {
    std::function<void()> broken;
    std::function<void()> back;
  };

  link(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
       net::settings const& config, net::connection_role role, events handlers);
  ~link() { *generation_ = 0; }
  link(link const&) = delete;
  link& operator=(link const&) = delete;

  void send(net::request request);
  void shut(std::shared_ptr<error const> const& reason) noexcept;

  [[nodiscard]] bool idle() const noexcept { return pipeline_.empty(); }
  [[nodiscard]] bool up() const noexcept { return up_; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept {
    return up_ ? nullptr : down_because_;
  }

  /// Calls f at that time, unless the connection has broken or the client has ended by then.
  template <class F>
  void later(time_point when, F f) {
    world_.at(when, guarded(std::move(f)));
  }
  [[nodiscard]] nanoseconds latency() {
    return world_.between(network_.least_latency, network_.most_latency);
  }

 private:
  void write();
  void arrive(std::string request, fate outcome);
  void block(command words);
  void answer(resp::reply reply);
  void on_reply(resp::reply&& reply);
  void fail(net::pipeline::batch&& requests, std::shared_ptr<error const> const& reason);
  void fail_impatient();
  [[nodiscard]] time_point limit_of(net::request const& request, time_point queued) const;
  void break_down();
  void come_back();
  /// Does nothing once the connection has broken, or the client has ended.
  template <class F>
  [[nodiscard]] auto guarded(F f) {
    return [current = generation_, generation = *generation_, &loop = loop_,
            f = std::move(f)](auto&&... args) mutable {
      if (*current == generation) happen(loop, [&] { f(args...); });
    };
  }

  reactor::loop& loop_;
  world& world_;
  server& server_;
  network const& network_;
  net::settings const& config_;
  events events_;
  std::shared_ptr<error const> const down_because_;
  std::shared_ptr<error const> shut_because_;
  /// The number of the connection, among all of the client; 0 after the end of this object.
  std::shared_ptr<std::uint64_t> generation_;
  bool up_ = true;
  bool writing_ = false;
  time_point down_since_{};
  time_point last_arrival_{};
  time_point last_reply_{};
  net::pipeline pipeline_;
  // Of the connection's other end.
  std::uint64_t written_ = 0;  ///< the server's offset after the last write over this connection
  bool blocked_ = false;       ///< by a WAIT
  std::deque<std::pair<std::string, fate>> behind_{};  ///< requests that have arrived meanwhile
};

}  // namespace holdfast::simulation
