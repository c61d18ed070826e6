/// A connection to one Redis deployment, shared by all locks that a program makes.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/event_loop.hpp>
#include <holdfast/export.hpp>
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

/// Counters since the client was made. They only grow, except those of the last group.
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
  std::uint64_t timed_out = 0;    ///< waits that ended without the lock because their time was up
  std::uint64_t released = 0;     ///< releases that the server confirmed
  std::uint64_t renewals = 0;     ///< leases renewed
  std::uint64_t renewal_failures = 0;  ///< renewals that got no answer, or were refused, and are tried again
  std::uint64_t lost = 0;              ///< leases lost, any cause

  // Of requests that a script could serve, each time that they were sent.
  std::uint64_t by_module = 0;          ///< as commands of the module holdfast
  std::uint64_t by_native_command = 0;  ///< in commands of the server's own
  std::uint64_t by_script = 0;          ///< as scripts

  /// What the server of the newest connection offers of what client_options::cas allows; automatic: there was
  /// none yet.
  holdfast::cas way = holdfast::cas::automatic;
  /// never: no script is called there, since the user said so or the server refuses them.
  script_calls scripts = script_calls::automatic;

  std::uint64_t held_now = 0;     ///< leases held at this moment
  std::uint64_t waiting_now = 0;  ///< callers waiting at this moment
};

/// The client: owns the connections, the one background thread (the keeper), and all state of its locks.
///
/// *Cost.* The constructor sends nothing; the first request connects. A client opens:
/// - one connection while nothing is contended;
/// - a second connection, for messages. It opens with the first wait, or half a second after the client first
///   took a lease, so that others can tell the holder something;
/// - in a cluster, both for each node that has a lock of this client; with a quorum, both for each master;
///   with Sentinel, two more for each sentinel.
///
/// The client writes its record (`holdfast_client:<uuid>`: host, pid, program, label), so that others can
/// name who is in the way. It is sent ahead of the first request for a lock, without waiting for the reply,
/// and then at most every 20 s while locks are asked for, held or waited for. The destructor deletes it. That
/// costs one request in 20 s.
///
/// The client has one thread. The first call that asks the server starts it; it sleeps while callers drive
/// the loop themselves. A client that runs on an event loop of the program has none
/// (<holdfast/event_loop.hpp>). The client uses four file descriptors, and one for each connection.
///
/// *At the limits of the process.* If the thread can't be started, that call throws
/// std::errc::resource_unavailable_try_again. Nothing has been sent then, and the next call tries again.
/// After that the client needs no other thread, except to resolve host names.
///
/// *Memory.* A failed allocation ends no wait and leaves no lock behind. A caller that wants a lock gets
/// std::errc::not_enough_memory or std::bad_alloc, and no lock; or it gets the lock a little later. A release
/// is sent a little later, and answers release_result::unknown. Leases are renewed at the next try. A
/// connection that finds no memory is made again, as if it had broken.
///
/// *Threads.* All functions may be called from all threads.
///
/// *Callbacks.* The client holds no lock of its own while it calls a callback, so a callback may call the
/// client. Callbacks should be short, because replies wait behind them. Callbacks of one client never run
/// inside one another.
///
/// A callback may wait for a lock (lock(), acquire(), try_…_for()), and for the answer to lease::renew() or
/// to a downgrade. Callbacks behind it then go on in another thread, beside the rest of this one; the client
/// starts that thread if its own is the one that waits. At most 32 callbacks can wait like this. The next
/// one, or one for which no thread can be started, gets std::errc::resource_deadlock_would_occur at once if
/// it waits for a lock; a renewal or downgrade waits all the same, and so do those behind it.
///
/// A callback may run on any thread that is inside a call of this client: a thread that waits drives the
/// client, and request_stop() of a token that the client was given is such a call, too. That call doesn't
/// return before the callback does. So a callback must not wait for something that such a thread may hold.
/// Use async_acquire(), or only try.
///
/// *Life.* Make the client before its locks, and destroy it after them, but not inside one of its callbacks.
/// Call shutdown() first to give holders time to finish.
///
/// The destructor releases what is still held, many leases in each request. It waits at most one second for
/// the server. If the server is waiting for the replicas of an acquisition (lock_options::replicas, fsynced),
/// it waits up to twice as long as that may take in addition. It logs in one line how many leases were not
/// given back by then. Callers that wait get errc::closed. Leases that outlive the client are lost (cause
/// closed).
///
/// *Exit.* exit() gives back what is held, also if it is called in a callback and if nobody destroys the
/// clients. The bound is that of the destructor, for all clients together. Leases are lost then. From that
/// moment other threads get no lock, and no exception either: a thread that waits goes on waiting until its
/// time is up, it is cancelled or the process ends; a thread that only tries finds the lock busy.
///
/// *Fork.* A forked child can't use its parent's client: every function throws errc::forked, and destructors
/// do nothing. A child that is forked inside a callback may make clients of its own, but must not return from
/// the callback: the caller belongs to the parent, so the child would be aborted. It ends by exec(), exit()
/// or _exit().
///
/// If another thread of the parent looks up a host name or sets up TLS during the fork, a lock of libc or
/// OpenSSL may stay locked in the child for ever. A client of the child may then hang. Use addresses without
/// TLS there, or exec().
class HOLDFAST_EXPORT client {
 public:
  /// `url` of one server: redis://[[user]:password@]host[:port][/db], rediss://… for TLS (?ca=FILE cert=FILE
  /// key=FILE verify=yes|no), redis+unix://[[user]:password@]/path/to/socket[?db=N], or host[:port].
  ///
  /// `url` of several servers, with commas between them (rediss+… for TLS):
  /// - redis+sentinel://h1,h2,h3/mymaster[/db]: the master that the sentinels name. User and password are
  ///   those of the servers. `?sentinel_user= sentinel_password= sentinel_tls=yes|no` are for the sentinels.
  /// - redis+cluster://h1,h2: some nodes of a cluster. The client learns the others from them.
  /// - redis+quorum://h1,h2,h3: masters that know nothing of each other, for quorum_mutex only.
  /// - etcd://h1,h2,h3[/prefix] (etcds:// for TLS): no Redis, but members of a cluster of etcd, for all
  ///   kinds but semaphore, condition and quorum_mutex, in a build that has it. See docs/etcd.md.
  ///
  /// `?nat=announced/reachable,…` (each host:port) is for servers of a Sentinel deployment or a cluster that
  /// announce an address of their own network: it says where they can be reached. With every kind of URL,
  /// `?wire=plain|redisson` says how locks look, and `?cas=auto|native|module|lua` and `?scripts=yes|no` by
  /// which commands they are asked for. client_options takes precedence.
  ///
  /// Asks no server. Throws errc::bad_url, std::errc::invalid_argument for an option out of range, or
  /// std::errc::too_many_files_open.
  explicit client(std::string const& url, client_options options = {});
  /// The same on an event loop of the program's, without a thread: see event_loop. For an io_context:
  /// `client{url, options, run_on(io)}`, with <holdfast/asio.hpp>. Throws std::errc::invalid_argument for
  /// null.
  client(std::string const& url, client_options options, std::shared_ptr<event_loop> runs_on);
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  /// Makes sure that the server can be reached and accepts this client: connects, authenticates, sends a
  /// PING. One request. Throws errc::unreachable within connect_timeout (or client_options::patience),
  /// errc::unauthorized, errc::protocol or errc::refused.
  void connect();

