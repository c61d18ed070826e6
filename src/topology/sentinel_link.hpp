/// The connections to one sentinel.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/connection.hpp"
#include "net/subscriber.hpp"
#include "topology/sentinel_view.hpp"

namespace holdfast::topology {

/// Asks the sentinel, and hears of failovers from it. All under the client's lock.
class sentinel_link final : net::subscriber::listener {
 public:
  struct events {
    /// It said something, or can't: see view() and trouble().
    std::function<void(sentinel_link& by)> answered;
    /// What it announces is heard from now on; what it announced before was not.
    std::function<void(sentinel_link& by)> hears;
    /// It announces that another master was chosen, now or a while ago: only asking tells.
    std::function<void(sentinel_link& by)> switched;
    std::function<void(std::string message)> warning;
  };

  sentinel_link(reactor::loop& on, net::endpoint at, net::settings const& like, std::string master,
                client_stats& counts, events tell);

  /// Asks it for all it knows, unless that is under way. Without memory for it: a little later.
  void ask() noexcept;
  /// The same; what is under way is too old for an answer, and is followed by another question.
  void ask_anew() noexcept;
  [[nodiscard]] bool asking() const noexcept { return asking_; }
  /// Hears of failovers, from soon on and for as long as it lives.
  void listen();
  /// Nothing will be asked for a while: what isn't answered by now won't be.
  void rest() noexcept;
  /// Nothing is asked or heard any more.
  void shut() noexcept;

  [[nodiscard]] net::endpoint const& at() const noexcept { return how_.server; }
  /// What it said last; null when it couldn't be asked.
  [[nodiscard]] sentinel_view const* view() const noexcept { return view_ ? &*view_ : nullptr; }
  /// It didn't say that the time before, or says something for the first time.
  [[nodiscard]] bool says_something_else() const noexcept { return changed_; }
  /// Why it couldn't be asked, or what is wrong with what it said; null when it answered, or never was asked.
  [[nodiscard]] std::shared_ptr<error const> const& trouble() const noexcept { return trouble_; }
  /// The masters that it knows; asked for when it doesn't know ours.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept { return names_; }

 private:
  using reader = bool (*)(resp::reply const&, sentinel_view&);

  void on_subscribed() override;
  void on_message(std::string_view message) override;
  void on_refused(std::string const& words) override;

  template <class Done>
  void send(std::initializer_list<std::string_view> words, Done done);
  void begin() noexcept;
  void put_questions();
  void read(net::response const& how, reader into) noexcept;
  void ask_for_names();
  void finish() noexcept;

  net::settings const how_;
  std::string const master_;
  events const tell_;
  net::connection questions_;
  net::subscriber news_;
  bool asking_ = false;
  bool again_ = false;  ///< asked anew while a question was under way
  std::optional<sentinel_view> view_;
  std::optional<std::pair<std::optional<address>, std::int64_t>> word_;  ///< where, and from which failover
  bool changed_ = false;                                                 ///< since the time before
  sentinel_view next_;                                                   ///< being read
  std::vector<std::string> names_;
  std::shared_ptr<error const> trouble_;
  std::shared_ptr<error const> next_trouble_;
  std::shared_ptr<error const> const out_of_memory_;
  reactor::loop& on_;
  reactor::timer begin_timer_;
};

}  // namespace holdfast::topology
