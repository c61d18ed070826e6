/// Looking at locks from outside, and mending them: who holds what, who waits, and a release by force.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
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
  exclusive,  ///< held by a Holdfast client, on the plain wire
  foreign,    ///< a string that another library may use as a lock (redsync, redis-py …), or may not
  other,      ///< no lock: a key of another type
  // Redisson's, whether Holdfast or Java made it:
  reentrant,   ///< a mutex of any kind: RLock, RFairLock, RSpinLock, RFencedLock
  read_write,  ///< a shared_mutex: RReadWriteLock
  permits,     ///< an expiring_semaphore: RPermitExpirableSemaphore
  /// A number without a ttl: what is left of a semaphore (RSemaphore), or a latch's count (RCountDownLatch),
  /// or any other number; lock_state::counts tells them apart while somebody waits. One with a ttl counts as
  /// foreign.
  counter,
};
[[nodiscard]] std::string_view to_string(lock_kind) noexcept;

/// As what a name is held.
enum class hold_side : std::uint8_t { exclusive, write, read, permit };
[[nodiscard]] std::string_view to_string(hold_side) noexcept;

/// One of those that hold a name.
struct hold_info {
  process_info process{};  ///< a permit's has its id as owner, 32 hexadecimal digits, and nothing else
  hold_side side = hold_side::exclusive;
  /// How many times. Holdfast's are always 1; Java's count how often a thread has locked, and one that is
  /// higher than that is what a request sent twice leaves behind: the lock isn't free after the last unlock.
  std::int64_t count = 1;
  std::optional<std::chrono::milliseconds> ttl_left{};  ///< nullopt: no ttl
};

/// One that waits in a lock's queue: a process, since of each only the first caller is queued; in Java a
/// thread.
struct waiter_info {
  process_info process{};
  std::optional<std::chrono::microseconds> waited{};  ///< by the server's clock; nullopt: unknown
  /// In a fair queue of Redisson's: after so long it counts as dead, if it is the first. Nullopt: elsewhere.
  std::optional<std::chrono::milliseconds> credit_left{};
};

/// What a counter counts, by the channel on which somebody waits.
enum class counter_use : std::uint8_t { unknown, permits, latch };
[[nodiscard]] std::string_view to_string(counter_use) noexcept;

/// The last run of a command under a lock, as `holdfast run --once-per`, `--at-most-every` and `--keep` note
/// it beside the lock. Times are by the server's clock.
struct run_info {
  using time_point = std::chrono::sys_time<std::chrono::microseconds>;

  process_info process{};  ///< who ran it, without `program`; `owner` is the owner id of its lease
  std::int64_t token = 0;  ///< the fencing token of its lease; 0: it has none (Redisson's wire)
  time_point began{};
  /// How long it took; nullopt: it hasn't ended, or nobody was left to note its end.
  std::optional<std::chrono::milliseconds> took{};
  std::optional<int> exit_code{};  ///< as in shells; nullopt: unknown, like `took`
  /// The job counts as done until then, and isn't run; nullopt: this run doesn't count.
  std::optional<time_point> counts_until{};

  [[nodiscard]] bool finished() const noexcept { return took.has_value(); }
};

/// A lock as the server had it at one moment.
struct lock_state {
  std::string name{};
  lock_kind kind = lock_kind::free;
  std::string type{};  ///< what Redis calls the type of the key; "none" without a key
  /// The first of those that hold it. holder.owner is empty when it is free, and of a counter; of a foreign
  /// key it is the first 1024 bytes.
  process_info holder{};
  /// How long it has been held; nullopt: unknown (foreign, or free).
  std::optional<std::chrono::microseconds> held_for{};
  std::optional<std::chrono::milliseconds> ttl_left{};  ///< nullopt: no ttl, or no key
  std::int64_t token = 0;                               ///< the newest fencing token given; 0: none yet
  /// Entries in the queue of its wire. On Redisson's only fair locks have one; of the others, the processes
  /// that listen on the channel for its release.
  std::int64_t waiting = 0;
  std::vector<waiter_info> queue{};  ///< first come, first served; filled by inspect() only

  /// plain for a name that is free, foreign or no lock, unless it is looked at as Redisson's wire has it.
  holdfast::wire wire = holdfast::wire::plain;
  /// All that hold it, `holder` being the first: a writer before readers, permits by when they end. The first
  /// 1000 of inspect(); the first 100 of peek() and for_each_lock(), 8 of them named. Empty for what is
  /// foreign or no lock.
  std::vector<hold_info> holders{};
  std::int64_t holding = 0;  ///< how many hold it
  bool fair = false;         ///< a fair lock of Redisson's; shows only while somebody waits
  /// Of permits and counters: how many are left; negative: so many are missing.
  std::optional<std::int64_t> available{};
  std::optional<std::int64_t> permits{};  ///< of permits: how many there are altogether
  counter_use counts = counter_use::unknown;
  /// What is wrong with it, for a key that has the form of something of Redisson's but not its contents;
  /// empty: nothing.
  std::string misfit{};

  // Of inspect() and peek() only.
  run_info::time_point seen{};         ///< the server's clock at that moment
  std::optional<run_info> last_run{};  ///< nullopt: none is known
};

/// Until when a run that is over keeps others out, though nobody is at work: it has left the lock to its ttl,
/// or the lock is free and the run still counts. Nullopt: none does.
[[nodiscard]] std::optional<run_info::time_point> kept_until(lock_state const& state) noexcept;

/// Is it anything but free, with nobody who waits?
[[nodiscard]] bool in_use(lock_state const& state) noexcept;

