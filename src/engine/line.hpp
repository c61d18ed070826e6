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

#include <holdfast/error.hpp>
#include <holdfast/who.hpp>
#include <optional>
#include "base/backoff.hpp"
#include "engine/recipe.hpp"
#include "engine/terms.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

class core;
class held;
class line;
using held_ptr = boost::intrusive_ptr<held>;
using line_ptr = boost::intrusive_ptr<line>;

/// Of those in line, in their order.
using line_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct in_line_tag>>;
/// Of those among them that go at the next answer, whatever it is.
using try_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct only_tries_tag>,
                                                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A caller that wants the lock. Finished once: with a lease, with an error, or with neither when its time
/// was up.
class waiter : public line_hook, public try_hook {
 public:
  /// `finished` is called under the client's lock, with the results in place.
  waiter(line_ptr at, terms_ptr terms, std::function<void()> time_up);
  waiter(waiter const&) = delete;
  waiter& operator=(waiter const&) = delete;
  virtual ~waiter();

  /// The results are in place; with the client's lock held.
  virtual void finished() noexcept = 0;

  [[nodiscard]] bool in_line() const noexcept { return line_hook::is_linked(); }
  [[nodiscard]] bool among_tries() const noexcept { return try_hook::is_linked(); }

  line_ptr place;
  terms_ptr how;
  time_point since{};                        ///< when it asked
  int amount = 1;                            ///< permits wished for
  bool once = false;                         ///< it tries, and doesn't wait
  bool steadfast = false;                    ///< if it waits, it waits through outages from the start
  time_point last_look = time_point::max();  ///< ask once more then, just before the time is up
  bool done = false;
  held_ptr lease;
  std::shared_ptr<error const> failure;
  reactor::timer time_up;
};

/// The name's one candidate on the wire. It belongs to the line, not to a caller: when the first caller gives
/// up the next one takes its place in the queue over; but where the order is strict the next one makes a bid
/// of its own.
struct bid {
  enum class state {
    asking,   ///< a request is under way
    waiting,  ///< for a message, or the timer
    leaving,  ///< nobody wants it any more, but the request under way may still bring it
  };

  bid(std::uint64_t n, std::string who, std::function<void()> try_again, backoff how_often)
      : number{n}, owner{std::move(who)}, retry{std::move(try_again)}, pause{how_often} {}

  std::uint64_t number;
  std::string owner;
  std::string ticket{};
  state now = state::asking;
  handover terms{};            ///< of the caller it was last asked for
  time_point since{};          ///< when that caller asked
  milliseconds ttl{};          ///< as asked for last
  int amount = 1;              ///< the same
  bool asked_to_join = false;  ///< the same
  bool listening = false;      ///< its channels are open
  bool joined = false;         ///< it may be in the queue
  bool woken = false;          ///< a message came while a request was under way
  bool endless = false;        ///< asked for last so that only the end of an outage ends it
  bool acknowledged = false;   ///< by as many as the first caller wants; since it asked last
  bool answered = false;       ///< the server has been asked once: outages are waited out from now on
  int ghosts = 0;              ///< so often what is over was cleared out of its way
  time_point asked_at{};       ///< when the last ask was sent that was answered "busy"
  std::int64_t counter{};      ///< the newest token at that ask: a grant with an older one is over already
  struct {
    busy what;
    time_point heard_at;
  } last{};                                ///< the last answer "busy"
  int late = 0;                            ///< grants in a row that came when their ttl was over
  std::shared_ptr<error const> trouble{};  ///< the last answer was an error that passes (LOADING…)
  reactor::timer retry;
  backoff pause;
};

using waiter_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<line_hook>,
                                           boost::intrusive::constant_time_size<false>>;
using try_list = boost::intrusive::list<waiter, boost::intrusive::base_hook<try_hook>,
                                        boost::intrusive::constant_time_size<false>>;

/// All under the client's lock. Lives as long as somebody points at it.
class line {
 public:
  line(core& home, recipe const& how, std::string_view name) : name_{name}, how_{how}, home_{home} {}
  line(line const&) = delete;
  line& operator=(line const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] recipe const& how() const noexcept { return how_; }
  /// What messages call it: its name in quotes, or some of its names.
  [[nodiscard]] std::string title() const {
    return how_.several == nullptr ? '"' + name_ + '"' : how_.several->title(name_);
  }
  [[nodiscard]] core& home() const noexcept { return home_; }

  /// Who was in the way when a caller last went without the lock, and when that was; null when none did.
  struct obstacle {
    busy_info who;
    time_point at;
  };
  [[nodiscard]] obstacle const* in_the_way() const noexcept { return in_the_way_.get(); }
  void set_in_the_way(obstacle what) { in_the_way_ = std::make_unique<obstacle>(std::move(what)); }

  waiter_list waiters;  ///< first come, first served
  try_list tries;       ///< those among them that only try, so that an answer costs nothing for the others
  held* holder =
      nullptr;  ///< the lease of this process, if any; where there may be several they are in a crowd
  std::unique_ptr<bid> on_wire;
  std::uint64_t releasing = 0;  ///< the number of the lease whose release is under way; 0: none is
  std::uint32_t handoffs = 0;   ///< since `since`

 private:
  std::uint32_t references_ = 0;  // here, where it fills a gap

 public:
  time_point since{};  ///< when the lock came to this process

 private:
  friend void intrusive_ptr_add_ref(line* one) noexcept;
  friend void intrusive_ptr_release(line* one) noexcept;

  std::unique_ptr<obstacle> in_the_way_;
  std::string name_;
  recipe const& how_;
  core& home_;
};

}  // namespace holdfast::engine
