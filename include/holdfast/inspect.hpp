/// Looking at locks from outside, and mending them: who holds what, who waits, and a release by force.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/who.hpp>

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
  exclusive,  ///< held by a Holdfast client
  foreign,    ///< a string that another library may use as a lock (redsync, redis-py …), or may not
  other,      ///< no lock: a key of another type
};
[[nodiscard]] std::string_view to_string(lock_kind) noexcept;

/// One that waits in a lock's queue: a process, since of each only the first caller is queued.
struct waiter_info {
  process_info who{};
  std::chrono::microseconds waited{};  ///< by the server's clock
};

/// A lock as the server had it at one moment.
struct lock_state {
  std::string name{};
  lock_kind kind = lock_kind::free;
  std::string type{};  ///< what Redis calls the type of the key; "none" without a key
  /// holder.owner is empty when it is free; of a foreign key, the first 1024 bytes.
  process_info holder{};
  /// How long it has been held; nullopt: unknown (foreign, or free).
  std::optional<std::chrono::microseconds> held_for{};
  std::optional<std::chrono::milliseconds> ttl_left{};  ///< nullopt: no ttl, or no key
  std::int64_t token = 0;                               ///< the newest fencing token given; 0: none yet
  std::int64_t waiting = 0;                             ///< entries in the queue
  std::vector<waiter_info> queue{};  ///< first come, first served; filled by inspect() only
};

/// All about one name, with its queue (the first 1000 entries). One round trip, and one for each 8 processes
/// that are to be named. Throws std::errc::invalid_argument for an empty name, errc::unreachable and the
/// like.
[[nodiscard]] lock_state inspect(client& redis, std::string_view name);

/// The same without the queue, for those who look again and again: one request, and a second one about the
/// holder.
[[nodiscard]] lock_state peek(client& redis, std::string_view name);

/// Finds the locks whose names match `pattern` (Redis's glob: `*`, `?`, `[a-z]`, `\` before a character that
/// is meant itself) and calls f with each that is held or waited for, as they are found; f returns false to
/// stop. Without their queues.
///
/// Looks for the token counters that every lock of Holdfast has, by SCAN in steps of under a millisecond of
/// the server's time, never KEYS: other commands run in between. Memory doesn't grow with the number of keys.
/// A lock may be reported twice if the server rehashes meanwhile, and one taken or released meanwhile may or
/// may not be. f runs in the calling thread. A pattern without wildcards is looked up without a search. Needs
/// the right +scan. Throws as inspect().
void for_each_lock(client& redis, std::string_view pattern, std::function<bool(lock_state const&)> const& f);

/// How a release by force ended.
enum class force_result : std::uint8_t {
  not_held,            ///< there was nothing to release, or it ended before its holder could be asked
  released_by_holder,  ///< the holder was asked, stopped, and gave it back; others may hold it since
  deleted,             ///< the holder did not answer in time: the key was deleted under it
  changed,             ///< somebody else holds it now, who was not asked: nothing was done to them
  refused_foreign,     ///< the key is not Holdfast's, and force_options::foreign was not given
  refused_other,       ///< the key is no lock at all (another type): never deleted
};
[[nodiscard]] std::string_view to_string(force_result) noexcept;

struct force_options {
  /// How long the holder has to stop and to give the lock back before it is deleted under it.
  std::chrono::milliseconds grace{2'000};
  /// Also delete a string key that no Holdfast wrote: it can't be asked, so it is deleted at once.
  bool foreign = false;
  /// Only if this still is lock_state::holder.owner, as when a person was asked about it; empty: whoever it
  /// is.
  std::string_view owner{};
};

/// Takes the lock from whoever holds it. The holder's lease is lost at once (loss_cause::forced), with
/// its inbox as the messenger; it has until `grace` to stop and to release. Then the next waiter's turn
/// comes as after any release. Blocks for at most `grace` and a few round trips. Throws errc::unreachable
/// and the like.
force_result force_release(client& redis, std::string_view name, force_options options = {});

}  // namespace holdfast
