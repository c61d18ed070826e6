/// One name in one client: its holder here, its callers here, and its one contender on the wire.
#pragma once

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <holdfast/busy_info.hpp>
#include <holdfast/error.hpp>
#include <optional>
#include "base/backoff.hpp"
#include "engine/answers.hpp"
#include "engine/effective_options.hpp"
#include "engine/recipe.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

class core;
struct client_constants;
class lock_queues;
class lease_state;
class lock_queue;
using lease_state_ptr = boost::intrusive_ptr<lease_state>;
using lock_queue_ptr = boost::intrusive_ptr<lock_queue>;

/// Links the callers of a queue, in their order.
using queue_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct queued_tag>>;
/// Links the callers among them that leave at the next reply, whatever it is.
using try_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct only_tries_tag>,
                                                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A caller that wants the lock. Finished once: with a lease, with an error, or with neither when its time
/// was up.
class waiter : public queue_hook, public try_hook {
 public:
  waiter(lock_queue_ptr caller_queue, effective_options_ptr caller_options, std::function<void()> on_timeout);
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;
  virtual ~waiter();

  /// Called under the client's lock, with the results in place.
  virtual void finished() noexcept = 0;

  [[nodiscard]] bool queued() const noexcept { return queue_hook::is_linked(); }
  [[nodiscard]] bool among_tries() const noexcept { return try_hook::is_linked(); }
  /// It waits for the lock as long as it takes.
  [[nodiscard]] bool unlimited() const noexcept { return last_look == time_point::max(); }

  lock_queue_ptr queue;
  effective_options_ptr options;
  time_point came_at{};
  int amount = 1;                 ///< permits wished for
  std::uint64_t in_place_of = 0;  ///< the number of the lease that it would turn into this lock; 0: none
  std::uint32_t thread = 0;       ///< the waiting thread, for the search for deadlocks; 0: there is none
  std::uint64_t number = 0;       ///< for its contender: the number of a lease that is over; 0: a new number
  bool tries_only = false;        ///< it tries, and doesn't wait
  bool came_to_try = false;       ///< from the beginning
  /// How the lock came to it.
  enum class way : std::uint8_t { answer, handoff, message } came_by = way::answer;
  /// What its observer knows of it.
  struct known {
    std::string trace{};   ///< observer::trace()
    std::uint64_t id = 0;  ///< 0: nothing
    bool waiting = false;
  };
  std::unique_ptr<known> observed{};  ///< null: the client has no observer
  /// Until when it waits for a server that hasn't answered yet; min(): for connect_timeout, or, if the server
  /// was never reached, for the first attempt only; max(): the server is known to exist.
  time_point patient_until = time_point::min();
  time_point last_look = time_point::max();  ///< of one more request, just before the time is up
  bool done = false;
  lease_state_ptr lease;
  std::shared_ptr<error const> failure;
  reactor::timer time_up;
};

/// Links the contenders of a client.
using contender_hook =
    boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// The name's one candidate on the wire. It belongs to the queue, not to a caller: when the first caller
/// gives up, the next caller takes over its place in the server's queue. Where the order is strict the next
/// caller gets a contender of its own.
struct contender : contender_hook {
  enum class state {
    asking,   ///< a request is under way
    waiting,  ///< for a message, or the timer
    leaving,  ///< no caller is left, but the request under way may still bring the lock
  };

  contender(std::uint64_t owner_number, std::string owner_id, std::function<void()> try_again,
            backoff polling)
      : number{owner_number}, owner{std::move(owner_id)}, retry{std::move(try_again)}, pause{polling} {}

  /// A caller that has left may have been told, by a reply under way, that it has what it waited for.
  void note_told() noexcept {
    if (policy.why == departure::left) policy.why = departure::may_be_told;
  }

  std::uint64_t number;
  lock_queue* queue = nullptr;  ///< that it belongs to
  std::string owner;
  std::string ticket{};
  state current = state::asking;
  release_policy policy{};      ///< of the caller in the last request
  time_point first_came_at{};   ///< when that caller came
  milliseconds ttl{};           ///< in the last request
  int amount = 1;               ///< the same
  bool requested_join = false;  ///< the same
  bool was_listening = false;   ///< its channels were open then: no release passes it by from then on
  bool listening = false;       ///< its channels are open
  bool joined = false;          ///< it may be in the server's queue
  bool unconfirmed = false;     ///< a request since the last outcome may have been carried out
  bool taken = false;           ///< in the server the lock may be its own: withdrawing gives it back
  bool fast = false;            ///< the last request was a fast one
  bool contended = false;       ///< the lock was busy, or comes from another caller of this process
  bool woken = false;           ///< a message came while a request was under way
  bool endless = false;         ///< only the end of an outage ends the last request
  bool bounded = false;         ///< a time does that isn't of all who wait
  bool acknowledged = false;    ///< by as many as the first caller wants; since the last request
  bool answered = false;        ///< the server has replied once: outages are waited out from now on
  int ghosts = 0;               ///< how often a ghost was cleared out of its way
  time_point back_until{};  ///< it gives way to the lock's other side until then, or while its own queue has
                            ///< leases; {}: it doesn't
  time_point busy_sent_at{};    ///< when the last request was sent that got a busy reply
  std::int64_t newest_token{};  ///< the newest token then: a grant with an older one is over already
  struct {
    busy reply;
    time_point heard_at;
  } last{};                                ///< the last busy reply
  int late = 0;                            ///< grants in a row that came when their ttl was over
  std::shared_ptr<error const> trouble{};  ///< the last reply was an error that passes (LOADING…)
  std::uint64_t in_place_of = 0;           ///< of the caller in the last request: see waiter::in_place_of
  /// Of the caller in the last request, if that said a value; null: it did not.
  effective_options_ptr proclaimed_by{};
  reactor::timer retry;
  backoff pause;
};

