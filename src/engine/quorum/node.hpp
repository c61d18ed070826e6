/// One of the masters that vote.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "topology/single.hpp"

namespace holdfast::engine {

/// A master, and whether it is worth asking: one that can't be reached, or hasn't answered in its time, isn't
/// asked (and waited for) again until it has given a sign of life, which is looked for beside. All under the
/// client's lock.
class quorum_node {
 public:
  struct events {
    std::function<void()> back;   ///< it is worth asking again
    std::function<void()> known;  ///< it has said who it is
  };

  quorum_node(reactor::loop& on, net::settings how, client_stats& counts, events tell);

  /// Is it worth asking?
  [[nodiscard]] bool present() noexcept;
  /// The same, without looking for a sign of life.
  [[nodiscard]] bool absent() const noexcept {
    return away_ || (!server_.up() && server_.down_because() != nullptr);
  }
  /// Whoever waits for it has waited long enough.
  void fell_silent() noexcept;
  /// An answer to any request, or that there is none.
  void heard(net::response const& how) noexcept;
  /// How long to wait for an answer at the most.
  [[nodiscard]] std::chrono::nanoseconds limit() const noexcept;
  /// How long answers take, as a rule.
  [[nodiscard]] std::chrono::nanoseconds usual() const noexcept { return usual_; }

  void send(net::request what) { server_.send(std::move(what)); }
  [[nodiscard]] topology::single& server() noexcept { return server_; }
  [[nodiscard]] topology::single const& server() const noexcept { return server_; }

  /// Asks who it is, and so whether it is there.
  void probe() noexcept;
  [[nodiscard]] std::string const& run_id() const noexcept { return run_id_; }
  [[nodiscard]] std::string const& title() const noexcept { return config_.server.display; }
  /// Whether it ever answered.
  [[nodiscard]] bool ever_heard() const noexcept { return usual_.count() > 0; }
  /// Why it isn't worth asking.
  [[nodiscard]] std::string why_absent() const;

  /// It may know the owner with that number. They are given out in order, and never again, so this is known
  /// of all that ever were.
  [[nodiscard]] bool may_know(std::uint64_t number) const noexcept { return number <= newest_; }
  void will_know(std::uint64_t number) noexcept { newest_ = std::max(newest_, number); }

 private:
  void introduce(resp::reply const& info) noexcept;

  net::settings const config_;
  topology::single server_;
  events tell_;
  std::chrono::nanoseconds usual_{};
  std::uint64_t newest_ = 0;
  std::string run_id_;
  bool away_ = false;  ///< not worth asking, until it is heard
  bool probing_ = false;
  reactor::timer again_{[this] { probe(); }};
  reactor::loop& on_;
};

}  // namespace holdfast::engine
