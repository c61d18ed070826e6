/// The options of clients and locks: plain structs for designated initializers.
///
///     holdfast::mutex m{redis, "orders:42", {.ttl = 10s}};
///
/// Every time is a std::chrono duration. The constructor that takes options refuses values out of range with
/// std::errc::invalid_argument, before anything is sent. Negative times are out of range, and so are times of
/// more than a year (max_hold: a century).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

class observer;

using std::chrono::milliseconds;

/// How a waiter learns that the lock came free.
enum class wake {
  automatic,  ///< inbox; poll when the server refuses the inbox channel (with one warning)
  inbox,      ///< a pub/sub channel of the client's own; an error when it is refused
  poll,       ///< ask again and again, with full-jitter back-off; for proxies without pub/sub
};

/// How a lock looks in Redis. All clients that are to exclude each other must use the same.
enum class wire {
  automatic,  ///< as client_options::wire says, then the URL (`?wire=redisson`); plain when neither does
  plain,      ///< a string, as redsync, redis-py, node-redlock and redis-plus-plus have it; with tokens
  redisson,   ///< the keys, channels and messages of Redisson (Java): see docs/redisson.md
};

/// How a lock is taken, renewed and given back at the server: "only if it is mine" is a script, unless the
/// server has something cheaper. What there is, is found out with each connection.
enum class cas {
  automatic,  ///< the cheapest that the server has: module, native, lua; where one fails, the next, at once
  native,  ///< commands of the server: DELEX and SET IFEQ (Redis 8.4 on), DELIFEQ (Valkey 9 on), CAD and CAS
  module,  ///< commands of the module holdfast: see docs/module.md
  lua,     ///< scripts alone, whose refusal is an error
};

/// Whether scripts are called.
enum class script_calls {
  automatic,  ///< as client_options::scripts says, then the URL (`?scripts=no`); where neither does, if
              ///< allowed
  never,      ///< see "Without scripts" in docs/guarantees.md for what there is then, and what isn't
};

/// Who goes first when readers and writers wait for a shared_mutex. Each object decides for its own callers,
/// so all of a name should have the same policy.
enum class sharing_policy {
  fair,            ///< first come, first served; readers that are next to one another go in together
  prefer_writers,  ///< a writer goes ahead of all readers that wait; readers may starve
  prefer_readers,  ///< a reader goes in while others read, and ahead of writers; writers may starve
};

/// What the destructor of a lease does if the lease is still held.
enum class release {
  wait,   ///< gives the lock back, and waits for the server's answer: see lease::release()
  async,  ///< sends the release, and returns at once: see lease::async_release()
};

