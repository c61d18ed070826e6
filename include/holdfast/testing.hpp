/// For tests of programs that use locks: a deployment inside the process, a clock that the test moves, faults
/// at its command, and a judge. The component `testing`: find_package(holdfast COMPONENTS testing), target
/// holdfast::testing, which has the static library (holdfast::static) in it: what is tested has to be linked
/// with that one, too.
#pragma once

#include <holdfast/client.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::memory {

class node;

/// Stops the clock of all clients in this process, and of all deployments in memory, until advance() moves
/// it. One at a time. Make it before the clients, and destroy it after them: it ends with the time of the
/// machine, which by then is behind.
///
/// advance() goes from one event to the next, as time would: at each renewal, end of a lease, re-check or
/// time-out it stops, until all clients have done what is due, and have the answers of their deployments in
/// memory. So a watchdog keeps its lease in advance(1h), and loses it if the deployment is paused meanwhile.
///
/// *Deterministic* is what clients do in that time. What threads of the test do that such an event wakes is
/// not: they go on beside advance(). Wait for them (join, or until() below) before the next step. And call
/// advance() only when a thread that is to wait waits: until([&] { return redis.stats().waiting_now == 1; }).
///
/// *Waiting.* Time stands still, so a call that waits for time alone, such as try_lock_for(), returns when
/// another thread moves the clock. That goes for bounds, too: a client whose deployment is paused, or
/// whose connection has just broken, waits in its destructor until the clock has moved by a second or so, or
/// the deployment goes on. Time points of
/// std::chrono::steady_clock (try_lock_until) are turned into durations when the call begins.
///
/// Clients of real servers have this clock, too, but advance() knows nothing of answers that are on their way
/// from there. What the process does with other clocks goes on as usual.
class manual_clock {
 public:
  /// Begins with the time of the machine. Throws std::logic_error if there is one.
  manual_clock();
  ~manual_clock();
  manual_clock(manual_clock const&) = delete;
  manual_clock& operator=(manual_clock const&) = delete;

  /// Moves the clock forward, in all by a century at most (std::invalid_argument). Not in a callback of a
  /// client. Throws std::runtime_error if a client doesn't come to rest for ten seconds of the machine's
  /// time: a callback that doesn't return, say.
  template <class Rep, class Period>
  void advance(std::chrono::duration<Rep, Period> const& by) {
    check(by);
    advance_by(std::chrono::duration_cast<std::chrono::nanoseconds>(by));
  }

  /// Waits until all clients have done what is due by now: that of other threads, too, as far as it has
  /// begun. Throws as advance().
  void settle() { advance_by({}); }

  /// By how much it was moved so far.
  [[nodiscard]] std::chrono::nanoseconds elapsed() const noexcept;

 private:
  void check(std::chrono::duration<double> by) const;
  void advance_by(std::chrono::nanoseconds by);

  std::chrono::nanoseconds const begun_;
};

/// Something that is wrong, for the life of this object. Declare it behind the clients: it should end first.
class [[nodiscard]] fault {
 public:
  /// Of functions of a deployment, which give what ends it.
  explicit fault(std::function<void()> end) : end_{std::move(end)} {}
  fault(fault&& other) noexcept : end_{std::exchange(other.end_, nullptr)} {}
  fault& operator=(fault&&) = delete;
  ~fault() { end(); }  ///< As end().

  /// All is well from here on. May be called again.
  void end() {
    if (auto const f = std::exchange(end_, nullptr)) f();
  }

 private:
  std::function<void()> end_;
};

