/// Hears what becomes of the locks of a client: for metrics, traces and logs.
///
///     struct slow_waits final : holdfast::observer {
///       std::string_view name() const noexcept override { return "slow waits"; }
///       void on_event(holdfast::lock_event const& event) override {
///         if (event.what == holdfast::event_kind::timed_out) std::clog << event.name << " was busy\n";
///       }
///     };
///     holdfast::client redis{url, {.observer = std::make_shared<slow_waits>()}};
///
/// Ready-made: <holdfast/prometheus.hpp>, <holdfast/opentelemetry.hpp>. docs/metrics.md has more.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast {

/// What has happened. Each `asked` is followed by one of the next seven that aren't `waiting`, with the same
/// id; each `acquired`, `handed_over`, `granted` and `converted` by one of `released`, `kept` and `lost`.
enum class event_kind : std::uint8_t {
  asked,         ///< a caller wants the lock, permits, or to pass a latch
  waiting,       ///< it has found the lock busy, and waits: at most once after each `asked`
  acquired,      ///< it has a lease, from the server
  handed_over,   ///< it has a lease, from a holder of this client, without a request
  granted,       ///< it has a lease, by the message of the client that gave the lock back
  taken,         ///< it has what it wanted for good: permits without leases, a latch or barrier passed
  busy,          ///< it has only tried, and goes without
  timed_out,     ///< its time is up, and it goes without
  failed,        ///< it goes without because of an error, such as errc::cancelled
  converted,     ///< a lease has become one of another kind, without a wait: an upgrade, say
  renewed_late,  ///< a lease was renewed when less than a third of its ttl was left
  released,      ///< its holder has given the lease back, or it was converted
  kept,          ///< its holder has finished, and the key is left to its ttl
  lost,          ///< the lease ended against its holder's will
  disconnected,  ///< a connection for requests broke
  reconnected,   ///< it was made again
  missed,        ///< events before this one weren't told: no memory, or too many at a time
};
/// Its word, such as "handed_over".
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(event_kind) noexcept;

/// One event. The texts live until on_event() returns.
struct lock_event {
  /// What has happened.
  event_kind what = event_kind::asked;
  /// The lock: lease::name(). Empty for `disconnected`, `reconnected` and `missed`.
  std::string_view name{};
  /// How it is held, in the words of a history: "mutex", "fair" (also the writer of a shared_mutex),
  /// "read"… docs/history.md lists them.
  std::string_view kind{};
  /// client_options::label.
  std::string_view label{};
  /// The same for all events of one acquisition, and for no other of this client; 0: it is about none.
  std::uint64_t id = 0;
  /// The fencing token of a lease; 0: none.
  std::int64_t token = 0;
  /// When it happened: CLOCK_BOOTTIME, as the times in a history.
  std::chrono::nanoseconds at{};
  /// Of `waiting` to `failed`: since `asked`. Of `released`, `kept` and `lost`: since the lease began.
  /// `renewed_late`: what was left of it. `reconnected`: since the connection broke. Otherwise zero.
  std::chrono::nanoseconds duration{};
  /// Of `lost`.
  loss_cause cause = loss_cause::none;
  /// Of `failed`: a holdfast::errc or std::errc.
  std::error_code error{};
  /// Either in a word, fit for a label: "key_gone", "unreachable", "cancelled". It is the name of the
  /// enumerator, or "error" for a std::errc, and lasts as long as the library.
  std::string_view why{};
  /// What observer::trace() said when the lock was asked for; empty: nothing.
  std::string_view trace{};
  /// Of `missed`: how many events.
  std::uint64_t count = 0;
};

/// Set by client_options::observer, which shares its ownership.
///
/// *Threads.* The events of one client come one at a time, in the order in which they happened, on any thread
/// that is inside a call of the client, or on the client's own thread. They come without the client's lock, a
/// little after they happened: mostly before the call returns that caused them, sometimes, from another
/// thread, just after it. All that happened come before the client's destructor returns, and none later. An
/// observer of several clients hears them at the same time.
///
/// *What it may do.* It may call the client, but for anything that makes events, and must not wait for a lock
/// or destroy the client: further events are collected meanwhile, at most 65,536; then `missed` says how many
/// weren't. It should be quick: replies and callbacks wait behind it, and renewals, if it is the client's own
/// thread that tells.
///
/// *Exceptions.* An observer that throws ends the process: the message on stderr has its name(), and
/// std::terminate() is called.
///
/// *Cost.* A client without an observer looks at a null pointer. With one, an event is collected in memory
/// that is used again, with a copy of the name; each lease, in a table of what is held.
///
/// *Exit and fork.* exit() ends leases that are held, and tells of it; waits that exit() leaves hanging have
/// no end. Nothing is told in a forked child.
class HOLDFAST_EXPORT observer {
 public:
  /// Clients share it, so it isn't copied.
  observer() = default;
  observer(observer const&) = delete;
  observer& operator=(observer const&) = delete;
  virtual ~observer();

  /// What the message calls it, if it throws.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Something has happened.
  virtual void on_event(lock_event const& event) = 0;

  /// The W3C traceparent of the work that asks for a lock now, such as
  /// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; empty: none. Called in the thread that asks,
  /// before `asked`, without the client's lock, by several threads at the same time. Each event of that
  /// acquisition has it. At most 200 bytes are kept. A traceparent is also said to those whom the lock
  /// blocks: process_info::trace.
  [[nodiscard]] virtual std::string trace() { return {}; }
};

}  // namespace holdfast
