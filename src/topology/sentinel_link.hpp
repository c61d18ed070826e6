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

/// Queries the sentinel, and receives its announcements of failovers: that it has promoted a replica, which
/// then takes writes, and, when the other replicas follow or another sentinel has told it, that the master
/// has changed. All under the client's lock.
class sentinel_link final : net::subscriber::listener {
 public:
  struct events {
    /// A query has ended: see view() and trouble().
    std::function<void(sentinel_link& link)> answered;
    /// Announcements are received from now on; earlier ones were missed.
    std::function<void(sentinel_link& link)> subscribed;
    /// The sentinel announces another master, chosen now or a while ago: only a query tells.
    std::function<void(sentinel_link& link)> switched;
    std::function<void(std::string message)> warning;
  };

  sentinel_link(reactor::loop& loop, net::endpoint endpoint, net::settings const& config, std::string master,
                client_stats& counts, events handlers);

  /// Queries all that the sentinel knows, unless a query is under way. Without memory for it: a little later.
  void ask() noexcept;
  /// The same; if a query is under way, its result is too old, and another query follows.
  void ask_anew() noexcept;
  /// The newest query has no result yet.
  [[nodiscard]] bool asking() const noexcept { return asking_ || again_; }
  /// It has announced another master, and hasn't answered since.
  [[nodiscard]] bool owes() const noexcept { return switched_ && asking(); }
  /// Subscribes to announcements of failovers, for the lifetime of the link.
  void listen();
  /// No queries will come for a while: gives up unanswered ones, and closes their connection.
  void go_idle() noexcept;
  /// Ends queries and announcements for good.
  void shut() noexcept;

  [[nodiscard]] net::endpoint const& endpoint() const noexcept { return config_.server; }
  /// The result of the last query; null when it failed.
  [[nodiscard]] sentinel_view const* view() const noexcept { return view_ ? &*view_ : nullptr; }
  /// When the last query that has a result was begun.
  [[nodiscard]] time_point asked_at() const noexcept { return asked_at_; }
  /// The last view differs from the one before, or is the first.
  [[nodiscard]] bool view_changed() const noexcept { return changed_; }
  /// Why the last query failed, or what is wrong with its replies; null when it succeeded, or none was made.
  [[nodiscard]] std::shared_ptr<error const> const& trouble() const noexcept { return trouble_; }
  /// The masters that the sentinel knows; queried when it doesn't know ours.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept { return names_; }

 private:
  using reader = bool (*)(resp::reply const&, sentinel_view&);

  void on_subscribed() override;
  void on_message(std::string_view message) override;
  void on_refused(std::string const& text) override;
  void on_another_master();

  /// Comes before the other announcement, so what was missed of it shows at the other's subscription.
  struct promotions final : net::subscriber::listener {
    explicit promotions(sentinel_link& of) noexcept : link{of} {}
    void on_subscribed() override {
      if (link.hears_promotions_alone_) link.on_subscribed();
    }
    void on_message(std::string_view message) override;
    void on_refused(std::string const& /*text*/) override {}  // the other one comes a moment later
    sentinel_link& link;
  };

  template <class Done>
  void send(std::initializer_list<std::string_view> words, Done done);
  void begin() noexcept;
  void send_queries();
  void read(net::response const& response, reader parse) noexcept;
  void ask_for_names();
  void finish() noexcept;

  net::settings const config_;
  std::string const master_;
  events const events_;
  net::connection requests_;
  net::subscriber messages_;
  promotions promotions_{*this};
  bool hears_promotions_alone_ = false;  ///< the channel of the other announcement was refused
  bool asking_ = false;
  bool again_ = false;     ///< ask_anew() was called while a query was under way
  bool switched_ = false;  ///< it has announced another master since a query last ended
  time_point begun_at_{};  ///< of the newest query
  time_point asked_at_{};
  std::optional<sentinel_view> view_;
  std::optional<std::pair<std::optional<net::server_address>, std::int64_t>> previous_;  ///< master and epoch
  bool changed_ = false;  ///< against `previous_`
  sentinel_view next_;    ///< being read
  std::vector<std::string> names_;
  std::shared_ptr<error const> trouble_;
  std::shared_ptr<error const> next_trouble_;
  std::shared_ptr<error const> const out_of_memory_;
  reactor::loop& loop_;
  reactor::timer begin_timer_;
};

}  // namespace holdfast::topology