/// A name as each wire has it. It is one key, so that it can be held on one of them only; but on the other
/// there may be those who wait, for ever perhaps: nobody tells them when it is free, and the numbers of a
/// semaphore or a latch stand there without a holder. Or they fail, with errc::wrong_type.
struct lock_on_wires {
  /// Free, or what is neither Redisson's nor Holdfast's. While something of Redisson's stands under the name
  /// it is free, too, and `type` is that of the key.
  lock_state plain{};
  /// Free, with the key's `type`, while the key isn't Redisson's.
  lock_state redisson{.wire = holdfast::wire::redisson};
  /// What the server refused to show of who waits on Redisson's wire, in its words; empty: nothing.
  std::string unseen{};

  [[nodiscard]] bool on_both() const noexcept { return in_use(plain) && in_use(redisson); }
  /// `automatic`: the one that holds the key; of a free one that which is waited for, the plain one first.
  [[nodiscard]] lock_state const& on(holdfast::wire of) const noexcept;
};

/// All about one name, on whichever wire holds it, with its queue (the first 1000 entries). One round trip,
/// and one for each 8 processes that are to be named. Throws std::errc::invalid_argument for an empty name,
/// errc::unreachable and the like.
[[nodiscard]] lock_state inspect(client& redis, std::string_view name);

/// The same without the queue, for those who look again and again: one request, and a second one about the
/// holder.
[[nodiscard]] lock_state peek(client& redis, std::string_view name);

/// The same two for both wires, in as many round trips.
[[nodiscard]] lock_on_wires inspect_on_wires(client& redis, std::string_view name);
[[nodiscard]] lock_on_wires peek_on_wires(client& redis, std::string_view name);

/// Finds the locks whose names match `pattern` (Redis's glob: `*`, `?`, `[a-z]`, `\` before a character that
/// is meant itself) and calls f with each that is held or waited for, as they are found; f returns false to
/// stop. Without their queues.
///
/// Looks for the token counters that every lock of Holdfast has, and for the queues of those that never were
/// held, by SCAN in steps of under a millisecond of the server's time, never KEYS: other commands run in
/// between. Memory doesn't grow with the number of keys. A lock may be reported twice if the server rehashes
/// meanwhile, and one taken or released meanwhile may or may not be. f runs in the calling thread. A pattern
/// without wildcards is looked up without a search. Needs the right +scan. Throws as inspect().
///
/// `of`: locks of this wire only; `automatic`: of the client's. Those of Redisson have no counters to be
/// found by: all hashes and the sorted sets of permits are looked at (SCAN with TYPE, of Redis 6), and the
/// channels on which somebody waits. So a counter (lock_kind) for which nobody waits isn't found, nor are
/// permits of which none are out: nothing tells them from any other number. Needs +pubsub, too.
void for_each_lock(client& redis, std::string_view pattern, std::function<bool(lock_state const&)> const& f,
                   wire of = wire::automatic);

/// The same on both wires, with a name that is held or waited for on both once for each. Goes through all
/// keys twice, once for the keys beside locks, once for hashes: with a million keys, of which a third are
/// hashes, that takes the server 2 s of its time in steps of under a millisecond.
///
/// Of Redisson's wire what the server refuses is left out (no right to it, or a Redis before 6): the first
/// such refusal is returned. Nullopt: all was looked at.
std::optional<error> for_each_lock_on_wires(client& redis, std::string_view pattern,
                                            std::function<bool(lock_state const&)> const& f);

/// How a release by force ended.
enum class force_result : std::uint8_t {
  not_held,            ///< there was nothing to release, or it ended before its holder could be asked
  released_by_holder,  ///< the holder was asked, stopped, and gave it back; others may hold it since
  deleted,             ///< the holder did not answer in time: the key was deleted under it
  changed,             ///< somebody else holds it now, who was not asked: nothing was done to them
  refused_foreign,     ///< the key is not Holdfast's, and force_options::foreign was not given
  refused_other,       ///< the key is no lock at all (another type): never deleted
  refused_counter,     ///< a counter has no holders: release or add permits, or count the latch down, instead
  run_was_over,        ///< only a run that is over kept others out (kept_until): it does so no more
};
[[nodiscard]] std::string_view to_string(force_result) noexcept;

struct force_options {
  /// How long the holder has to stop and to give the lock back before it is deleted under it; at most a year.
  std::chrono::milliseconds grace{2'000};
  /// Also delete a string key that no Holdfast wrote: it can't be asked, so it is deleted at once.
  bool foreign = false;
  /// Only if this is (one of) those that hold it, as when a person was asked about it; empty: whoever it is.
  /// Of a read-write lock and of permits only that one's hold is taken; of several with an empty owner, all.
  std::string_view owner{};
  /// Only what is held on this wire; `automatic`: on whichever holds it.
  wire of = wire::automatic;
};

/// Takes the lock from whoever holds it. The holder's lease is lost at once (loss_cause::forced), as a
/// message tells its client; it has until `grace` to stop and to release. Then the next waiter's turn
/// comes as after any release. Blocks for at most `grace` and a few round trips. Throws errc::unreachable
/// and the like.
///
/// On Redisson's wire the holders that are Holdfast's are asked, those of Java and permits can't be: theirs
/// are taken at once, with the message that wakes who waits. An inflated hold count goes with them.
///
/// Where a run that is over keeps others out (kept_until) nobody is asked: it is forgotten at once, and a
/// lock that it has left to its ttl is deleted. A run whose lock is deleted under it counts no more, either.
force_result force_release(client& redis, std::string_view name, force_options options = {});

}  // namespace holdfast
