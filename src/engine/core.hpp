/// The engine of one client: the acquire-wait-renew-release loop, written once for all kinds of lock.
#pragma once

#include <functional>
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/hash_slot.hpp"
#include "engine/batches.hpp"
#include "engine/departed.hpp"
#include "engine/lease_state.hpp"
#include "engine/lock_backend.hpp"
#include "engine/lock_queue.hpp"
#include "engine/presence.hpp"
#include "engine/renewer.hpp"
#include "engine/shared_holders.hpp"
#include "engine/wake/broadcast.hpp"
#include "engine/wake/inbox.hpp"
#include "net/loose_ends.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Called once: with the lease, with neither when the time was up, or with what went wrong.
using acquire_handler = callback<void(lease_state_ptr, std::shared_ptr<error const>)>;
using release_handler = callback<void(release_result)>;

/// What a kind of lock, or whatever else is asked for, needs.
enum class votes {
  none,      ///< a deployment whose word is enough
  majority,  ///< several masters that vote
};

/// How long a caller waits; nullopt: as long as it takes. Zero or less: it only tries.
using patience_time = std::optional<std::chrono::nanoseconds>;

/// What there was no memory for is done so much later, and no more of it is remembered than that.
constexpr std::chrono::milliseconds memory_pause{20};
constexpr std::size_t most_owed = 256;

/// What a caller that waits wants of a server that can't be reached before it has answered. Once it has, all
/// wait.
enum class outages {
  told_of,     ///< to be told after connect_timeout
  waited_out,  ///< nothing, until its time is up: it knows that the server is there
};

class core : public std::enable_shared_from_this<core> {
 public:
  core(net::deployment_url where, client_options options);
  ~core();
  core(core const&) = delete;
  core& operator=(core const&) = delete;

  // For clients and locks, from any thread, without the lock.

  void connect();
  /// Ends it all, within a bound: releases what is held, lets waiters go. False: a thread is inside a
  /// callback that couldn't be waited for, and this has to outlive it.
  [[nodiscard]] bool shut() noexcept;
  /// What exit() can still do, each step for all clients before the next one: no other thread gets a lock
  /// from then on; what is held is given back; and that it is confirmed is waited for, so long after `begun`.
  void begin_exit() noexcept;
  void give_all_back() noexcept;
  void await_given_back(time_point begun) noexcept;
  [[nodiscard]] client_stats stats();
  /// The options as all locks with the same ones share them.
  [[nodiscard]] effective_options_ptr share(lock_options const& options);
  [[nodiscard]] lock_queue_ptr pin(recipe const& how, std::string_view name);
  void unpin(lock_queue_ptr& place) noexcept;
  /// `amount`: how many permits. What isn't leased is granted with a lease that is over already.
  [[nodiscard]] lease_state_ptr acquire(lock_queue_ptr const& at, effective_options_ptr const& how,
                                        patience_time wait, std::stop_token const& stop, int amount = 1,
                                        outages in_outage = outages::told_of);
  void async_acquire(lock_queue_ptr const& at, effective_options_ptr const& how, patience_time wait,
                     std::stop_token stop, acquire_handler done, int amount = 1,
                     outages in_outage = outages::told_of);
  /// Lets go of what was granted and isn't leased. It points at its line, whose count the lock guards.
  void forget(lease_state_ptr& what) noexcept;
  release_result release(lease_state_ptr& what) noexcept;
  /// In two steps, so that leases of several clients go at the same time.
  struct ending;
  [[nodiscard]] std::shared_ptr<ending> begin_release(lease_state_ptr& what) noexcept;
  release_result end_release(std::shared_ptr<ending> const& begun) noexcept;
  void async_release(lease_state_ptr& what, release_handler done) noexcept;
  /// Finishes it and leaves the key: for what is left of its ttl, or for `left`.
  release_result keep(lease_state_ptr& what, std::optional<milliseconds> left) noexcept;
  void renew(lease_state& what);
  /// Turns a lease, in one step of the server's, into one of the line `to`, with the same owner; `script`
  /// answers as a release does. Throws errc::lost, and what asking the server throws; the lease is over then.
  [[nodiscard]] lease_state_ptr become(lease_state_ptr what, lock_queue_ptr const& to, call const& script);
  /// One more handle of `what`, which must be held, and of that line.
  [[nodiscard]] lease_state_ptr reenter(lock_queue_ptr const& at, lease_state* what);
  /// Scripts beside all locks, in one pipeline; waits for the replies. Throws when the server can't be asked;
  /// what it refuses is a reply, too.
  [[nodiscard]] std::vector<resp::reply> ask_server(std::span<call const> scripts);
  /// One script; the answer says, too, whether an earlier copy of the request may have been carried out.
  /// Throws when the server can't be asked; what it refuses is a reply.
  [[nodiscard]] net::response ask_server(call const& script, scripting::send_options patience = {});
  /// One script, on behalf of `about`. Throws also what the server refuses.
  [[nodiscard]] resp::reply ask_server(call const& script, std::string_view about);
  /// A plain command, about `key` if it is about one. What the server refuses is a reply, too.
  [[nodiscard]] resp::reply ask_server(std::span<std::string_view const> command, std::string_view key = {});
  /// Those servers that each hold a part of the keys; there is always one.
  [[nodiscard]] std::vector<std::string> masters();
  /// A plain command for one of them.
  [[nodiscard]] resp::reply ask_master(std::string const& which, std::span<std::string_view const> command);
  [[nodiscard]] std::stop_token stop_token(lease_state& what);
  void on_lost(lease_state& what, std::function<void(loss_cause)> f);
  void on_limit_near(lease_state& what, milliseconds before, std::function<void()> f);
  /// Who was in the way when a caller of this line last went without the lock. May ask the server for that
  /// one's record.
  [[nodiscard]] std::optional<busy_info> last_busy(lock_queue& at);
  /// When that was; the clock's epoch when it never was.
  [[nodiscard]] time_point last_busy_at(lock_queue const& at);