/// Options of one lock. The defaults suit most programs.
struct lock_options {
  /// How long the server keeps the lock after the last renewal, and so how long others wait if this process
  /// dies. 10 ms to a year. A shorter ttl recovers sooner from a crash; a longer one survives longer outages
  /// of the server.
  milliseconds ttl{30'000};

  /// Renew the lease in the background while it is held. Without it the lease ends `ttl` after it was taken,
  /// whatever happens.
  bool watchdog = true;

  /// Time between renewals; 0 means ttl / 3. Leave it alone: a third gives two more tries before the lease
  /// ends. For a shared_mutex 0 also means at most 10 s, because Java's readers cut a longer ttl short.
  milliseconds renew_every{0};

  /// At most so many renewals by the watchdog; 0 is no limit. After the last one the lease is lost at its
  /// deadline (cause limit_reached). lease::renew() counts, too, but isn't refused: max_hold limits that.
  int max_renewals = 0;

  /// How long one lease may be held; 0 is no limit. At the limit the lease is lost (cause limit_reached).
  /// lease::on_limit_near gives a warning before.
  milliseconds max_hold{0};

  /// Leave the key to its ttl at the end of the lease, instead of deleting it. Nobody else gets the lock
  /// before. With `ttl` = 1 h and no watchdog it means "at most once per hour". See lease::keep_until_expiry.
  /// If a multi_mutex takes some names and gives them back because it doesn't get the others, those aren't
  /// kept.
  bool keep = false;

  /// How a lease gives the lock back when it is destroyed, or assigned another lease. With `wait` a server
  /// that doesn't answer blocks the thread for reply_timeout + connect_timeout (client_options), by default 4
  /// s. That is too long for the thread of an event loop: choose `async` there. Leave it alone if the next
  /// statement may rely on the lock being free. unlock() waits in any case.
  holdfast::release on_destroy = holdfast::release::wait;

  /// An acquisition counts only when it is on the disk of the server, and of as many replicas as `replicas`
  /// says. The server must be Redis 7.2 or later with appendonly: this uses WAITAOF, where `replicas` alone
  /// uses WAIT. If it isn't on disk within a quarter of the ttl, at most 1.5 s, the lock is given back, and
  /// the caller gets errc::unreplicated. The time that it costs depends on `appendfsync`: a moment with
  /// `always`, up to a second with `everysec`.
  bool fsynced = false;

  /// An acquisition counts only when so many replicas have acknowledged it; 0 asks none. If too few do within
  /// a quarter of the ttl, at most a second, the lock is given back, and the caller gets errc::unreplicated.
  /// Costs one more request (WAIT), on a connection of its own.
  ///
  /// A caller that was given the lock, or has asked for it once more, waits for this outcome even if its own
  /// time is up meanwhile, up to twice as long as the time above. A caller that has found the lock busy
  /// leaves in time.
  int replicas = 0;

  /// How the lock looks in Redis. On Redisson's wire the name must keep its side keys and channels in one
  /// hash slot: braces come in pairs, and are not empty.
  holdfast::wire wire = holdfast::wire::automatic;

  /// On Redisson's wire: count fencing tokens, as Redisson's RFencedLock does. Without it token() is 0 there,
  /// because an RLock has none. For mutex and recursive_mutex only. On the plain wire all locks have tokens.
  bool fenced = false;

  /// Of a shared_mutex on the plain wire: who goes first. Redisson's wire has no such choice, and a
  /// multi_mutex takes names to read as with `fair`.
  sharing_policy policy = sharing_policy::fair;

  /// How waiters of this lock are woken. `automatic`: as client_options::wake says.
  holdfast::wake wake = holdfast::wake::automatic;

  /// With wake::poll: the pause before each try is random, between 0 and a bound that doubles from poll_floor
  /// to poll_cap. At least 1 ms, and the floor must not exceed the cap. Lower values cost requests; higher
  /// ones cost time between a release and the next holder.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};

  /// A wait for this lock that closes a circle, of threads in any processes that each wait for a lock that
  /// another one holds, fails with errc::deadlock, whose what() spells the circle out. The youngest wait of
  /// the circle fails, four to six seconds after it began; the others go on. All locks of the circle need the
  /// option. It is never a false alarm: the circle was there.
  ///
  /// A lease counts as held by the thread that has acquired it, until it is given back. Don't set the option
  /// for locks whose leases are given back by another thread than waits for them. What is acquired inside a
  /// callback or asynchronously belongs to no thread, and is neither found nor ended.
  ///
  /// Nothing is sent for a wait of less than a second, nor by a thread that holds no lock with this option.
  /// Otherwise the client says once a second, beside each lock that the thread holds, for what it waits, and
  /// looks at the locks of the circle: who may use a lock sees the name for which its holder waits.
  ///
  /// For mutex, fair_mutex, recursive_mutex, shared_mutex and multi_mutex on the plain wire, on one server,
  /// Sentinel or Cluster. A reader that waits behind a writer that waits is not looked at. Refused for other
  /// kinds: permits, say, may come from anybody.
  bool detect_deadlock = false;

  /// Newcomers may overtake waiters, which is fast, until the first waiter has waited this long. Then the
  /// release hands the lock to it. Measured by the server's clock.
  milliseconds starvation_limit{100};

  /// How many times in a row, and for how long, the lock may be handed on between callers of one process
  /// without asking the server, while others may be waiting elsewhere. 0 turns handoff off.
  int handoff_limit = 64;
  milliseconds handoff_time{10};

  friend bool operator==(lock_options const&, lock_options const&) = default;
};

/// How much a log line matters.
enum class log_level {
  debug,    ///< what happens
  info,     ///< what an operator may want to know
  warning,  ///< something doesn't work as it should; locks go on
  error,    ///< a promise is at risk
};

/// Called with each event worth a log line, on any thread that is inside a call of the client, or on the
/// client's own thread. The client holds no lock meanwhile. The hook must not throw, and must not block for
/// long.
using log_hook = std::function<void(log_level, std::string_view message)>;

/// Options of a client.
struct client_options {
  /// What CLIENT SETNAME announces (shown by CLIENT LIST); empty: "holdfast". No spaces.
  std::string name{};

