/// The way between a client and the simulated server: delays, broken connections, lost replies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/pipeline.hpp"
#include "simulation/server.hpp"
#include "topology/deployment.hpp"

namespace holdfast::simulation {

/// What becomes of a request, decided when it is sent.
enum class fate {
  answered,
  lost,        ///< the connection breaks before the server has got it
  unanswered,  ///< the server carries it out, and the connection breaks before the reply has come
  refused,     ///< the server says that it is loading its data
  forgotten,   ///< the server has forgotten its scripts
  delayed,     ///< the way there takes long
};

struct network {
  nanoseconds least{std::chrono::microseconds{50}};
  nanoseconds most{std::chrono::milliseconds{2}};
  nanoseconds long_way{std::chrono::seconds{1}};
  nanoseconds outage{std::chrono::milliseconds{300}};  ///< how long a broken connection stays broken
  /// Of the client's requests, counted from 0; empty: all are answered.
  std::function<fate(std::uint64_t number)> fate_of{};
  /// How much longer a message takes than others; nothing: it is lost. Empty: none does.
  std::function<std::optional<nanoseconds>()> delay_of_message{};
};

/// As topology::single: requests keep their order, and those that weren't answered are sent again, ahead of
/// later ones. Copies that a broken connection has yet to deliver are gone with it, as net::loose_ends sees
/// to.
class deployment final : public topology::deployment {
 public:
  deployment(reactor::loop& loop, world& in, server& to, network const& how, net::settings const& config,
             topology::events events);
  ~deployment() override;

  void send(net::request request) override;
  [[nodiscard]] bool idle() const noexcept override { return pipeline_.empty(); }
  [[nodiscard]] bool up() const noexcept override { return up_; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return up_ ? nullptr : down_because_;
  }
  void shut(std::shared_ptr<error const> const& reason) noexcept override;
  void listen(std::string const& channel, topology::channel_of whose,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) noexcept override;

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

 private:
  void write();
  void arrive(command const& words, fate what);
  void on_reply(resp::reply&& reply);
  void fail(net::pipeline::batch&& requests, std::shared_ptr<error const> const& reason);
  void fail_impatient();
  [[nodiscard]] time_point limit_of(net::request const& request, time_point queued) const;
  void break_down();
  void come_back();
  void subscribe(std::string const& channel);
  /// Later, unless the connection has broken or the client has ended by then.
  void later(time_point when, std::function<void()> f);
  [[nodiscard]] nanoseconds way() { return world_.between(network_.least, network_.most); }

  reactor::loop& loop_;
  world& world_;
  server& server_;
  network const& network_;
  net::settings const& config_;
  topology::events events_;
  std::shared_ptr<error const> const down_because_;
  std::shared_ptr<error const> shut_because_;
  std::shared_ptr<std::uint64_t> generation_ = std::make_shared<std::uint64_t>(1);  ///< of the connection
  bool up_ = true;
  bool writing_ = false;
  time_point down_since_{};
  time_point last_arrival_{};
  time_point last_reply_{};
  time_point last_message_{};
  std::uint64_t sent_ = 0;
  net::pipeline pipeline_;
  std::map<std::string, net::subscriber::listener*, std::less<>> listeners_;
};

}  // namespace holdfast::simulation
