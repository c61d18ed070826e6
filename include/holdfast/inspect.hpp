/// Looks at locks from outside, and mends them: who holds a lock, who waits for it, and a release by force.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// What a name is in Redis.
enum class lock_kind : std::uint8_t {
  free,       ///< no key: nobody holds it
  exclusive,  ///< held by a Holdfast client, on the plain wire, also by the writer of a shared_mutex
  foreign,    ///< a string that another library may use as a lock (redsync, redis-py …), or may not
  other,      ///< not a lock: a key of another type
  latch,      ///< a closed latch of the plain wire; the holders are those that have counted it down
  barrier,    ///< a barrier; the holders are those that have arrived for its generation
  // Redisson's, whether Holdfast or Java made it:
  reentrant,   ///< a mutex of any kind: RLock, RFairLock, RSpinLock, RFencedLock
  read_write,  ///< a shared_mutex: RReadWriteLock; on the plain wire (lock_state::wire): held by readers
  permits,     ///< an expiring_semaphore: RPermitExpirableSemaphore; on the plain wire a format of its own
  /// A number without a ttl: what is left of a semaphore (RSemaphore), the count of a latch
  /// (RCountDownLatch), or any other number. While somebody waits, lock_state::counts tells them apart. A
  /// number with a ttl counts as foreign.
  counter,
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(lock_kind) noexcept;

/// In which role somebody holds a name.
enum class hold_side : std::uint8_t {
  exclusive,  ///< alone
  write,      ///< alone, in a read-write lock
  read,       ///< beside others that read
  permit,     ///< one of the permits, or several
  upgrade,    ///< reads with the upgrade lease of a shared_mutex
  arrived,    ///< at a barrier, or it has counted a latch down
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(hold_side) noexcept;

/// One holder of a name.
struct hold_info {
  /// Of a permit of Redisson's only `owner` is set: its id, 32 hexadecimal digits. Of a named participant of
  /// a latch, too: its name.
  process_info process{};
  hold_side side = hold_side::exclusive;
  /// How many times; of permits on the plain wire how many of them. Else always 1 for Holdfast. Java counts
  /// how often a thread has locked; a count higher than that is left behind by a request that was sent twice,
  /// and then the lock isn't free after the last unlock.
  std::int64_t count = 1;
  std::optional<std::chrono::milliseconds> ttl_left{};  ///< nullopt: no ttl; on etcd also: unknown
  std::string lease{};     ///< on etcd: the lease of its key, in hexadecimal digits; empty elsewhere
  std::int64_t token = 0;  ///< on etcd: its fencing token; 0 elsewhere
};

/// One waiter in a lock's queue: a process, because only the first caller of each process is queued. In Java
/// it is a thread.
struct waiter_info {
  process_info process{};  ///< who waits
  /// `read`, `upgrade`, `permit`: it waits for that; `write`: it has the upgrade lease, and waits to write.
  hold_side side = hold_side::exclusive;
  std::int64_t count = 1;                             ///< of permits: how many it waits for
  std::optional<std::chrono::microseconds> waited{};  ///< by the server's clock; nullopt: unknown
  /// It goes ahead of those that came before it, by its lock_options::policy: with `read` it is
  /// `prefer_readers`, with `exclusive` `prefer_writers`. Whether any other waiter has a policy isn't known.
  bool preferred = false;
  /// In a fair queue of Redisson's: the time after which the waiter counts as dead, if it is the first. On
  /// etcd: after which its lease ends, unless it is kept alive. nullopt elsewhere.
  std::optional<std::chrono::milliseconds> credit_left{};
  std::int64_t token = 0;  ///< on etcd: the fencing token that it will have; 0 elsewhere
  std::string lease{};     ///< as hold_info::lease
};

/// What a counter counts. Known from the channel on which somebody waits.
enum class counter_use : std::uint8_t {
  unknown,  ///< nobody waits, so nothing tells
  permits,  ///< the permits of a semaphore
  latch,    ///< what is left of a latch
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(counter_use) noexcept;

/// The last run of a command under a lock, as `holdfast run` with `--once-per`, `--at-most-every` or `--keep`
/// notes it beside the lock. Times are by the server's clock.
struct run_info {
  /// A time of day of the server.
  using time_point = std::chrono::sys_time<std::chrono::microseconds>;