  /// Calls `done` after so long, or when the client is shut down.
  void async_pause(std::chrono::nanoseconds time, callback<void()> done);
  /// For the log hook, unless the client has gone: `words` makes the message.
  template <class Words>
  void warn(Words words) noexcept {
    if (forked()) return;
    reactor::lock hold{loop_.mutex()};
    if (!closing_) log(log_level::warning, words);
    loop_.leave(hold);
  }

  /// The masters that the URL names vote.
  [[nodiscard]] bool is_quorum() const noexcept {
    return url_.deployment == net::deployment_url::kind::quorum;
  }
  /// Throws std::errc::invalid_argument unless what is to be made is for such a client.
  void check_kind(votes needed) const;

  /// This is a forked child, and all of it a copy.
  [[nodiscard]] bool forked() const noexcept;
  [[nodiscard]] std::string owner_id(std::uint64_t number) const {
    return uuid_ + ':' + std::to_string(number);
  }
  [[nodiscard]] std::string const& uuid() const noexcept { return uuid_; }
  [[nodiscard]] std::string const& url() const noexcept { return settings_.server.display; }
  /// How locks look, unless they say otherwise: plain or redisson.
  [[nodiscard]] holdfast::wire wire() const noexcept {
    auto const said = options_.wire != holdfast::wire::automatic ? options_.wire : settings_.server.wire;
    return said == holdfast::wire::redisson ? said : holdfast::wire::plain;
  }

  /// The keys are spread over several servers, each of which has some hash slots.
  [[nodiscard]] bool clustered() const noexcept {
    return url_.deployment == net::deployment_url::kind::cluster;
  }
  /// Only names with the same number can be in one request.
  [[nodiscard]] std::uint16_t slot_of(std::string_view name) const noexcept {
    return clustered() ? hash_slot(name) : 0;
  }
  /// How scripts beside the engine tell those who wait.
  [[nodiscard]] publishing publishing_now();

  /// Under the lock: the last pointer to it was dropped.
  void erase(lock_queue& gone) noexcept;

