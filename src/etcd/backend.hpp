/// The backend on etcd: the recipe of Go's concurrency.Mutex, as the engine's requests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/lock_backend.hpp"
#include "etcd/channel.hpp"
#include "etcd/leases.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/place.hpp"
#include "etcd/server.hpp"
#include "etcd/viewing.hpp"

namespace holdfast::etcd {

/// An owner is a key `name/<lease in hex>`; the key that was made first has the lock. An acquire request
/// makes the key, or looks what is before it. Whoever waits watches the key before its own, and the engine is
/// told to ask again when that is deleted, as by a message of Redis.
///
/// A deadline counts from before the lease was last extended, so an answer's sent_at is that time.
class backend final : public engine::lock_backend {
 public:
  backend(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
          std::string prefix, settings const& to, topology::events handlers);
  ~backend() override;

  void acquire(engine::recipe const& lock_recipe, std::string_view name,
               engine::acquire_request const& request, handler<engine::verdict> done,
               scripting::send_options send) override;
  void release(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
               handler<engine::ownership> done, scripting::send_options send) override;
  void abandon(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
               handler<engine::abandoned> done, scripting::send_options send) override;
  void renew(engine::recipe const& lock_recipe, milliseconds ttl, std::span<engine::owned const> leases,
             handler<engine::renewals> done, scripting::send_options send) override;
  void set_ttl(engine::recipe const& lock_recipe, milliseconds ttl, engine::owned lease,
               handler<engine::ownership> done, scripting::send_options send) override;
  void pass(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
            engine::acquire_request const& next, handler<engine::passed> done,
            scripting::send_options send) override;
  /// PING, which asks the cluster; anything else is refused.
  void send(net::request&& request) override;

  void find_petition(engine::recipe const& lock_recipe, engine::owned lease, handler<bool> done,
                     scripting::send_options send) override;
  [[nodiscard]] etcd::viewer* viewer() noexcept override { return &viewing_; }

  [[nodiscard]] bool idle() const noexcept override { return server_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return server_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return server_.down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) override;
  void listen(std::string const& channel, topology::channel_of owner,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) override;
  [[nodiscard]] std::uint16_t slot_of(std::string_view /*name*/) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  struct position;
  struct taking;
  struct passing;
  struct renewal;
  using taking_ptr = std::shared_ptr<taking>;
  /// `found`: how the key was found. Otherwise there is no answer.
  using given_handler = std::function<void(engine::answer<engine::ownership>&&, bool was_held)>;

  [[nodiscard]] place_ptr find(std::string_view owner) const;
  [[nodiscard]] place_ptr at(engine::recipe const& lock_recipe, std::string_view name,
                             engine::acquire_request const& request);
  void name_key(place& of) const;
  static void enqueue(place_ptr const& of, callback<void()> step);
  static void go_on(place_ptr const& of);
  /// At once if the client is shut.
  void later(callback<void()> f) {
    // NOLINTNEXTLINE(bugprone-use-after-move): what isn't put is left as it was
    if (!mail_->put(std::move(f))) f();
  }

  void take(taking_ptr const& wanted);
  void make_key(taking_ptr const& wanted);
  void on_made(taking_ptr const& wanted, response<outcome>&& answer);
  void look(taking_ptr const& wanted);
  void on_looked(taking_ptr const& wanted, response<outcome>&& answer);
  void remove_stale(taking_ptr const& wanted, key_value const& stale);
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> waits_for(place const& of) const;
  [[nodiscard]] range oldest_of(place const& of) const;
  void ask_position(transaction& request, place const& of) const;
  void on_position(taking_ptr const& wanted, position const& is, std::int64_t revision);
  void finish_granted(taking_ptr const& wanted);
  void finish_busy(taking_ptr const& wanted, found const& first);
  template <class Answer>
  void finish_failed(taking_ptr const& wanted, response<Answer> const& answer);
  void finish(taking_ptr const& wanted, engine::answer<engine::verdict>&& result);
  template <class Outcome, class Answer>
  [[nodiscard]] engine::answer<Outcome> no_outcome(response<Answer> const& answer) const;

  void give_back(place_ptr const& of, scripting::send_options const& send, given_handler done);
  void begin_giving_back(place_ptr const& of, scripting::send_options const& send, given_handler const& done);
  void drop(place_ptr const& of) noexcept;
  void leave_behind(place& of);
  void begin_passing(std::shared_ptr<passing> const& all);
  void on_passed(std::shared_ptr<passing> const& all, response<outcome>&& answer);

  void check_all(std::shared_ptr<renewal> const& all);
  void check(std::shared_ptr<renewal> const& all, std::size_t from);
  void settle(std::shared_ptr<renewal> const& all);
  void finish(renewal& whole);

  void hold(place_ptr const& of, milliseconds ttl);
  void watch(place& of, std::string const& key, std::int64_t from_revision);
  void watch_own(place& of);
  void unwatch(place& of);
  void wake(place const& of);
  void tell(std::string const& channel, std::string const& message);
  void on_deleted(std::uint64_t watch);
  void on_changed(std::uint64_t watch);
  void on_watch_over(std::uint64_t watch);
  void on_lease_over(lease_ptr const& gone);

  void look_again_soon();
  void observe(std::string const& name, std::string const& first, std::int64_t revision);
  void stop_observing(std::string_view listened_on);
  [[nodiscard]] bool forget_observed(std::uint64_t watch);
  [[nodiscard]] bool tell_observers(std::uint64_t watch, bool over);
  void tell_all_observers();

  [[nodiscard]] time_point alive_since(place const& of, milliseconds ttl) const noexcept;
  [[nodiscard]] engine::busy busy_behind(place const& of, found const& first) const;

  reactor::loop& loop_;
  engine::client_constants const& client_;
  std::string const prefix_;
  topology::events events_;
  std::shared_ptr<mailbox> const mail_;
  std::map<std::string, net::subscriber::listener*, std::less<>> listeners_;
  std::unordered_map<std::uint64_t, place_ptr> watches_;
  std::uint64_t last_watch_ = 0;
  /// What is watched for those that listen to the channel of an election; 0: nothing by now.
  struct observed {
    std::uint64_t watch = 0;
    std::string key{};  ///< of the leader; empty: any
  };
  std::map<std::string, observed, std::less<>> observed_;
  std::map<std::string, place_ptr, std::less<>> places_;
  std::unique_ptr<channel> const channel_;
  server server_;
  leases leases_;
  viewing viewing_;
  bool holders_unwatched_ = false;  ///< the watch of a holder's own key has ended
  reactor::timer wake_all_{{}};     ///< watches have ended: who waits asks again
};

template <class Outcome, class Answer>
engine::answer<Outcome> backend::no_outcome(response<Answer> const& answer) const {
  if (answer.failure) return {.content = engine::failed{.reason = answer.failure, .sent = answer.sent}};
  using enum status::kind;
  if (answer.ended.type == refused || answer.ended.type == full || answer.ended.type == no_such_lease) {
    auto text = answer.ended.text;
    if (answer.ended.type == full)
      text += "; compact and defragment it, and disarm the alarm (etcdctl compact, defrag, alarm disarm)";
    return {.content = engine::refused{.text = std::move(text), .resent = answer.resent}};
  }
  return {.content = engine::failed{.reason = server_.explain(answer.ended), .sent = answer.resent}};
}

}  // namespace holdfast::etcd