/// A Redis server in the memory of this process, with nothing else in it, which executes the same scripts and
/// commands as a real one. All kinds of lock work on it, but quorum_mutex, which needs several servers. A
/// request takes no system call and no other thread.
///
///     holdfast::memory::manual_clock time;
///     holdfast::memory::deployment servers;
///     auto redis = servers.connect();
///     holdfast::mutex m{redis, "orders:42"};
///     auto held = m.acquire();
///     auto const pause = servers.pause();
///     time.advance(31s);
///     assert(held.lost().stop_requested());
///
/// Programs that make their client from a URL get url(): client{"memory://"} is a client of the deployment
/// without a name, and fails with errc::bad_url where there is none.
///
/// *What it is not.* It has one database, no users, no TLS, and no eviction; it is never slow. Of Redis it
/// has the commands that Holdfast uses. A test of the servers' behaviour needs servers.
///
/// *Threads.* All functions may be called from all threads, and in callbacks.
///
/// *Forks.* A forked child makes deployments of its own, with other names: those of its parent are of no use
/// to it, nor is a manual_clock.
class deployment {
 public:
  /// What clients see.
  struct options {
    std::string name{};  ///< letters, digits, `-`, `_` and `.`; clients name it in their URL
    int replicas = 0;    ///< how many acknowledge each write, at once (lock_options::replicas)
  };

  /// Throws std::invalid_argument for other names and numbers, and if there is a deployment of that name;
  /// std::logic_error if the program has libholdfast.so, too.
  deployment();
  explicit deployment(options given);
  /// Clients that are left get an error for each request.
  ~deployment();
  deployment(deployment const&) = delete;
  deployment& operator=(deployment const&) = delete;

  /// memory://NAME
  [[nodiscard]] std::string url() const;
  /// client{url(), options}
  [[nodiscard]] client connect(client_options given = {}) const { return client{url(), std::move(given)}; }

  // Faults.

  /// Takes the key of that lock away, as an eviction or an administrator would: somebody else can have it.
  /// Its holder learns it from its next request, the renewal after a third of the ttl at the latest (cause
  /// key_gone). False: nobody held it.
  bool lose(std::string_view name);

  /// The server is started again without its data, and all connections break. Clients connect again after a
  /// pause of 10 ms and more of their own clock.
  void restart_empty();
  /// All connections break. Clients send again what wasn't answered.
  void break_connections();
  /// As SCRIPT FLUSH.
  void forget_scripts();

  /// Reads no request until the fault ends, and then carries out what has come on connections that are still
  /// there: a server that is suspended.
  fault pause();
  /// Carries out requests, but replies and messages leave only when the fault ends: a slow network.
  fault hold_replies();
  /// Replies to each request with that error. Clients wait out the default; docs/troubleshooting.md has
  /// others.
  fault refuse(std::string error = "LOADING Redis is loading the dataset in memory");
  /// All connections break, and nobody can connect.
  fault unreachable();

  // Looking.

  /// All keys.
  [[nodiscard]] std::vector<std::string> keys() const;

 private:
  std::shared_ptr<memory::node> node_;
};

/// A promise that a history shows as broken.
struct finding {
  std::string promise;  ///< S1, S2, S3, L1, L3 (docs/guarantees.md), or count: permits, latches, barriers
  std::string text;     ///< what was wrong, and its time line, a line each
};

/// What `holdfast judge` finds in these files (docs/history.md): of each promise that was broken the finding
/// with the shortest time line. Empty: all promises were kept. Throws std::runtime_error for a file that is
/// no history. Call it when the clients are destroyed.
[[nodiscard]] std::vector<finding> judge(std::vector<std::string> const& histories);

/// A file for the histories of a test's clients, which ends with this object.
///
///     holdfast::memory::history seen;
///     { auto redis = servers.connect({.history = seen.path()}); … }
///     assert(seen.judge().empty());
class history {
 public:
  /// Throws std::system_error if it can't be made.
  history();
  ~history();
  history(history const&) = delete;
  history& operator=(history const&) = delete;

  /// For client_options::history.
  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// See above.
  [[nodiscard]] std::vector<finding> judge() const { return memory::judge({path_}); }

 private:
  std::string path_;
};

/// Waits until f() is true, by the clock of the machine. False: it wasn't within that time.
[[nodiscard]] bool until(std::function<bool()> const& f,
                         std::chrono::milliseconds at_most = std::chrono::seconds{20});

}  // namespace holdfast::memory
