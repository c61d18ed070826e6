/// The leases that a client has in etcd: one for each ttl, and more where it has several keys of one name.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/server.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// One lease. It is kept alive while keys are under it.
struct client_lease {
  explicit client_lease(std::chrono::seconds time) : ttl{time} {}

  /// For how long a key lasts that is confirmed now, counted from alive_from.
  std::chrono::seconds const ttl;
  std::int64_t id = 0;      ///< 0: not granted yet
  time_point alive_from{};  ///< just before the request was sent that has last extended it for certain
  /// The same of the newest keep-alive. A leader that has just lost its office, and doesn't know, answers
  /// keep-alives by itself; so one counts as soon as a majority has answered a request that was sent behind
  /// it in the same term.
  struct {
    time_point from{};
    time_point answered_at{};
    std::uint64_t term = 0;
  } newest_answer{};
  std::uint64_t newest_term = 0;  ///< in which a majority has answered
  time_point
      asked_at{};  ///< when a keep-alive was sent that isn't answered; the clock's epoch: there is none
  std::uint64_t asked = 0;  ///< its number
  bool over = false;        ///< the server has forgotten it, and all its keys
  bool granting = false;
  /// No new keys: a request may be carried out late that puts a key under it. It is revoked as soon as it has
  /// none.
  bool retired = false;

  using handler = std::function<void(response<lease_grant> const*)>;
  struct applicant {
    handler done{};
    time_point last_attempt_at{};
  };
  std::vector<applicant> until_granted{};
  enum class confirmation : std::uint8_t { alive, over, no_answer };
  struct doubter {
    std::function<void(confirmation)> done{};
    time_point last_attempt_at{};
  };
  std::vector<doubter> until_alive{};           ///< for the next answer
  std::set<std::string, std::less<>> claims{};  ///< of its keys
  time_point used_at{};
  std::vector<std::string> left_behind{};  ///< keys that are deleted again and again while it lives
  reactor::timer tick{{}};
};
using lease_ptr = std::shared_ptr<client_lease>;

/// All under the client's lock.
class leases {
 public:
  /// `on_over`: the server has forgotten that lease.
  leases(reactor::loop& loop, server& to, channel& over, std::shared_ptr<mailbox> mail,
         std::function<void(lease_ptr const&)> on_over);

  /// A lease with that ttl under which nobody has any of those claims: names of locks, of which it can have
  /// one key each. They count from now on.
  [[nodiscard]] lease_ptr take(std::span<std::string const> claims, std::chrono::seconds ttl);
  [[nodiscard]] bool has(std::int64_t id) const noexcept;
  void give(client_lease& from, std::span<std::string const> claims, time_point now) noexcept;
  /// A key that may be there, or appear, and mustn't stay. Nobody makes it anew for anything else: its lease
  /// is in its name, and gets no new keys.
  static void leave_behind(client_lease& under, std::string key);

  /// `done` hears why not, or null.
  void when_granted(lease_ptr const& wanted, scripting::send_options const& send, client_lease::handler done);
  /// `done` is called when a keep-alive that is sent from now on was answered, or the lease is over, or there
  /// is no answer for as long as such a request is tried.
  void confirm(lease_ptr const& wanted, scripting::send_options const& send,
               std::function<void(client_lease::confirmation)> done);
  /// What the caller is told then.
  [[nodiscard]] std::shared_ptr<error const> unanswered() const;
  void note_over(lease_ptr const& gone);
  /// The answer of a majority to a request that was sent then.
  static void note_majority(client_lease& under, outcome const& answer, time_point sent_at) noexcept;

  /// The answer to the keep-alive with that number.
  void on_alive(std::int64_t id, std::uint64_t number, std::chrono::seconds ttl, std::uint64_t term);
  void on_broken();
  /// Nothing is sent any more.
  void stop();

 private:
  void grant(lease_ptr const& wanted, scripting::send_options const& send);
  void fail_until(lease_ptr const& wanted, time_point until, response<lease_grant> const& answer);
  void ask(client_lease& about, time_point now);
  void look(lease_ptr const& at);
  static void give_up_confirming(client_lease& at, time_point now);
  void sweep(lease_ptr const& under);
  void revoke(lease_ptr const& unused);
  [[nodiscard]] static std::chrono::nanoseconds wait_for_answer(client_lease const& asked) noexcept;

  reactor::loop& loop_;
  server& server_;
  channel& channel_;
  std::shared_ptr<mailbox> const mail_;
  std::function<void(lease_ptr const&)> on_over_;
  std::list<lease_ptr> all_;
  std::uint64_t keep_alives_ = 0;
  bool stopped_ = false;
};

}  // namespace holdfast::etcd
