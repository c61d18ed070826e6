/// The cyclic barrier: a number of participants wait for one another, again and again.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

/// Options of one barrier.
struct barrier_options {
  /// How long an arrival counts after the last sign of life of its process, and so how long others wait for
  /// one that has died: 100 ms to an hour. A waiting participant says that it lives every third of it, and at
  /// least in each client_options::recheck. On etcd it is rounded up to seconds, etcd has a shortest one (2 s
  /// by default), and each third of it the client says so for all.
  milliseconds ttl{30'000};

  /// `automatic`: as client_options::wake says. The message is a broadcast, so `inbox` means the barrier's
  /// channel. With `poll` there are no messages.
  holdfast::wake wake = holdfast::wake::automatic;
  /// With wake::poll: as lock_options::poll_floor and poll_cap.
  milliseconds poll_floor{2};
  milliseconds poll_cap{200};
};

/// A barrier on a name, like a std::barrier for the threads of many processes.
///
///     holdfast::barrier step{redis, "simulation:7", 4};    // four parties, all who name it say so
///     while (more()) {
///       compute();
///       step.arrive_and_wait();                            // until all four have arrived
///     }
///
/// *Guarantees.* A generation opens when `parties` participants have arrived for it that all still wait, and
/// never with fewer, as long as the server keeps what it acknowledged. Then all go on: after one message to
/// each process and a request, or within client_options::recheck if the message is lost. The next generation
/// begins at once. An arrival counts once and for one generation, also if its request is sent twice, or comes
/// late.
///
/// *Broken generations.* If one that has arrived leaves before the others have (its time is up, it is
/// cancelled, its client ends, its process dies), the generation is broken: all that wait for it get
/// errc::broken, and what() says who it was (host, pid, label) and why. Nobody waits for a dead one for
/// longer than its ttl and client_options::recheck. The next generation begins without anybody, and nothing
/// has to be reset. Who arrives later has part in that one: after errc::broken all have to agree what to do
/// next, as with std::barrier nobody can.
///
/// *Parties.* They aren't named: any `parties` arrivals open a generation. If there are more participants
/// than parties, each generation takes those that come first. Where somebody waits at a barrier of another
/// size, an arrival fails with errc::wrong_type, which names both numbers.
///
/// *Number of a generation.* Grows by one from one to the next, whether it opened or was broken. The first
/// one of a barrier is the server's clock in microseconds, so numbers also grow over a restart without data.
/// On etcd it is a revision of the store, and one more is left out where the number of parties changes.
///
/// *On the wire.* A string key of the name, and the set of those that have arrived (docs/protocol.md). The
/// barrier has no format on Redisson's wire: it is as here, whatever client_options::wire says.
/// `holdfast inspect` shows who has arrived.
///
/// *On etcd* (docs/etcd.md) all of this holds, and no failover loses an arrival or an opening.
///
/// *Failover.* A replica that takes over may lack the last arrivals, or not know that a generation has
/// opened. Those that it lacks are told errc::broken. A generation that opened on the old server only may
/// open once more, with participants that have gone on already, until their ttl is over: where that matters,
/// compare the numbers of generations.
///
/// *Threads.* Many threads may use one object; each call is one participant.
///
/// *Errors.*
/// - errc::broken: see above.
/// - errc::wrong_type: the key is something else, or a barrier for another number of parties.
/// - errc::cancelled: the stop token was triggered. The generation is broken for the others, unless all had
///   arrived by then.
/// - errc::unreachable, errc::refused and the like: as for locks. The generation is broken for the others.
/// - With masters that vote there are no barriers: the constructor throws std::errc::invalid_argument.
class HOLDFAST_EXPORT barrier {
 public:
  /// The number of the generation; 0 if the time was up, or with an error.
  using arrive_handler = move_only_function<void(std::int64_t, std::exception_ptr)>;

  /// Asks no server. `parties`: from 1 to 1,000,000. Throws std::errc::invalid_argument for that and for an
  /// option out of range, and for a name that is empty, longer than 64 KiB, or can't be used in a cluster, or
  /// has a slash on etcd.
  barrier(client& redis, std::string name, std::int64_t parties, barrier_options options = {});
  barrier(barrier const&) = delete;
  barrier& operator=(barrier const&) = delete;
  ~barrier();

  /// The name and the number, as they were given.
  [[nodiscard]] std::string const& name() const noexcept;
  [[nodiscard]] std::int64_t parties() const noexcept;

  /// Arrives, and waits until all have. Returns the number of the generation. One request for the last one;
  /// two and one after the message for the others. On etcd two for the last one; three, and one after the
  /// end, for the others.
  std::int64_t arrive_and_wait(std::stop_token stop = {});

  /// The same, for at most `time`. nullopt: it was up before all had arrived, so the generation is broken for
  /// the others. The server decides that, by one request more: when it can't be asked, this throws. Zero or
  /// less: arrives only if it is the last one, and otherwise breaks nothing.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<std::int64_t> try_arrive_and_wait_for(
      std::chrono::duration<Rep, Period> const& time, std::stop_token stop = {}) {
    return arrive_within(to_wait(time), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<std::int64_t> try_arrive_and_wait_until(
      std::chrono::time_point<Clock, Duration> const& time, std::stop_token stop = {}) {
    return arrive_within(to_wait(time), std::move(stop));
  }

  /// Calls `done` once. It runs on the client's thread, or on a thread that is inside a call of the client.
  void async_arrive_and_wait(arrive_handler done, std::stop_token stop = {});

 private:
  struct HOLDFAST_LOCAL impl;

  [[nodiscard]] std::optional<std::int64_t> arrive_within(std::chrono::nanoseconds time,
                                                          std::stop_token stop);

  std::shared_ptr<impl> impl_;
};

}  // namespace holdfast
