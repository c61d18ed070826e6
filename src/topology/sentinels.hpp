/// Which server is the master, as its sentinels say.
#pragma once

#include <cstdint>
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

/// Asks all sentinels at once and takes what the newest of their views says, or most of them where they are
/// equally new, so that one that is dead, frozen or cut off costs nothing and misleads nobody. Others than
/// the URL names are learned from them. Hears from all of them of failovers, and asks whoever announces one;
/// the sessions then go to the new master at once. Whenever the word of one of them changes all are asked
/// again. All under the client's lock.
class sentinels final : public net::locator {
 public:
  sentinels(reactor::loop& on, net::deployment_url const& where, net::settings const& how,
            client_stats& counts, events tell);

  void locate(net::session& who) override;
  void on_reached(net::session& who) override;
  void forget(net::session& who) noexcept override;

  /// There is reason to think that another server may be the master by now: asks, and moves the sessions if
  /// so.
  void look_again() noexcept;

  /// Asks and hears nothing any more.
  void shut() noexcept;

 private:
  /// A session of the client's, and the newest choice that it has tried.
  struct user {
    net::session* who;
    std::uint64_t tried = 0;
    bool waiting = false;
  };
  struct choice {
    address master;    ///< as the sentinels call it
    net::endpoint at;  ///< as it is reached from here
    std::uint64_t number = 0;
    time_point made{};
  };
  enum class agreement { yes, no, asked_again, told };

  [[nodiscard]] std::unique_ptr<sentinel_link> line_to(net::endpoint at);
  void learn(sentinel_view const& from);
  void ask_all() noexcept;
  void on_answered(sentinel_link& by);
  void on_switched(sentinel_link& by) noexcept;
  void conclude();
  void end_round();
  [[nodiscard]] bool serves() const noexcept;
  [[nodiscard]] std::optional<sentinel_verdict> verdict() const;
  void go_there();
  void fail_waiting();
  void check_agreement();
  void check_again();
  void rest() noexcept;
  template <class Step>
  void go(Step step) noexcept;
  [[nodiscard]] user& user_of(net::session& who);
  [[nodiscard]] bool someone_is_there() const noexcept;
  [[nodiscard]] bool anyone_waits() const noexcept;
  [[nodiscard]] bool anyone_is_asked() const noexcept;
  [[nodiscard]] std::vector<sentinel_view const*> views() const;
  [[nodiscard]] std::string who_says_what() const;

  reactor::loop& on_;
  net::deployment_url const& where_;
  net::settings const& how_;
  client_stats& counts_;
  events tell_;
  std::vector<std::unique_ptr<sentinel_link>> lines_;
  std::vector<user> users_;
  known_master known_;
  std::optional<choice> chosen_;  ///< what was known when it was last gone to
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