  /// What this process does, for others that it blocks: "nightly import". exclusive_lock::last_busy and
  /// `holdfast ls` show it. At most 200 bytes.
  std::string label{};

  /// How long an attempt to connect may take, name resolution, TLS and AUTH included. Also how long a request
  /// waits for a connection before it fails with errc::unreachable, unless it waits longer: see `patience`.
  milliseconds connect_timeout{2'000};

  /// How long connect(), and a call that takes a lock or permits or passes a latch, waits for a server that
  /// can't be reached; then it throws errc::unreachable. The time counts from the call, and again from each
  /// outage while it waits. An attempt to connect that is under way at the end is waited for.
  ///
  /// 0 leaves it to the call. A call with a time limit waits for all of that. lock(), acquire() and others
  /// without one wait for connect_timeout for the first answer, and without limit once the server has
  /// answered them. A call that only tries waits for connect_timeout.
  ///
  /// Set it for a program that may start before its server does, or that is to hear of outages while it
  /// waits.
  milliseconds patience{0};

  /// A server that leaves a request unanswered for so long counts as gone: the client replaces the connection
  /// and sends the request again. Leave it well above the slowest command on the server.
  milliseconds reply_timeout{2'000};

  /// A waiter asks the server again after so long at the latest, whatever messages come: 10 ms to 30 s. This
  /// bounds the harm of a lost message. Lower values cost requests: at the default, one per second and
  /// waiting process.
  milliseconds recheck{1'000};

  /// How waiters are woken.
  holdfast::wake wake = holdfast::wake::automatic;

  /// How locks look in Redis, unless they say otherwise.
  holdfast::wire wire = holdfast::wire::automatic;

  /// How locks are taken, renewed and given back; `automatic`: as the URL says (`?cas=native`). Leave it
  /// alone, but to compare, or to be sure: with another value than `lua` the first request for a lock fails
  /// with errc::refused where the server lacks that. Redisson's wire has no native commands.
  holdfast::cas cas = holdfast::cas::automatic;

  /// For servers where scripts aren't allowed, or are unwanted. Needs compare-and-delete: Redis 8.4, Valkey
  /// 9, or one with the module holdfast or TairString. Then there are mutex, recursive_mutex, quorum_mutex
  /// and fence on the plain wire; waiters are woken one by one, but newcomers may always overtake them.
  holdfast::script_calls scripts = holdfast::script_calls::automatic;

  /// The largest reply accepted. Holdfast's replies are small; a larger one means that something else
  /// answers.
  std::size_t max_reply_bytes = 16u << 20;

  /// A file to which this client writes who asked for its locks, who had them, and how long: a line of JSON
  /// for each event (docs/history.md). `holdfast judge` reads such files, and checks that locks did what they
  /// promise. Empty: nothing is written. Several clients and processes may write to the same file; it only
  /// grows. What a client collects in one turn of its loop is written at once, without fsync, ahead of the
  /// requests of that turn, so keep the file on a local disk. A write that fails ends the history, with one
  /// warning in the log.
  std::string history{};

  /// Hears of each wait, each lease and what became of it: <holdfast/observer.hpp>. Null: nothing is told,
  /// and nothing is allocated for it.
  std::shared_ptr<holdfast::observer> observer{};

  /// Where log lines go. Empty: nowhere.
  log_hook log{};
};

}  // namespace holdfast