  process_info process{};  ///< who ran it, without `program`; `owner` is the owner id of its lease
  std::int64_t token = 0;  ///< the fencing token of its lease; 0: it has none (Redisson's wire)
  time_point began{};      ///< when it began
  /// How long the run took. nullopt: it hasn't ended, or nobody was left to note its end.
  std::optional<std::chrono::milliseconds> took{};
  std::optional<int> exit_code{};  ///< as in shells; nullopt: unknown, like `took`
  /// Until this time the job counts as done and is not run again. nullopt: this run doesn't count.
  std::optional<time_point> counts_until{};

  /// Whether its end is known.
  [[nodiscard]] bool finished() const noexcept { return took.has_value(); }
};

/// What the leader of an election has published: see election.
struct leadership {
  std::string value{};    ///< what it says of itself
  std::int64_t term = 0;  ///< the fencing token of its lead
};

/// A lock as the server had it at one moment.
struct lock_state {
  std::string name{};                ///< the name that was looked at
  lock_kind kind = lock_kind::free;  ///< what its key is
  std::string type{};                ///< what Redis calls the type of the key; "none" without a key
  /// The first holder. holder.owner is empty for a free lock and for a counter. For a foreign key it is the
  /// first 1024 bytes of the value.
  process_info holder{};
  /// How long it has been held. nullopt: unknown (foreign), or free.
  std::optional<std::chrono::microseconds> held_for{};
  std::optional<std::chrono::milliseconds> ttl_left{};  ///< nullopt: no ttl, or no key
  std::int64_t token = 0;                               ///< the newest fencing token given; 0: none yet
  /// Entries in the queue of its wire. On Redisson's wire only fair locks have a queue; for the others, the
  /// number of processes that listen on the channel for the release.
  std::int64_t waiting = 0;
  std::vector<waiter_info> queue{};        ///< first come, first served; filled by inspect() only
  std::optional<leadership> leads{};       ///< the holder is a leader; lists have 1024 bytes of its value
  std::int64_t waiting_for_condition = 0;  ///< how many wait on its condition; set by inspect() only

  /// The wire. `plain` for a name that is free, foreign or not a lock, unless it is looked at as on
  /// Redisson's wire.
  holdfast::wire wire = holdfast::wire::plain;
  /// All holders; `holder` is the first one. A writer comes before readers, and permits are in the order in
  /// which they end. inspect() gives the first 1000. peek() and for_each_lock() give the first 100, 8 of them
  /// named. Empty for a key that is foreign or not a lock.
  std::vector<hold_info> holders{};
  std::int64_t holding = 0;  ///< how many hold it
  bool fair = false;         ///< a fair lock of Redisson's; shows only while somebody waits
  /// It was seen on etcd (docs/etcd.md). `kind` is then `free`, `exclusive`, `foreign` (the holder is a
  /// program with another library, such as etcdctl; its `owner` is its lease, and `holders` has it), or
  /// `other`: keys that are no places of a lock are in the way. `type` is "key", or "none". `token` is the
  /// holder's: a free lock has none. For how long it has been held, and waited for, isn't known.
  bool on_etcd = false;
  /// For permits and counters: how many are left. Negative: so many are missing. Of a latch how often it is
  /// still to be counted down, of a barrier how many haven't arrived.
  std::optional<std::int64_t> available{};
  /// How many there are altogether: permits, counts of a latch, parties of a barrier.
  std::optional<std::int64_t> permits{};
  /// Of a barrier the number of the generation that waits; those after it have greater ones.
  std::optional<std::int64_t> generation{};
  counter_use counts = counter_use::unknown;
  /// What is wrong with a key that has the form of an object of Redisson's, but not its contents. Empty:
  /// nothing.
  std::string misfit{};

