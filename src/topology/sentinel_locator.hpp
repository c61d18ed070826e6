/// Finds the master through its sentinels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/deployment_url.hpp"
#include "net/locator.hpp"
#include "net/session.hpp"
#include "topology/deployment.hpp"
#include "topology/known_master.hpp"
#include "topology/sentinel_link.hpp"

namespace holdfast::topology {

/// Asks all sentinels at once and takes the newest of their views, or the majority's among equally new ones,
/// so a sentinel that is dead, frozen or cut off costs nothing and misleads nobody. Learns from the sentinels
/// of others that the URL doesn't name. Receives announcements of failovers from all of them, and asks the
/// sentinel that announces one; the sessions then move to the new master at once. When one sentinel's view
/// changes, all are asked again. All under the client's lock.
class sentinel_locator final : public net::locator {
 public:
  /// About replies of the master that are held back meanwhile.
  struct doubt_events {
    std::function<void()> begun;  ///< a sentinel announces another master: its word is asked for
    std::function<void()>
        confirmed;  ///< all that could be asked have been, and sessions that had to have moved
  };

  sentinel_locator(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
                   client_stats& counts, events handlers, doubt_events on_doubt);

  void locate(net::session& session) override;
  void on_reached(net::session& session) override;
  void forget(net::session& session) noexcept override;

  /// Another server may be the master by now: asks, and moves the sessions if so.
  void look_again() noexcept;

  /// The master may have been suspended, and replaced: asks all sentinels anew, whatever they have answered
  /// so far, as this process may have been suspended, too. Calls doubt_events::confirmed in the end.
  void doubt() noexcept;

  /// Ends all queries and announcements.
  void shut() noexcept;

 private:
  /// A session of the client, and the newest choice that it has tried.
  struct tracked_session {
    net::session* session;
    std::uint64_t tried = 0;
    bool waiting = false;
  };
  struct choice {
    net::server_address master;  ///< as the sentinels report it
    net::endpoint endpoint;      ///< as it is reached from here
    std::uint64_t number = 0;
    time_point made{};
    time_point asked_at{};  ///< when the sentinels were asked that name it
  };
  enum class agreement { yes, no, asked_again, told };
  enum class doubts { none, with_next_round, with_this_round };

  [[nodiscard]] std::unique_ptr<sentinel_link> make_link(net::endpoint endpoint);
  void learn(sentinel_view const& view);
  void ask_all() noexcept;
  void on_answered(sentinel_link& link);
  void on_switched(sentinel_link& link) noexcept;
  void end_doubts() noexcept;
  void conclude();
  void end_round();
  void use(sentinel_verdict const& best);
  [[nodiscard]] bool choice_serves() const noexcept;
  [[nodiscard]] std::optional<sentinel_verdict> verdict() const;
  void move_sessions(time_point asked_at);
  void fail_waiting();
  void check_agreement();
  void check_again();
  void go_idle() noexcept;
  template <class Step>
  void try_or_ask_again(Step step) noexcept;
  [[nodiscard]] tracked_session& track(net::session& session);
  [[nodiscard]] bool any_session_on_choice() const noexcept;
  [[nodiscard]] bool any_session_waiting() const noexcept;
  [[nodiscard]] bool any_link_asking() const noexcept;
  [[nodiscard]] std::vector<sentinel_view const*> views() const;
  [[nodiscard]] time_point oldest_question() const noexcept;
  [[nodiscard]] std::string describe_views() const;

  reactor::loop& loop_;
  net::deployment_url const& url_;
  net::settings const& config_;
  client_stats& counts_;
  events events_;
  doubt_events const doubt_events_;
  doubts doubts_ = doubts::none;
  std::vector<std::unique_ptr<sentinel_link>> links_;
  std::vector<tracked_session> sessions_;
  known_master known_;
  std::optional<choice> chosen_;  ///< the known master when sessions last moved
  std::uint64_t choices_ = 0;
  bool listening_ = false;
  bool in_round_ = false;
  bool shut_ = false;
  agreement agreed_ = agreement::yes;
  reactor::timer round_timer_;
  reactor::timer rest_timer_;
  reactor::timer doubt_timer_;
  reactor::timer agreement_timer_;
};

}  // namespace holdfast::topology