 private:
  // acquire.cpp and bid.cpp: the waiting loop. All under the lock. What may fail for want of memory has
  // changed nothing then that its caller doesn't put right: a bid that is left without a request asks again.
  void start(waiter& who) noexcept;
  void queue(waiter& who);
  void leave(waiter& who) noexcept;
  void cancel(waiter& who) noexcept;
  void finish(waiter& who) noexcept;
  void fail_all(lock_queue& at, std::shared_ptr<error const> const& why) noexcept;
  bool fail_impatient(lock_queue& at, std::shared_ptr<error const> const& why) noexcept;
  static void only_try(waiter& who) noexcept;
  void finish_tries(lock_queue& at, std::shared_ptr<error const> const& why) noexcept;
  contender& open_contender(lock_queue& at);
  void begin_contending(lock_queue& at, bool answered = false) noexcept;
  void send_acquire(lock_queue& at) noexcept;
  void try_send_acquire(lock_queue& at);
  void on_unsent(lock_queue& at, std::uint64_t number) noexcept;
  void ask_again_soon(lock_queue& at, std::uint64_t number) noexcept;
  [[nodiscard]] static bool is_contender(lock_queue const& at, std::uint64_t number) noexcept {
    return at.contender && at.contender->number == number;
  }
  [[nodiscard]] bool renew_contender(lock_queue& at) noexcept;
  void drop_orphan(lock_queue& at, std::uint64_t number) noexcept;
  void on_acquire_reply(lock_queue& at, std::uint64_t number, net::response const& how) noexcept;
  void on_verdict(lock_queue& at, verdict const& what, time_point sent_at);
  void on_granted(lock_queue& at, granted const& what, time_point sent_at, milliseconds ttl);
  void join_holders(lock_queue& at, lease_state& first, time_point now);
  static void set_limits(lease_state& lease, time_point now);
  void give(lock_queue& at, lease_state_ptr const& lease) noexcept;
  void give(waiter& who, lease_state_ptr const& lease) noexcept;
  void take_for_good(lock_queue& at, std::int64_t token, time_point now);
  void ask_anew(lock_queue& at) noexcept;
  void serve_others(lock_queue& at) noexcept;
  bool join(waiter& who);
  void on_busy(lock_queue& at, busy const& how, time_point sent_at);
  void on_trouble(lock_queue& at, net::response const& how);
  void sleep(lock_queue& at, busy const& how);
  void withdraw(lock_queue& at) noexcept;
  void time_up(waiter& who) noexcept;
  [[nodiscard]] acquire_request next_request(lock_queue& at);
  [[nodiscard]] wake wake_of(lock_options const& of) const noexcept;
  [[nodiscard]] wake wake_of(lock_queue const& at) const noexcept;
  [[nodiscard]] broadcast const& subscriptions_of(lock_queue const& at) const noexcept;
  [[nodiscard]] broadcast& subscriptions_of(lock_queue const& at) noexcept;
  [[nodiscard]] std::vector<std::string> channels_of(lock_queue const& at, std::string_view owner) const;
  void listen_ahead(lock_queue& at);
  [[nodiscard]] bool by_message(lock_queue const& at) const noexcept;
  [[nodiscard]] std::shared_ptr<error const> const& why_unheard(lock_queue const& at) const noexcept;
  void end_contender(lock_queue& at) noexcept;
  [[nodiscard]] bool in_use(lock_queue const& at, std::uint64_t number) const noexcept;

  // replicas.cpp: acquisitions that replicas or disks acknowledge. All under the lock.
  void ask_acknowledged(lock_queue& at, acquire_request const& how, net::retry_policy while_down);
  struct acknowledgement;
  void on_acquired(std::shared_ptr<acknowledgement> const& mine, net::response&& answer) noexcept;
  void send_wait(std::shared_ptr<acknowledgement> const& mine);
  void on_acknowledged(acknowledgement& what, net::response const& count) noexcept;

  // messages.cpp: what messages bring. All under the lock.
  void on_turn(std::string const& channel, std::string_view message);
  void on_woken(std::uint64_t number);
  void on_grant(std::uint64_t number, granted const& what);
  void ask_all_again() noexcept;
  void on_moved(std::string const& now);
  void on_open(std::uint64_t number);
  void on_turns_refused(std::string const& channel, std::string const& words);
  void on_channel_refused(std::string const& channel, std::string const& words);
  void fall_back_to_polling(std::shared_ptr<error const>& note, std::string const& channel,
                            std::string const& pattern, std::string const& words);

  // asked.cpp: a release by force asks the holder. All under the lock.
  void on_hint(std::uint64_t number);
  void look_at_hints();
  void look_whether_asked(lock_queue& at, std::uint64_t number);
  void let_go(lock_queue& at, std::uint64_t number);

  // ghosts.cpp: what the server has of acquisitions that are over. All under the lock.
  [[nodiscard]] bool is_over(std::uint64_t number, std::span<std::string_view const> names) const;
  void answer_for(std::uint64_t number, std::string_view name);
  bool clear_ghost(lock_queue& at, std::string_view holder);
  void note_left_key(lease_state const& what, milliseconds more) noexcept;
  void repeat_releases() noexcept;

  // blocked.cpp: who is in the way.
  void note_busy(waiter const& who) noexcept;

