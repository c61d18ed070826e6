/// One name in one client: who holds it here, who waits for it here, and the one bid for it on the wire.
#pragma once

#include <boost/intrusive/list.hpp>
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
#include "engine/effective_options.hpp"
#include "engine/recipe.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

class core;
class lease_state;
class lock_queue;
using lease_state_ptr = boost::intrusive_ptr<lease_state>;
using lock_queue_ptr = boost::intrusive_ptr<lock_queue>;

/// Of those in line, in their order.
using queue_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct in_line_tag>>;
/// Of those among them that go at the next answer, whatever it is.
using try_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct only_tries_tag>,
                                                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A caller that wants the lock. Finished once: with a lease, with an error, or with neither when its time
/// was up.
class waiter : public queue_hook, public try_hook {
 public:
  /// `finished` is called under the client's lock, with the results in place.
  waiter(lock_queue_ptr at, effective_options_ptr terms, std::function<void()> time_up);
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;
  virtual ~waiter();

  /// The results are in place; with the client's lock held.
  virtual void finished() noexcept = 0;

  [[nodiscard]] bool queued() const noexcept { return queue_hook::is_linked(); }
  [[nodiscard]] bool among_tries() const noexcept { return try_hook::is_linked(); }

  lock_queue_ptr queue;
  effective_options_ptr options;
  time_point since{};                        ///< when it asked
  int amount = 1;                            ///< permits wished for
  bool once = false;                         ///< it tries, and doesn't wait
  bool steadfast = false;                    ///< if it waits, it waits through outages from the start
  time_point last_look = time_point::max();  ///< ask once more then, just before the time is up
  bool done = false;
  lease_state_ptr lease;
  std::shared_ptr<error const> failure;
  reactor::timer time_up;
};

/// The name's one candidate on the wire. It belongs to the line, not to a caller: when the first caller gives
/// up the next one takes its place in the queue over; but where the order is strict the next one makes a bid
/// of its own.
struct contender {
  enum class state {
    asking,   ///< a request is under way
    waiting,  ///< for a message, or the timer
    leaving,  ///< nobody wants it any more, but the request under way may still bring it
  };

  contender(std::uint64_t n, std::string who, std::function<void()> try_again, backoff how_often)
      : number{n}, owner{std::move(who)}, retry{std::move(try_again)}, pause{how_often} {}

  std::uint64_t number;
  std::string owner;
  std::string ticket{};
  state current = state::asking;
  release_policy policy{};      ///< of the caller it was last asked for
  time_point since{};           ///< when that caller asked
  milliseconds ttl{};           ///< as asked for last
  int amount = 1;               ///< the same
  bool requested_join = false;  ///< the same
  bool listening = false;       ///< its channels are open
  bool joined = false;          ///< it may be in the queue
  bool woken = false;           ///< a message came while a request was under way
  bool endless = false;         ///< asked for last so that only the end of an outage ends it
  bool acknowledged = false;    ///< by as many as the first caller wants; since it asked last
  bool answered = false;        ///< the server has been asked once: outages are waited out from now on
  int ghosts = 0;               ///< so often what is over was cleared out of its way
  time_point asked_at{};        ///< when the last ask was sent that was answered "busy"
  std::int64_t counter{};       ///< the newest token at that ask: a grant with an older one is over already
  struct {
    busy what;
    time_point heard_at;
  } last{};                                ///< the last answer "busy"
  int late = 0;                            ///< grants in a row that came when their ttl was over
  std::shared_ptr<error const> trouble{};  ///< the last answer was an error that passes (LOADING…)
  reactor::timer retry;
  backoff pause;
};

using waiter_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<queue_hook>,
                                           boost::intrusive::constant_time_size<false>>;
using try_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<try_hook>,
                                        boost::intrusive::constant_time_size<false>>;

/// All under the client's lock. Lives as long as somebody points at it.
class lock_queue {
 public:
  lock_queue(core& home, recipe const& how, std::string_view name)
      : name_{name}, protocol_{how}, engine_{home} {}
  lock_queue(lock_queue const&) = delete;
  lock_queue& operator=(lock_queue const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] recipe const& protocol() const noexcept { return protocol_; }
  /// What messages call it: its name in quotes, or some of its names.
  [[nodiscard]] std::string title() const {
    return protocol_.several == nullptr ? '"' + name_ + '"' : protocol_.several->title(name_);
  }
  [[nodiscard]] core& engine() const noexcept { return engine_; }

  /// Who was in the way when a caller last went without the lock, and when that was; null when none did.
  struct obstacle {
    busy_info who;
    time_point at;
  };
  [[nodiscard]] obstacle const* in_the_way() const noexcept { return in_the_way_.get(); }
  void set_in_the_way(obstacle what) { in_the_way_ = std::make_unique<obstacle>(std::move(what)); }

  waiter_list waiters;  ///< first come, first served
  try_list tries;       ///< those among them that only try, so that an answer costs nothing for the others
  lease_state* holder =
      nullptr;  ///< the lease of this process, if any; where there may be several they are in a crowd
  std::unique_ptr<engine::contender> contender;
  std::uint64_t releasing = 0;  ///< the number of the lease whose release is under way; 0: none is
  std::uint32_t handoffs = 0;   ///< since `since`

 private:
  std::uint32_t references_ = 0;  // here, where it fills a gap

 public:
  time_point since{};  ///< when the lock came to this process

 private:
  friend void intrusive_ptr_add_ref(lock_queue* one) noexcept;
  friend void intrusive_ptr_release(lock_queue* one) noexcept;

  std::unique_ptr<obstacle> in_the_way_;
  std::string name_;
  recipe const& protocol_;
  core& engine_;
};

}  // namespace holdfast::engine