/// By number.
struct number_of_contender {
  using type = std::uint64_t;
  type operator()(contender const& opened) const noexcept { return opened.number; }
};
using contender_set = boost::intrusive::multiset<contender, boost::intrusive::base_hook<contender_hook>,
                                                 boost::intrusive::key_of_value<number_of_contender>,
                                                 boost::intrusive::constant_time_size<false>>;

using waiter_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<queue_hook>,
                                           boost::intrusive::constant_time_size<false>>;
using try_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<try_hook>,
                                        boost::intrusive::constant_time_size<false>>;

/// All under the client's lock. Lives as long as there is a pointer to it.
class lock_queue {
 public:
  lock_queue(lock_queues& home, recipe const& lock_recipe, std::string_view name)
      : name_{name}, recipe_{lock_recipe}, home_{home} {}
  lock_queue(lock_queue const&) = delete;
  lock_queue& operator=(lock_queue const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] recipe const& lock_recipe() const noexcept { return recipe_; }
  /// The lock in messages to the user: its name in quotes, or some of its names.
  [[nodiscard]] std::string title() const {
    return recipe_.several == nullptr ? '"' + name_ + '"' : recipe_.several->title(name_);
  }
  [[nodiscard]] core& engine() const noexcept;
  [[nodiscard]] client_constants const& client() const noexcept;

  /// The holder that was in the way when a caller last went without the lock, and when; null: never.
  struct obstacle {
    busy_info holder;
    time_point at;
  };
  [[nodiscard]] obstacle const* in_the_way() const noexcept {
    return memory_ && memory_->in_the_way ? &*memory_->in_the_way : nullptr;
  }
  void set_in_the_way(obstacle latest) { remember().in_the_way = std::move(latest); }

  /// What is known of the token counter of a lock that was free: see fast_path.
  struct counted {
    std::int64_t token = 0;  ///< it has been at least that
    time_point by_script{};  ///< a script set it to the server's clock, or above, no earlier than then
    time_point busy_at{};    ///< when the lock was last found busy
  };
  /// Null: nothing.
  [[nodiscard]] counted* counter() const noexcept { return memory_ ? &memory_->counter : nullptr; }
  /// Throws std::bad_alloc.
  [[nodiscard]] counted& note_counter() { return remember().counter; }
  /// Others want it.
  void note_busy(time_point now) noexcept {
    if (memory_) memory_->counter.busy_at = now;
  }

  waiter_list waiters;            ///< first come, first served
  try_list tries;                 ///< the waiters that only try, so that a reply costs nothing for the others
  lease_state* holder = nullptr;  ///< the lease of this process, if any; several at a time are in `holders`
  std::unique_ptr<engine::contender> contender;
  std::uint64_t releasing = 0;        ///< the number of the lease whose release is under way; 0: none is
  std::uint32_t handoffs : 30 = 0;    ///< since `held_here_since`
  std::uint32_t taken_fast : 1 = 0;   ///< the newest lease here was granted to a fast request
  std::uint32_t uncontended : 1 = 0;  ///< the lease here was granted at once, and no caller has come since

 private:
  std::uint32_t references_ = 0;  // here, where it fills a gap

 public:
  time_point held_here_since{};  ///< when the lock came to this process

 private:
  friend void intrusive_ptr_add_ref(lock_queue* queue) noexcept;
  friend void intrusive_ptr_release(lock_queue* queue) noexcept;

  /// Of queues that are used more than once: a queue has to be small.
  struct memory {
    std::optional<obstacle> in_the_way{};
    counted counter{};
  };
  memory& remember() {
    if (!memory_) memory_ = std::make_unique<memory>();
    return *memory_;
  }

  std::unique_ptr<memory> memory_;
  std::string name_;
  recipe const& recipe_;
  lock_queues& home_;
};

}  // namespace holdfast::engine
