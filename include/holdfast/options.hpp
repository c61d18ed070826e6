/// The options of clients and locks: plain structs for designated initializers.
///
///     holdfast::mutex m{redis, "orders:42", {.ttl = 10s}};
///
/// Every time is a std::chrono duration. Values out of range are refused by the constructor that takes them,
/// with std::errc::invalid_argument, before anything is sent: negative times, and those of more than a year
/// (of max_hold, a century) too.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace holdfast {

using std::chrono::milliseconds;

/// How a waiter learns that the lock came free.
enum class wake {
  automatic,  ///< inbox; poll when the server refuses the inbox channel (with one warning)
  inbox,      ///< a pub/sub channel of the client's own; an error when it is refused
  poll,       ///< ask again and again, with full-jitter back-off: for proxies without pub/sub
};

/// How a lock looks in Redis. All that are to exclude each other must use the same.
enum class wire {
  automatic,  ///< as client_options::wire says, then the URL (`?wire=redisson`); plain when neither does
  plain,      ///< a string, as redsync, redis-py, node-redlock and redis-plus-plus have it; with tokens
  redisson,   ///< the keys, channels and messages of Redisson (Java): see docs/redisson.md
};

/// What the destructor of a lease that is still held does.
enum class release {
  wait,   ///< gives the lock back, and waits for the server's answer: see lease::release()
  async,  ///< sends the release, and returns at once: see lease::async_release()
};

/// Options of one lock. The defaults suit most programs; each line says when to leave it alone.
struct lock_options {
  /// How long the server keeps the lock after the last renewal: how long others wait when this process dies.
  /// 10 ms to a year. Shorter recovers sooner from a crash; longer survives longer outages of the server.
  milliseconds ttl{30'000};

  /// Renew the lease in the background for as long as it is held. Without it the lease ends `ttl` after it
  /// was taken, whatever happens.
  bool watchdog = true;

  /// Time between renewals; 0 means ttl / 3. Leave it: a third gives two more tries before the lease ends. Of
  /// a shared_mutex 0 also means no more than 10 s, since Java's readers cut a longer ttl short.
  milliseconds renew_every{0};

  /// How many renewals at the most; 0 is no limit. The lease is then lost (cause limit_reached) at its
  /// deadline.
  int max_renewals = 0;

  /// How long one lease may be held; 0 is no limit. When it is reached the lease is lost (cause
  /// limit_reached). lease::on_limit_near tells ahead of it.
  milliseconds max_hold{0};

  /// Leave the key to its ttl when the lease is finished, instead of deleting it: nobody else gets the lock
  /// before. With `ttl` = 1 h and no watchdog: "at most once per hour". See lease::keep_until_expiry. What a
  /// multi_mutex takes, and gives back because it doesn't get the rest, isn't kept.
  bool keep = false;

  /// How a lease that is destroyed, or assigned another one, gives the lock back. With `wait` a server that
  /// doesn't answer blocks the thread for reply_timeout + connect_timeout (client_options), 4 s at the
  /// defaults: too long for the thread of an event loop, which chooses `async`. Leave it where the next
  /// statement may rely on the lock being free. unlock() waits in any case.
  holdfast::release on_destroy = holdfast::release::wait;

  /// Believe an acquisition only when it is on the disk of the server, and of as many replicas as `replicas`
  /// says: WAITAOF, of Redis 7.2 or later with appendonly, where `replicas` alone means WAIT. Not so within a
  /// quarter of the ttl, at most 1.5 s: given back, errc::unreplicated. Costs what `appendfsync` makes of it:
  /// a moment with `always`, up to a second with `everysec`.
  bool fsynced = false;

  /// How many replicas must have acknowledged an acquisition before it is believed; 0 asks none. Too few
  /// within a quarter of the ttl, at most a second: the lock is given back, and the caller gets
  /// errc::unreplicated; also if its own time is up meanwhile: whoever was given the lock, or has asked for
  /// it once more, waits for the outcome, up to twice as long as that. Who has found it busy leaves in time.
  /// One more request (WAIT), on a connection of its own.
  int replicas = 0;

  /// How the lock looks in Redis. On Redisson's wire the name must keep its side keys and channels in one
  /// hash slot: braces in pairs, and not empty.
  holdfast::wire wire = holdfast::wire::automatic;

  /// On Redisson's wire: counts fencing tokens, as its RFencedLock does; without it token() is 0 there, as
  /// its RLock has none. mutex and recursive_mutex only. On the plain wire all locks have tokens.
  bool fenced = false;

  /// How waiters of this lock are woken; `automatic`: as client_options::wake says.
  holdfast::wake wake = holdfast::wake::automatic;

  /// With wake::poll: the pause before each try is random, from nothing to a bound that doubles from
  /// poll_floor to poll_cap. At least 1 ms, and floor at most cap. Lower costs requests; higher costs time
  /// between a release and the next holder.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};

  /// Newcomers may overtake waiters, which is fast, until the first one has waited this long; then the
  /// release hands the lock to it. Measured by the server's clock.
  milliseconds starvation_limit{100};

  /// How many times in a row the lock may pass between callers of one process without asking the server, and
  /// for how long, while others may be waiting elsewhere. 0 turns handoff off.
  int handoff_limit = 64;
  milliseconds handoff_time{10};

  friend bool operator==(lock_options const&, lock_options const&) = default;
};

enum class log_level { debug, info, warning, error };

/// Called with each event worth a log line. May be called from any thread that is inside a call of the
/// client, or from the client's own thread; never with a lock of the client held. Must not throw or block for
/// long.
using log_hook = std::function<void(log_level, std::string_view message)>;

/// Options of a client.
struct client_options {
  /// What CLIENT SETNAME announces (shown by CLIENT LIST); empty: "holdfast". No spaces.
  std::string name{};

  /// What this process is at, for those whom it blocks: "nightly import". Shown by exclusive_lock::last_busy
  /// and by `holdfast ls`. At most 200 bytes.
  std::string label{};

  /// How long connecting may take, with name resolution, TLS and AUTH; also how long a request waits for a
  /// connection before it fails with errc::unreachable.
  milliseconds connect_timeout{2'000};

  /// A server that leaves a request unanswered this long is treated as gone: the connection is replaced, and
  /// the request sent again. Leave it well above the slowest command on the server.
  milliseconds reply_timeout{2'000};

  /// The longest a waiter sleeps before it asks the server again, whatever messages come: 10 ms to 30 s.
  /// Bounds the harm of a lost message. Lower costs requests: one per second per waiting process at the
  /// default.
  milliseconds recheck{1'000};

  /// How waiters are woken.
  holdfast::wake wake = holdfast::wake::automatic;

  /// How locks look in Redis, unless they say otherwise.
  holdfast::wire wire = holdfast::wire::automatic;

  /// The largest reply accepted. Ours are small; a larger one means that something else answers.
  std::size_t max_reply_bytes = 16u << 20;

  /// Where log lines go; none: nowhere.
  log_hook log{};
};

}  // namespace holdfast
