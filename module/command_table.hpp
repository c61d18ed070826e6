/// What there is to say about each command: to the server, to COMMAND DOCS, and to the check of its
/// arguments.
#pragma once

#include "handlers.hpp"

#include <array>
#include <string_view>

namespace holdfast::server {

/// How many keys a command takes, and how many arguments for these.
enum class key_shape {
  one,               ///< without a number before it: CAS, CAD
  name,              ///< the same, of a lock whose counter and queue have their usual names
  lock,              ///< one, with its number before it
  lock_with_side,    ///< the lock, its token counter, its queue
  lock_with_more,    ///< the same, and the set of its readers, or the number of its permits
  many,              ///< locks, each with an owner at the end
  many_with_queues,  ///< the same, each lock followed by its queue
  many_with_readers  ///< the same, the sets of readers behind all locks
};

struct command_row {
  char const* name;
  void (*run)(request&);
  key_shape keys;
  char const* flags;
  bool publishes;
  char const* complexity;
  char const* summary;
  /// Names of its arguments, in order; "mode?" and those behind it may be left out; one for each lock stands
  /// at the end as "owner...", and stands for as many or as few as there may be as "option...".
  std::string_view arguments;
};

inline constexpr std::array commands{
    command_row{"holdfast.take", exclusive::acquire, key_shape::name, "write deny-oom fast", false,
                "O(log N) with N callers that wait", "As HOLDFAST.EXCLUSIVE.ACQUIRE, in fewer words",
                "owner ttl_ms tokens? mode? ticket?"},
    command_row{"holdfast.give", exclusive::release, key_shape::name, "write fast", true,
                "O(log N) with N callers that wait", "As HOLDFAST.EXCLUSIVE.RELEASE, in fewer words",
                "owner starvation_us? grant_ms? publish?"},
    command_row{"holdfast.exclusive.acquire", exclusive::acquire, key_shape::lock_with_side,
                "write deny-oom fast getkeys-api", false, "O(log N) with N callers that wait",
                "Takes a lock with fencing tokens, or joins its queue", "owner ttl_ms tokens mode ticket"},
    command_row{"holdfast.exclusive.release", exclusive::release, key_shape::lock_with_side,
                "write fast getkeys-api", true, "O(log N) with N callers that wait",
                "Gives a lock back and tells, or grants it to, the next that waits",
                "owner starvation_us grant_ms publish"},
    command_row{"holdfast.exclusive.pass", exclusive::pass, key_shape::lock_with_side,
                "write fast getkeys-api", true, "O(log N) with N callers that wait",
                "Gives a lock back while another caller of the same process waits for it",
                "owner grant_ms publish next ttl_ms tokens"},
    command_row{"holdfast.exclusive.abandon", exclusive::abandon, key_shape::lock_with_side,
                "write fast getkeys-api", true, "O(log N) with N callers that wait",
                "Ends a wait, and gives back what was granted meanwhile",
                "owner starvation_us grant_ms publish"},
    command_row{"holdfast.exclusive.renew", exclusive::renew, key_shape::many, "write getkeys-api", false,
                "O(N) with N locks", "Gives locks that still are their owner's a full ttl",
                "ttl_ms owner..."},
    command_row{"holdfast.exclusive.release_unwanted", exclusive::release_unwanted,
                key_shape::many_with_queues, "write getkeys-api", false, "O(N) with N locks",
                "Gives back those of many locks that nobody waits for", "owner..."},
    command_row{"holdfast.fair.acquire", fair::acquire, key_shape::lock_with_side, "write fast getkeys-api",
                true, "O(log N) with N callers that wait",
                "Takes a lock if it is the caller's turn, or joins its queue",
                "owner ttl_ms tokens mode ticket waited_us grant_ms publish"},
    command_row{"holdfast.fair.pass", fair::pass, key_shape::lock_with_side, "write fast getkeys-api", true,
                "O(log N) with N callers that wait",
                "Gives a fair lock back while another caller of the same process waits for it",
                "owner grant_ms publish next ttl_ms tokens waited_us"},
    command_row{"holdfast.take_shared", shared::acquire, key_shape::name, "write deny-oom fast", false,
                "O(log N) with N readers", "As HOLDFAST.SHARED.ACQUIRE, in fewer words",
                "owner ttl_ms mode? ticket? waited_us? overtakes? grant_ms? publish?"},
    command_row{"holdfast.give_shared", shared::release, key_shape::name, "write fast", false,
                "O(log N) with N readers", "As HOLDFAST.SHARED.RELEASE, in fewer words",
                "owner starvation_us? grant_ms? publish?"},
    command_row{"holdfast.shared.acquire", shared::acquire, key_shape::lock_with_more,
                "write deny-oom fast getkeys-api", false, "O(log N) with N readers",
                "Lets a reader in where nobody waits",
                "owner ttl_ms mode ticket waited_us overtakes grant_ms publish"},
    command_row{"holdfast.shared.release", shared::release, key_shape::lock_with_more,
                "write fast getkeys-api", false, "O(log N) with N readers",
                "Lets a reader out where nobody waits", "owner starvation_us grant_ms publish"},
    command_row{"holdfast.shared.renew", shared::renew, key_shape::many_with_readers, "write getkeys-api",
                false, "O(N) with N locks", "Gives readers that still are in a full ttl", "ttl_ms owner..."},
    command_row{"holdfast.take_permits", permits::acquire, key_shape::name, "write deny-oom fast", false,
                "O(log N) with N owners", "As HOLDFAST.PERMITS.ACQUIRE, in fewer words",
                "owner amount ttl_ms offered mode? ticket? waited_us? grant_ms? publish?"},
    command_row{"holdfast.give_permits", permits::release, key_shape::name, "write fast", false,
                "O(log N) with N owners", "As HOLDFAST.PERMITS.RELEASE, in fewer words",
                "owner grant_ms? publish?"},
    command_row{"holdfast.permits.acquire", permits::acquire, key_shape::lock_with_more,
                "write deny-oom fast getkeys-api", false, "O(log N) with N owners",
                "Takes permits where so many are left and nobody waits",
                "owner amount ttl_ms offered mode ticket waited_us grant_ms publish"},
    command_row{"holdfast.permits.release", permits::release, key_shape::lock_with_more,
                "write fast getkeys-api", false, "O(log N) with N owners",
                "Gives permits back where nobody waits", "owner grant_ms publish"},
    command_row{"holdfast.permits.renew", permits::renew, key_shape::many, "write getkeys-api", false,
                "O(N) with N owners", "Gives owners that still have permits a full ttl", "ttl_ms owner..."},
    command_row{"holdfast.redisson_lock.acquire", redisson_lock::acquire, key_shape::lock,
                "write fast getkeys-api", false, "O(1)", "Takes an RLock of Redisson",
                "owner ttl_ms handoffs"},
    command_row{"holdfast.redisson_lock.release", redisson_lock::release, key_shape::lock,
                "write fast getkeys-api", true, "O(1)", "Gives an RLock of Redisson back and tells who waits",
                "owner publish channel"},
    command_row{"holdfast.redisson_lock.pass", redisson_lock::pass, key_shape::lock, "write fast getkeys-api",
                true, "O(1)",
                "Gives an RLock of Redisson back while another caller of the same process waits for it",
                "owner publish channel own_ears next ttl_ms handoffs"},
    command_row{"holdfast.redisson_lock.abandon", redisson_lock::abandon, key_shape::lock,
                "write fast getkeys-api", true, "O(1)",
                "Ends a wait for an RLock of Redisson, and gives back what was granted meanwhile",
                "owner publish channel"},
    command_row{"holdfast.redisson_lock.renew", redisson_lock::renew, key_shape::many, "write getkeys-api",
                false, "O(N) with N locks", "Gives RLocks of Redisson that still are their owner's a ttl",
                "ttl_ms mode owner..."}};

inline constexpr std::array compare_commands{
    command_row{"cas", compare::and_set, key_shape::one, "write fast", false, "O(1)",
                "Sets a key if it has the expected value; EX, PX, EXAT, PXAT or KEEPTTL as SET has them",
                "expected value option..."},
    command_row{"cad", compare::and_delete, key_shape::one, "write fast", false, "O(1)",
                "Deletes a key if it has the expected value", "expected"}};

}  // namespace holdfast::server