  // Set by inspect() and peek() only.
  run_info::time_point seen{};         ///< the server's clock at that moment
  std::optional<run_info> last_run{};  ///< nullopt: none is known
};

/// Until when a run that is over keeps others out, although nobody is at work: the run has left the lock to
/// its ttl, or the lock is free and the run still counts. nullopt: no run does.
HOLDFAST_EXPORT [[nodiscard]] std::optional<run_info::time_point> kept_until(
    lock_state const& state) noexcept;

/// Whether the lock is held, or somebody waits for it, or the key is something else.
HOLDFAST_EXPORT [[nodiscard]] bool in_use(lock_state const& state) noexcept;

/// A name as each wire has it. It is one key, so it can be held on one wire only. On the other wire there may
/// be waiters. These may wait for ever, because nobody tells them when the lock is free, or they fail with
/// errc::wrong_type. The number of a semaphore or a latch is there without a holder, too.
struct lock_on_wires {
  /// Free, or a key that is neither Redisson's nor Holdfast's. Also free while the key is an object of
  /// Redisson's; `type` is then the type of the key.
  lock_state plain{};
  /// Free, with the key's `type`, while the key isn't Redisson's.
  lock_state redisson{.wire = holdfast::wire::redisson};
  /// The words with which the server refused to show waiters on Redisson's wire. Empty: it refused nothing.
  std::string unseen{};

