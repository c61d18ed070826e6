/// One of the masters that vote.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "topology/deployment.hpp"

namespace holdfast::engine {

/// A master, and whether it is present, that is, worth asking. A master that can't be reached, or hasn't
/// answered in time, is absent: it is neither asked nor waited for until it answers a probe. All under the
/// client's lock.
class quorum_node {
 public:
  struct events {
    std::function<void()> back;   ///< it is present again
    std::function<void()> known;  ///< its run id is known
  };

  quorum_node(reactor::loop& loop, net::settings config, client_stats& counts, events handlers,
              topology::deployment_maker const& make_server);

  /// Is it worth asking? Probes it if not.
  [[nodiscard]] bool present() noexcept;
  /// The opposite, without a probe.
  [[nodiscard]] bool absent() const noexcept {
    return away_ || (!server_->up() && server_->down_because() != nullptr);
  }
  /// An answer of it is overdue.
  void fell_silent() noexcept;
  /// A request has ended: with an answer, or with a failure.
  void heard(net::response const& response) noexcept;
  /// How long to wait for an answer at the most.
  [[nodiscard]] std::chrono::nanoseconds limit() const noexcept;
  /// How long answers usually take.
  [[nodiscard]] std::chrono::nanoseconds usual() const noexcept { return usual_; }

  void send(net::request&& request) { server_->send(std::move(request)); }
  [[nodiscard]] topology::deployment& server() const noexcept { return *server_; }

  /// Asks for its run id, and so whether it is there.
  void probe() noexcept;
  [[nodiscard]] std::string const& run_id() const noexcept { return run_id_; }
  [[nodiscard]] std::string const& title() const noexcept { return config_.server.display; }
  /// It has answered at least once.
  [[nodiscard]] bool ever_heard() const noexcept { return usual_.count() > 0; }
  /// For an error message, while it is absent.
  [[nodiscard]] std::string absence_reason() const;

  /// It may know the owner with that number. Numbers are given out in order, and never again, so the answer
  /// is right for all past owners.
  [[nodiscard]] bool may_know(std::uint64_t number) const noexcept { return number <= newest_; }
  void will_know(std::uint64_t number) noexcept { newest_ = std::max(newest_, number); }

 private:
  void introduce(resp::reply const& info) noexcept;

  net::settings const config_;
  std::unique_ptr<topology::deployment> const server_;
  events events_;
  std::chrono::nanoseconds usual_{};
  std::uint64_t newest_ = 0;
  std::string run_id_;
  bool away_ = false;  ///< absent until it answers
  bool probing_ = false;
  reactor::timer again_{[this] { probe(); }};
  reactor::loop& loop_;
};

}  // namespace holdfast::engine
