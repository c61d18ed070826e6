/// A faulty network: a proxy between clients and a Redis server, with faults scripted by the test.
#pragma once

#include "fate.hpp"
#include "proxied_connection.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

/// Listens on a unix socket of its own and on a port of 127.0.0.1; each connection gets one to the server.
/// All functions may be called from the test at any time. The decider runs in the proxy's thread.
class flaky_proxy {
 public:
  using decider = std::function<fate(request const&)>;

  /// A decider that ends with this object, at the latest. When the destructor returns it isn't called any
  /// more.
  class [[nodiscard]] decision {
   public:
    explicit decision(flaky_proxy& proxy) noexcept : proxy_{&proxy} {}
    decision(decision&& other) noexcept : proxy_{std::exchange(other.proxy_, nullptr)} {}
    decision& operator=(decision&&) = delete;
    ~decision() {
      if (proxy_ != nullptr) proxy_->decide({});
    }

   private:
    flaky_proxy* proxy_;
  };

  explicit flaky_proxy(std::string server_socket);
  ~flaky_proxy();
  flaky_proxy(flaky_proxy const&) = delete;
  flaky_proxy& operator=(flaky_proxy const&) = delete;

  [[nodiscard]] std::string url() const { return "redis+unix://" + path_; }
  /// "127.0.0.1:port", for a URL of several servers or its parameter `nat`.
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Called for each request from now on; an empty decider passes all. It owns what it decides by, or that
  /// outlives the proxy: clients send requests when they end, after the variables of a test's body.
  void decide(decider d);
  /// The same for one that decides by variables which don't: keep the result behind them.
  decision decide_by(decider d) {
    decide(std::move(d));
    return decision{*this};
  }
  /// Applies `f` to the next request for which `picks` is true; all others pass.
  void once(std::function<bool(request const&)> picks, fate f);

  void swallow_messages(bool on);    ///< pub/sub messages are lost; replies pass
  void refuse_pubsub();              ///< every (P|S)SUBSCRIBE: unknown command, as from twemproxy
  void refuse_connections(bool on);  ///< new connections are closed at once
  void freeze();                     ///< nothing passes either way
  void freeze_requests();            ///< one way: replies still pass, no request reaches the server
  void freeze_replies();             ///< the other way: requests pass, no reply comes back
  void thaw();
  void cut_all();  ///< ends all present connections
  /// Ends all connections for the clients. The server's sides stay open, and the kept requests stay for
  /// deliver().
  void hold_back_all();
  void deliver();  ///< sends the kept requests of ended connections to the server, if its side is still open
  /// Connections with an open server's side alone, and with requests that it hasn't got or not finished.
  [[nodiscard]] int held_back() const;

  [[nodiscard]] std::vector<request> requests() const;  ///< all since the start or forget()
  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] std::size_t messages() const;  ///< pub/sub messages that arrived, swallowed or not
  [[nodiscard]] int connections() const;       ///< open now
  void forget();

 private:
  void run();
  /// Until an event, or the time at which a connection has something to do.
  void wait_for_events(std::unique_lock<std::mutex>& hold);
  void wake() const;
  void listen_on_port();
  void accept_one(int listener);

  std::string server_socket_;
  std::string folder_;
  std::string path_;
  int listener_ = -1;
  int tcp_listener_ = -1;
  std::uint16_t port_ = 0;
  int wake_fd_ = -1;

  mutable std::mutex mutex_;  // guards all members below; not held in poll()
  traffic traffic_;
  std::list<proxied_connection> connections_;
  int last_id_ = 0;
  bool refuse_connections_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace holdfast::test
