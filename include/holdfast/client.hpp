/// A connection to one Redis deployment, shared by all locks that a program makes.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast {

namespace engine {
class core;
struct access;
}  // namespace engine

/// Counters since the client was made. They only grow, but for the last group.
struct client_stats {
  std::uint64_t commands = 0;     ///< requests sent, each once, however often it was sent again
  std::uint64_t resent = 0;       ///< requests sent again after a broken connection or NOSCRIPT
  std::uint64_t writes = 0;       ///< write system calls; commands / writes shows the pipelining
  std::uint64_t reads = 0;        ///< read system calls that brought data
  std::uint64_t messages = 0;     ///< messages received
  std::uint64_t connects = 0;     ///< connections made, all kinds
  std::uint64_t disconnects = 0;  ///< connections that broke

  std::uint64_t acquired = 0;     ///< leases given, all ways
  std::uint64_t handed_over = 0;  ///< of these: inside the process, without a request
  std::uint64_t granted = 0;      ///< of these: by a message from the releasing process
  std::uint64_t waits = 0;        ///< acquisitions that found the lock busy
  std::uint64_t rechecks = 0;     ///< times a waiter asked again because its timer ran out, not for a message
  std::uint64_t timed_out = 0;    ///< waits that ended without the lock (time-out or cancellation)
  std::uint64_t released = 0;     ///< releases that the server confirmed
  std::uint64_t renewals = 0;     ///< leases renewed
  std::uint64_t renewal_failures = 0;  ///< renewals that were not answered and were tried again
  std::uint64_t lost = 0;              ///< leases lost, any cause

  std::uint64_t held_now = 0;     ///< leases held at this moment
  std::uint64_t waiting_now = 0;  ///< callers waiting at this moment
};