  // release.cpp: how a lease ends, by its holder's will or against it. All under the lock.
  void release(lease_state& what, release_handler done) noexcept;
  bool finish_here(lease_state& what) noexcept;
  bool leave_here(lease_state& what) noexcept;
  void ask_after_release(lock_queue& at) noexcept;
  [[nodiscard]] static bool still_to_release(lease_state const& what) noexcept;
  bool hand_over(lock_queue& at, lease_state& from) noexcept;
  struct passing;
  void pass(lock_queue& at, lease_state const& from, release_handler done) noexcept;
  void on_passed(passing& what, net::response const& how) noexcept;
  void lose(lease_state& what, loss_cause cause) noexcept;
  void lose_alone(lease_state& what, loss_cause cause) noexcept;

  // keep.cpp: the key stays. All under the lock.
  struct leaving;
  void keep(lease_state& what, std::optional<milliseconds> left, release_handler done) noexcept;
  void leave_key(lease_state& what, std::optional<milliseconds> left, release_handler done) noexcept;
  void stay_behind_answer(std::uint64_t number, time_point until) noexcept;
  void set_last_ttl(std::shared_ptr<leaving> const& mine) noexcept;
  void set_last_ttl(lock_queue& at, std::uint64_t number, time_point until, time_point deadline) noexcept;
  void send_last_ttl(lock_queue& at, std::uint64_t number, time_point until, time_point give_up,
                     lock_backend::handler done);
  void owe_last_ttl(lock_queue& at, std::uint64_t number, time_point until, time_point deadline) noexcept;
  void on_last_ttl(leaving& mine, net::response const& answer) noexcept;

  // give_back.cpp: what the server has of ours. All under the lock.
  /// What is given back to the server, for as long as it can be ours.
  struct giving_back {
    giving_back(lease_state const& what, release_policy terms);
    giving_back(lock_queue_ptr at, std::uint64_t whose, release_policy terms, time_point until)
        : queue{std::move(at)}, number{whose}, policy{terms}, deadline{until} {}
    lock_queue_ptr queue;
    std::uint64_t number;
    release_policy policy;
    time_point deadline;
    bool lost = false;  ///< before: that is what its holder hears
  };
  struct release_under_way;
  void send_release(giving_back const& what, release_handler done) noexcept;
  void send_release(std::shared_ptr<release_under_way> const& mine);
  void on_released(std::shared_ptr<release_under_way> const& mine, net::response const& answer) noexcept;
  void release_as(lock_queue& at, lease_state const& what) noexcept;
  void release_together(batches::leases those) noexcept;
  void send_releases(std::shared_ptr<batches::leases> const& those);
  void on_released_together(batches::leases const& those, resp::reply const& reply) noexcept;
  void note_released(giving_back const& what) noexcept;
  void abandon(lock_queue& at, std::uint64_t number, release_policy how) noexcept;
  void later(time_point when, callback<void()> f);

  // mend.cpp: what there was no memory for. All under the lock.
  struct owed {
    enum class kind { release, abandon, last_ttl };
    lock_queue_ptr place;
    std::uint64_t number;
    kind what;
    release_policy how;
    time_point until;         ///< it is of use
    time_point kept_until{};  ///< the end of the last ttl
  };
  void owe(owed const& what) noexcept;
  void on_torn() noexcept;
  void mend_soon() noexcept;
  void mend() noexcept;

  [[nodiscard]] release_policy terms_of(lock_options const& options) const noexcept;
  [[nodiscard]] publishing how_to_publish() const noexcept;

