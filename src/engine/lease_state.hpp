/// The state behind a lease.
#pragma once

#include <atomic>
#include <boost/intrusive/list_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_view.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/callback.hpp"
#include "engine/effective_options.hpp"
#include "engine/lease_clock.hpp"
#include "engine/lock_queue.hpp"

namespace holdfast::engine {

class lease_state;
using lease_state_ptr = boost::intrusive_ptr<lease_state>;
using release_handler = callback<void(release_result)>;

/// How long before its deadline the holder is told, so that it knows by then.
constexpr std::chrono::milliseconds told_ahead{1};

using renewal_hook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// What the destructor of a handle does; for any thread. A base, to fill a gap behind the reference count: a
/// lease has to be small.
struct end_of_lease {
  explicit end_of_lease(release how) noexcept : on_destroy{how} {}
  std::atomic<release> on_destroy;
};

/// One lease. Small, since a process may hold a million: what few leases need is in `extras`.
class lease_state : public boost::intrusive_ref_counter<lease_state, boost::thread_safe_counter>,
                    public end_of_lease,
                    public renewal_hook {
 public:
  enum class state : std::uint8_t { held, released, lost };

  lease_state(lock_queue_ptr queue, effective_options_ptr options, std::uint64_t number, std::int64_t token)
      : end_of_lease{options->options.on_destroy},
        queue_{std::move(queue)},
        effective_{std::move(options)},
        number_{number},
        token_{token} {}

  // Constant after construction.
  [[nodiscard]] lock_queue& queue() const noexcept { return *queue_; }
  // Constant once the caller has the lease: see lease_calls::hand_out.
  [[nodiscard]] lock_options const& options() const noexcept { return effective_->options; }
  [[nodiscard]] effective_options const& effective() const noexcept { return *effective_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::int64_t token() const noexcept { return token_; }

  // From any thread.
  [[nodiscard]] bool valid() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
  [[nodiscard]] loss_cause cause() const noexcept { return cause_.load(std::memory_order_acquire); }
  [[nodiscard]] state status() const noexcept { return state_.load(std::memory_order_acquire); }

  // Under the client's lock.
  [[nodiscard]] lease_times times() const noexcept {
    return {.deadline = deadline() - told_ahead,
            .renew_at = renew_at,
            .limit = extras_ ? extras_->limit : time_point::max(),
            .warn_at = extras_ ? extras_->warn_at : time_point::max(),
            .renewing = renewing};
  }
  [[nodiscard]] time_point deadline() const noexcept {
    return time_point{boot_clock::duration{deadline_.load(std::memory_order_relaxed)}};
  }
  void set_deadline(time_point when) noexcept {
    deadline_.store(when.time_since_epoch().count(), std::memory_order_release);
  }
  void set_options(effective_options_ptr options) noexcept { effective_ = std::move(options); }
  void set_limit(time_point when) { more().limit = when; }
  /// Calls `f` once, at `when`: the limit is near. The result destroys an earlier warning, like
  /// drop_listeners().
  [[nodiscard]] reactor::loop::calls set_warning(time_point when, move_only_function<void()>&& f);
  /// Takes out the warning, which is due now.
  [[nodiscard]] reactor::loop::calls take_warning() noexcept {
    extras_->warn_at = time_point::max();
    extras_->warned.reset();
    return std::exchange(extras_->warn, {});
  }
  /// Calls `f`, without the lock, whenever a renewal finds that what was said of this lease beside the lock
  /// is gone (renewals::unsaid). `f` is destroyed under the lock.
  void set_unsaid(callback<void()> f) { more().unsaid = std::make_shared<callback<void()>>(std::move(f)); }
  [[nodiscard]] std::shared_ptr<callback<void()>> unsaid() const noexcept {
    return extras_ ? extras_->unsaid : nullptr;
  }
  void set_released() noexcept { state_.store(state::released, std::memory_order_release); }

  [[nodiscard]] std::stop_token stop_token();
  /// If it throws, `f` is unchanged: it may own what needs the lock to end. So with set_warning().
  void add_listener(move_only_function<void(loss_cause)>&& f) { notice().listeners.push_back(std::move(f)); }

  /// Marks it lost. The result notifies the listeners, and is to be called without the lock.
  [[nodiscard]] reactor::loop::calls lose(loss_cause cause) noexcept;

  /// Ends all notifications. The result destroys the listeners, and is to be called without the lock, as
  /// their captures may need it.
  [[nodiscard]] reactor::loop::calls drop_listeners() noexcept;

  /// The lease that took over inside this process, if any: it owns a renewal under way now.
  [[nodiscard]] lease_state_ptr latest();
  void set_heir(lease_state_ptr heir) {
    auto& own_extras = more();
    if (!own_extras.behind.empty()) heir->more().behind.swap(own_extras.behind);
    own_extras.heir = std::move(heir);
  }

  /// Calls `f` when no request that sets the ttl is under way. Such requests may overtake each other, where a
  /// server redirects them or has forgotten its scripts, and the last one decides.
  void when_settled(callback<void()> f) {
    if (renewing) {
      more().behind.push_back(std::move(f));
    } else {
      f();
    }
  }
  /// That request is answered and its outcome noted: the next one may go.
  void settle() {
    renewing = false;
    while (!renewing && extras_ && !extras_->behind.empty()) {
      reactor::loop::calls next;
      next.splice(next.end(), extras_->behind, extras_->behind.begin());
      next.front()();
    }
  }

  /// Takes over the listeners of `other`, which is over, and how it ends.
  void inherit(lease_state& other) {
    extras_ = std::move(other.extras_);
    on_destroy = other.on_destroy.load();
  }
  /// The same where this lease has a limit of its own.
  void take_listeners(lease_state& other);

  // For the renewer; under the client's lock.
  std::int32_t tokens_left = 0;  ///< reserved fencing tokens behind token()
  std::uint32_t thread = 0;      ///< that holds it, see holders::give_to; 0: not noted
  time_point renew_at = time_point::max();
  time_point due{};                 ///< when it is checked next
  std::int32_t renewals_left = -1;  ///< negative: no limit
  bool renewing = false;            ///< a request that sets the ttl is under way
  bool provisional : 1 = false;     ///< granted by message: the server has another ttl until it is renewed
  bool renewal_sent : 1 =
      false;  ///< with `renewing`: that request is a renewal, of which there may be a limit
  // See held_traces.
  bool trace_said : 1 = false;  ///< by its number, which no lease of another caller may get
  bool is_heir : 1 = false;     ///< a lease of another caller had its number before

 private:
  // Placed here to fill a gap: a lease has to be small.
  std::atomic<state> state_{state::held};
  std::atomic<loss_cause> cause_{loss_cause::none};

 public:
  /// Conversions to the public handle, and back.
  static lease handle(lease_state_ptr source) noexcept;
  static lease_view view(lease const& handle) noexcept;
  static lease_state* behind(lease const& handle) noexcept { return handle.held_; }
  static lease_state_ptr take(lease&& handle) noexcept {
    return lease_state_ptr{std::exchange(handle.held_, nullptr), false};
  }

  // Under the client's lock: an acquisition may have several handles; the last one gives it back.
  void add_handle() { ++more().more_handles; }
  [[nodiscard]] bool has_more_handles() const noexcept { return extras_ && extras_->more_handles != 0; }
  [[nodiscard]] bool drop_handle() noexcept {  ///< true: it was the last
    if (!extras_ || extras_->more_handles == 0) return true;
    --extras_->more_handles;
    return false;
  }

 private:
  /// The listeners to its loss.
  struct loss_notice {
    std::stop_source stop{std::nostopstate};
    std::vector<move_only_function<void(loss_cause)>> listeners{};
    loss_cause cause = loss_cause::none;
  };
  struct warning {
    move_only_function<void()> callback{};
    bool cancelled = false;  ///< it must not be given any more
  };
  struct extras {
    time_point limit = time_point::max();
    time_point warn_at = time_point::max();
    std::shared_ptr<warning> warned;
    reactor::loop::calls warn;  ///< made in advance, since the warning must not fail
    std::shared_ptr<callback<void()>> unsaid;
    std::shared_ptr<loss_notice> notice;
    reactor::loop::calls notify;  ///< the same
    lease_state_ptr heir;
    reactor::loop::calls behind;  ///< called when it isn't `renewing` any more
    std::uint32_t more_handles = 0;
  };
  extras& more() {
    if (!extras_) extras_ = std::make_unique<extras>();
    return *extras_;
  }
  loss_notice& notice();
  reactor::loop::calls drop_warning() noexcept;

  lock_queue_ptr queue_;
  effective_options_ptr effective_;
  std::uint64_t number_;
  std::int64_t token_;
  std::atomic<boot_clock::rep> deadline_{0};
  std::unique_ptr<extras> extras_;
};

/// The name of the lock, and the owner id, as the user sees them.
[[nodiscard]] std::string shown_name(lease_state const& lease);
[[nodiscard]] std::string shown_owner(lease_state const& lease);

}  // namespace holdfast::engine