/// The client: owns the connections, the one background thread (the keeper), and all state of its locks.
///
/// *Cost.* The constructor sends nothing; the first request connects. One connection while nothing is
/// contended; a second one, for messages, opens with the first wait, or half a second after the first lease
/// of a busy time was taken: by then others may want to tell its holder something. In a cluster these are for
/// each node that has a lock of ours, with a quorum for each master; Sentinel takes two more for each
/// sentinel. With it goes the client's record (`holdfast_client:<uuid>`: host, pid, program, label), one
/// request in 20 s for as long as leases are held or waited for. One thread, which sleeps while callers drive
/// the loop themselves; it is started by the first call that asks the server. Four descriptors, and one for
/// each connection.
///
/// *At the limits of the process.* When the thread can't be started, that call throws
/// std::errc::resource_unavailable_try_again, and nothing has been sent; the next one tries again. Once it
/// runs nothing needs another one, but for resolving host names.
///
/// *Memory.* An allocation that fails ends no wait and leaves no lock behind. Who wants a lock gets
/// std::errc::not_enough_memory, or std::bad_alloc, and has none; or gets it, a little later. A release is
/// sent a little later, and answers release_result::unknown. Leases are renewed at the next try. A connection
/// that has no memory is made again, as if it had broken.
///
/// *Threads.* All functions may be called from all threads. Callbacks are called without any lock of the
/// client held and may call back into it, but should be short: replies wait behind them. Callbacks of one
/// client don't run inside one another. One that waits for a lock (lock(), acquire(), try_…_for()) lets those
/// behind it go on in another thread, which is started for it where it is the client's own that waits; when
/// 32 wait so already, or no thread can be started, it gets std::errc::resource_deadlock_would_occur at once.
/// A callback may run on any thread that is inside a call of this client (one that waits drives it meanwhile;
/// request_stop() of a token that it was given is such a call, too), and that call doesn't return before it:
/// so it mustn't wait for what such a thread may hold, but use async_acquire, or try.
///
/// *Life.* Make it before its locks and destroy it after them, and not inside one of its callbacks;
/// shutdown() before that gives holders time to finish. Its destructor releases what is still held, many
/// leases in few requests, waits for the server at most one second, says in one line of the log how many are
/// not given back by then, and lets waiting callers go with errc::closed; while the server waits for the
/// replicas of an acquisition (lock_options::replicas, fsynced), up to twice as long as that may take
/// besides. Leases that outlive it are lost (cause closed).
///
/// *Exit.* exit(), also in a callback, gives back what is held, within the same bound for all clients
/// together, though nobody destroys them; leases are lost then. Other threads get no lock from there on, and
/// no exception either: those that wait do so until their time is up, they are cancelled or the process is
/// over, and those that only try find the lock busy.
///
/// *Fork.* The child of a fork can't use its parent's client: every function throws errc::forked,
/// destructors do nothing. One that is forked inside a callback may make clients of its own there, but
/// mustn't return from it (it ends by exec(), exit() or _exit()): what called it is the parent's, so the
/// child is aborted.
/// A child that is forked while another thread of its parent looks up a host name, or sets up TLS, may find a
/// lock of libc or OpenSSL locked for ever, and hang in a client of its own: use addresses without TLS there,
/// or exec().
class client {
 public:
  /// `url`, of one server: redis://[user[:password]@]host[:port][/db], rediss://… (TLS; ?ca=FILE cert=FILE
  /// key=FILE verify=yes|no), redis+unix://[user[:password]@]/path/to/socket[?db=N], or host[:port].
  ///
  /// Of several, with commas between (rediss+… for TLS):
  /// - redis+sentinel://h1,h2,h3/mymaster[/db]: the master that the sentinels name, whichever that is.
  ///   User and password are those of the servers; `?sentinel_user= sentinel_password= sentinel_tls=yes|no`
  ///   are for the sentinels.
  /// - redis+cluster://h1,h2: some nodes of a cluster; the others are learnt from them.
  /// - redis+quorum://h1,h2,h3: masters that know nothing of each other, for quorum_mutex alone.
  ///
  /// `?nat=announced/reachable,…` (each host:port) says where the servers of a Sentinel deployment or a
  /// cluster are reached that announce an address of their own network. With all of them
  /// ?wire=plain|redisson, unless client_options::wire says how locks look.
  ///
  /// Throws errc::bad_url, std::errc::invalid_argument for an option out of range, or
  /// std::errc::too_many_files_open; asks no server.
  explicit client(std::string const& url, client_options options = {});
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  /// Makes sure that the server can be reached and accepts us: connects, authenticates, sends a PING. One
  /// request. Throws errc::unreachable within connect_timeout, errc::unauthorized, errc::protocol,
  /// errc::refused.
  void connect();

  /// Ends the work with locks in order, as before the end of a program: from here on nobody gets a lock
  /// (errc::closed, as from all other calls once it has returned). Callers that wait, for latches too, leave
  /// at once with errc::closed. Holders have at most `drain` to finish; meanwhile their leases are renewed,
  /// fences write, and it returns as soon as the last one has given its lock back. Leases that are left are
  /// lost then (cause closed), and given back: it waits for the server as the destructor does.
  ///
  /// `true` when no lease was left. Zero or less gives holders no time. May be called again, from any thread
  /// but one that holds a lock it means to release afterwards. In a callback it may throw
  /// std::errc::resource_deadlock_would_occur.
  template <class Rep, class Period>
  bool shutdown(std::chrono::duration<Rep, Period> const& drain) {
    return shutdown_within(to_wait(drain));
  }

  /// The URL without its password: fit for logs.
  [[nodiscard]] std::string const& url() const noexcept;

  /// The client's uuid: the first part of its owner ids, and the last of its channels' names.
  [[nodiscard]] std::string const& uuid() const noexcept;

  /// A copy of the counters. No request.
  [[nodiscard]] client_stats stats() const;

 private:
  friend struct engine::access;

  bool shutdown_within(std::chrono::nanoseconds drain);

  std::shared_ptr<engine::core> core_;
};

}  // namespace holdfast
