/// The connection between a client and the simulated server: delays, breaks, lost replies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/pipeline.hpp"
#include "simulation/server.hpp"
#include "topology/deployment.hpp"

namespace holdfast::simulation {

/// The outcome of a request, decided when it is sent.
enum class fate {
  answered,
  lost,        ///< the connection breaks before the request arrives
  unanswered,  ///< the server executes the request, and the connection breaks before the reply arrives
  refused,     ///< the server replies that it is loading its data
  forgotten,   ///< the server has forgotten its scripts
  delayed,     ///< the request arrives late
};

struct network {
  nanoseconds least_latency{std::chrono::microseconds{50}};
  nanoseconds most_latency{std::chrono::milliseconds{2}};
  nanoseconds long_delay{std::chrono::seconds{1}};     ///< of a delayed request
  nanoseconds outage{std::chrono::milliseconds{300}};  ///< until a broken connection is made again
  /// The fate of the next request; empty: all are answered.
  std::function<fate()> fate_of{};
  /// The extra delay of the next message; nothing: the message is lost. Empty: no message has a delay.
  std::function<std::optional<nanoseconds>()> delay_of_message{};
};

/// Like topology::single: requests keep their order, and unanswered requests are sent again, ahead of later
/// ones. A broken connection delivers nothing any more, as net::loose_ends ensures.
class deployment final : public topology::deployment {
 public:
  deployment(reactor::loop& loop, world& shared_world, server& redis, network const& conditions,
             net::settings const& config, topology::events handlers);
  ~deployment() override;

  void send(net::request request) override;
  [[nodiscard]] bool idle() const noexcept override { return pipeline_.empty(); }
  [[nodiscard]] bool up() const noexcept override { return up_; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return up_ ? nullptr : down_because_;
  }
  void shut(std::shared_ptr<error const> const& reason) noexcept override;
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) noexcept override;

 private:
  void write();
  void arrive(command const& words, fate outcome);
  void on_reply(resp::reply&& reply);
  void fail(net::pipeline::batch&& requests, std::shared_ptr<error const> const& reason);
  void fail_impatient();
  [[nodiscard]] time_point limit_of(net::request const& request, time_point queued) const;
  void break_down();
  void come_back();
  void subscribe(std::string const& channel);
  /// Calls f at that time, unless the connection has broken or the client has ended by then.
  void later(time_point when, std::function<void()> f);
  [[nodiscard]] nanoseconds latency() {
    return world_.between(network_.least_latency, network_.most_latency);
  }

  reactor::loop& loop_;
  world& world_;
  server& server_;
  network const& network_;
  net::settings const& config_;
  topology::events events_;
  std::shared_ptr<error const> const down_because_;
  std::shared_ptr<error const> shut_because_;
  /// The number of the connection; 0 after the end of this object.
  std::shared_ptr<std::uint64_t> generation_ = std::make_shared<std::uint64_t>(1);
  bool up_ = true;
  bool writing_ = false;
  time_point down_since_{};
  time_point last_arrival_{};
  time_point last_reply_{};
  time_point last_message_{};
  net::pipeline pipeline_;
  std::map<std::string, net::subscriber::listener*, std::less<>> listeners_;
};

}  // namespace holdfast::simulation