  /// Ends the work with locks in order, for the end of a program. From this call on nobody gets a lock:
  /// errc::closed. Callers that wait, for latches too, leave at once with errc::closed. Holders have at most
  /// `drain` to finish; meanwhile their leases are renewed, and fences write. The call returns as soon as the
  /// last holder has given its lock back. Leases that are left are lost then (cause closed) and given back;
  /// for that it waits for the server as the destructor does. Once the call has returned, all other calls
  /// throw errc::closed.
  ///
  /// Permits of a `semaphore` are not leases, so the call doesn't wait for them. Give them back before it,
  /// because later they can't be given back.
  ///
  /// Returns `true` when no lease was left. Zero or less gives holders no time. It may be called again, and
  /// from any thread, except from one that holds a lock and means to release it afterwards. In a callback it
  /// may throw std::errc::resource_deadlock_would_occur.
  template <class Rep, class Period>
  bool shutdown(std::chrono::duration<Rep, Period> const& drain) {
    return shutdown_within(to_wait(drain));
  }

  /// The URL without its password: fit for logs.
  [[nodiscard]] std::string const& url() const noexcept;

  /// The client's uuid: the first part of its owner ids, and the last part of its channels' names.
  [[nodiscard]] std::string const& uuid() const noexcept;

  /// A copy of the counters. No request.
  [[nodiscard]] client_stats stats() const;

 private:
  friend struct engine::access;

  void make(std::string const& url, client_options&& options, std::shared_ptr<event_loop>&& runs_on);
  bool shutdown_within(std::chrono::nanoseconds drain);

  std::shared_ptr<engine::core> core_;
};

}  // namespace holdfast