  /// Whether the name is in use on both wires, which is a mistake.
  [[nodiscard]] bool on_both() const noexcept { return in_use(plain) && in_use(redisson); }
  /// `automatic`: the wire that holds the key. If the key is free: the wire on which somebody waits, the
  /// plain one first.
  [[nodiscard]] lock_state const& on(holdfast::wire of) const noexcept;
};

/// Everything about one name, on the wire that holds it, with its queue (the first 1000 entries). One round
/// trip, and one more for each 8 processes that are to be named. Throws std::errc::invalid_argument for an
/// empty name; errc::unreachable and the like.
HOLDFAST_EXPORT [[nodiscard]] lock_state inspect(client& redis, std::string_view name);

/// The same without the queue, for programs that look again and again: one request, and a second one about
/// the holder.
HOLDFAST_EXPORT [[nodiscard]] lock_state peek(client& redis, std::string_view name);

/// The same for both wires, in as many round trips.
HOLDFAST_EXPORT [[nodiscard]] lock_on_wires inspect_on_wires(client& redis, std::string_view name);
HOLDFAST_EXPORT [[nodiscard]] lock_on_wires peek_on_wires(client& redis, std::string_view name);

/// Finds the locks whose names match `pattern`, and calls f with each one that is held or waited for, as soon
/// as it is found. f returns false to stop. The locks come without their queues. `pattern` is Redis's glob:
/// `*`, `?`, `[a-z]`, and `\` before a character that stands for itself.
///
/// The search looks for token counters, which every lock of Holdfast has while it is held and for a day after
/// its last use, for queues of locks that were never held, and for sorted sets of permits, which may be out
/// for longer (SCAN with TYPE; before Redis 6 a script looks at all keys). It uses SCAN in steps of under a
/// millisecond of the server's time, never KEYS, so other commands run in between. Memory doesn't grow with
/// the number of keys. If the server rehashes meanwhile, a lock may be reported twice. A lock that is taken
/// or released meanwhile may be reported or not. f runs in the calling thread. A pattern without wildcards is
/// looked up without a search. The search needs the right +scan. Throws as inspect().
///
/// `of`: the wire whose locks are meant; `automatic`: the client's wire. Redisson's locks have no token
/// counters. So the search looks at all hashes and at the sorted sets of permits (SCAN with TYPE, Redis 6 or
/// later), and at the channels on which somebody waits. It doesn't find a counter (lock_kind) for which
/// nobody waits, nor permits of which none are out: nothing tells them from any other number. It needs the
/// right +pubsub, too.
///
/// On etcd it goes through all keys that begin with the prefix of the URL and the literal start of the
/// pattern, a thousand at a time. A lock is what has a key `NAME/<its lease>`, whoever made it; NAME may have
/// slashes there. A wire that isn't plain is refused.
HOLDFAST_EXPORT void for_each_lock(client& redis, std::string_view pattern,
                                   std::function<bool(lock_state const&)> const& f,
                                   wire of = wire::automatic);

/// The same on both wires. A name that is held or waited for on both is reported once for each. The search
/// goes through all keys twice: once for the keys beside locks, once for hashes. With a million keys, of
/// which a third are hashes, that takes 2 s of the server's time, in steps of under a millisecond.
///
/// If the server refuses to show something of Redisson's wire (a missing right, or a Redis before 6), that
/// part is left out, and the first such refusal is returned. nullopt: everything was looked at.
HOLDFAST_EXPORT std::optional<error> for_each_lock_on_wires(client& redis, std::string_view pattern,
                                                            std::function<bool(lock_state const&)> const& f);

/// How a release by force ended.
enum class force_result : std::uint8_t {
  not_held,            ///< there was nothing to release, or it ended before its holder could be asked
  released_by_holder,  ///< the holder was asked, stopped, and gave it back; others may hold it since
  deleted,             ///< the holder did not answer in time: the key was deleted under it
  changed,             ///< somebody else holds it now: that holder was not asked, and nothing was done to it
  refused_foreign,     ///< the key is not Holdfast's, and force_options::foreign was not given
  refused_other,       ///< the key is not a lock (another type): never deleted
  /// A counter, or a latch, has no holders: release or add permits, or count the latch down, or open it.
  refused_counter,
  run_was_over,  ///< only a run that is over kept others out (kept_until); that run is forgotten now
  /// Its ttl ended before the holder was seen to give it back: the holder may still be at work, and others
  /// may hold it since.
  expired,
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(force_result) noexcept;

/// Options of a release by force.
struct force_options {
  /// How long the holder may take to stop and to give the lock back, before the key is deleted under it; at
  /// most a year.
  std::chrono::milliseconds grace{2'000};
  /// Also delete a string key that Holdfast didn't write. Nobody can be asked then, so it is deleted at once.
  bool foreign = false;
  /// Release only the hold of this owner, for a tool that asked a person about it. Empty: release it whoever
  /// holds it. On a read-write lock and on permits only this owner's hold is taken; if it is empty, all holds
  /// are.
  std::string_view owner{};
  /// Only what is held on this wire; `automatic`: on the wire that holds it.
  wire of = wire::automatic;
};

/// Takes the lock from its holder. The holder's client is told by a message, and its lease is lost at once
/// (loss_cause::forced). The holder has `grace` to stop and to release. Then the next waiter has its turn, as
/// after any release. Blocks for at most `grace` and a few round trips. Throws errc::unreachable and the
/// like.
///
/// On Redisson's wire only holders that are Holdfast clients can be asked. Holds of Java, and permits, are
/// taken at once, with the message that wakes waiters. A hold count that is too high goes with them.
///
/// On etcd the holder hears of it half a second after it has got the lock. A holder with another library
/// can't be asked: it counts as foreign.
///
/// A barrier is broken at once for all that have arrived (errc::broken), if `owner` is one of them or empty.
///
/// If a run that is over keeps others out (kept_until), nobody is asked. The run is forgotten at once, and a
/// lock that it has left to its ttl is deleted. If a lock is deleted under a run, that run doesn't count any
/// more, either.
HOLDFAST_EXPORT force_result force_release(client& redis, std::string_view name, force_options options = {});

/// How the request to hand an election over ended.
enum class hand_over_result : std::uint8_t {
  handed_over,  ///< the candidate leads, or led already
  no_leader,    ///< nobody leads, or the leader hasn't published its value yet: nothing was done
  not_waiting,  ///< the candidate doesn't wait, or its process is gone: nothing was done, the leader leads on
  unanswered,   ///< the leader was asked, and leads still: when it resigns, that candidate leads next
  passed_by,    ///< the leader has resigned, and the candidate doesn't lead: it has left, or died, meanwhile
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(hand_over_result) noexcept;

/// From any process: asks the leader of an election to resign in favour of a candidate, whose id
/// election::candidates() and inspect() show. For a leader that wants that itself: election::resign_to().
///
/// The candidate is named first, in the server, and is first in the queue from the moment when the leader
/// resigns. Then the leader is asked as by force_release(): its lease is lost at once (loss_cause::forced),
/// and it should stop its work and release the lease. It is waited for for up to `grace`, and its lock is not
/// taken from it: that is what force_release() does, which then lets the named candidate lead, too.
///
/// Blocks for at most `grace` and a few round trips. Whoever may use the lock may ask. Throws
/// std::errc::invalid_argument for a candidate that is no owner id; errc::wrong_type if the key is no lock;
/// errc::unreachable and the like.
HOLDFAST_EXPORT hand_over_result ask_to_hand_over(client& redis, std::string_view name,
                                                  std::string_view candidate,
                                                  std::chrono::milliseconds grace = std::chrono::seconds{10});

}  // namespace holdfast