  template <class How>
  [[nodiscard]] std::shared_ptr<ending> begin_ending(lease_state_ptr& what, How how) noexcept;
  [[nodiscard]] release_result wait_for_end(reactor::lock& hold,
                                            std::shared_ptr<ending> const& begun) noexcept;
  template <class How>
  release_result finish_lease(lease_state_ptr& what, How how) noexcept;
  [[nodiscard]] std::vector<net::response> run_scripts(std::span<call const> scripts,
                                                       scripting::send_options patience = {});
  template <class Send>
  [[nodiscard]] std::vector<net::response> wait_for_answers(std::size_t count, Send send);
  void check_usable() const;
  /// Under the lock, before anything is begun: what finishes it is there.
  void prepare();
  void set_waiters_aside() noexcept;
  void lose_all() noexcept;
  [[nodiscard]] bool exiting_elsewhere() const noexcept {
    return exiting_ != std::thread::id{} && exiting_ != std::this_thread::get_id();
  }
  [[nodiscard]] std::unique_ptr<lock_backend> make_servers();
  void drain(reactor::lock& hold, time_point until) noexcept;
  void wait_behind_all(reactor::lock& hold, time_point until);
  void nap(reactor::lock& hold) noexcept;
  /// For the hook, if there is one: `words` makes the message. Left out when there is no memory for it.
  template <class Words>
  void log(log_level level, Words words) noexcept {
    if (!options_.log) return;
    try {
      loop_.defer([hook = options_.log, level, message = std::string{words()}] { hook(level, message); });
    } catch (std::bad_alloc const&) {
      return;
    }
  }
  /// Which may let go of it.
  template <class F>
  void for_each_line(F f) noexcept {
    for (auto next = lines_.begin(); next != lines_.end();) {
      lock_queue_ptr const at{const_cast<lock_queue*>(&*next++)};
      f(*at);
    }
  }

  /// Two kinds of lock of one name are two lines, which exclude each other at the server.
  struct line_key {
    recipe const* how;
    std::string_view name;
    line_key(lock_queue const& one) noexcept : how{&one.protocol()}, name{one.name()} {}
    line_key(recipe const& kind, std::string_view of) noexcept : how{&kind}, name{of} {}
    friend bool operator==(line_key const&, line_key const&) = default;
  };
  struct line_hash {
    using is_transparent = void;
    std::size_t operator()(line_key const& one) const noexcept {
      return std::hash<std::string_view>{}(one.name);
    }
  };
  struct line_equal {
    using is_transparent = void;
    bool operator()(line_key const& a, line_key const& b) const noexcept { return a == b; }
  };

  // Constant after construction.
  std::string const uuid_;
  client_options const options_;
  net::deployment_url const url_;
  std::shared_ptr<error const> const no_memory_;
  std::shared_ptr<error const> const shut_down_;
  net::loose_ends unended_;  ///< under the loop's lock
  net::settings const settings_;
  int const generation_;

  // Under the loop's lock.
  reactor::loop loop_;
  client_stats stats_;
  std::unique_ptr<lock_backend> const servers_;
  std::unordered_set<lock_queue, line_hash, line_equal> lines_;
  std::unordered_map<std::uint64_t, lock_queue*> bids_;  ///< by owner number: who a message is for
  /// Owners whose lock came by message while a request for it was under way, until that is answered; with the
  /// time until which they have kept the key since, max() being what its ttl says.
  std::unordered_map<std::uint64_t, time_point> outrun_;
  std::unordered_map<lock_queue const*, shared_holders>
      shared_holders_;  ///< of lines whose kind allows several leases at a time
  departed departed_;
  renewer renewer_;
  inbox inbox_;
  broadcast broadcast_;     ///< channels that the recipes name
  broadcast lock_inboxes_;  ///< of the locks that are waited for
  presence presence_;
  std::uint64_t last_number_ = 0;
  effective_options_ptr last_terms_;
  struct delayed {
    callback<void()> what{};
    reactor::timer bell{{}};
  };
  std::list<delayed> delayed_;
  struct {
    std::vector<std::uint64_t> numbers{};  ///< of acquisitions, as far as it is true
    time_point not_before{};               ///< the next look
    reactor::timer bell{{}};
  } hints_;  ///< what others are said to want back
  std::minstd_rand random_;
  std::shared_ptr<error const> no_inbox_;      ///< the server refuses it: those who insist on it can't wait
  std::shared_ptr<error const> no_broadcast_;  ///< the same
  process_info known_;                         ///< the last record that was asked for
  std::vector<owed> owed_;                     ///< with room for most_owed from the beginning
  bool look_again_ = false;
  reactor::timer mending_{[this] { mend(); }};
  std::size_t releasing_ = 0;     ///< leases given back of which the server has yet to say that they are
  bool told_unreleased_ = false;  ///< how many that were at the end has been logged: not one by one any more
  bool closing_ = false;
  std::thread::id exiting_;  ///< who has called exit()
  /// WAITs behind acquisitions, over a connection of their own.
  struct {
    std::size_t open = 0;     ///< not answered
    milliseconds longest{0};  ///< that one of them could take so far; 0: there were none
  } acknowledging_;
  std::vector<recipe const*> kinds_;  ///< of all lines that there were
  std::shared_ptr<core> self_;        ///< while there are lines: leases and locks may outlive the client
};

}  // namespace holdfast::engine
