/// Finds circles of threads that wait for one another's locks, for callers with
/// lock_options::detect_deadlock.
#pragma once

#include <cstdint>
#include <functional>
#include <holdfast/busy_info.hpp>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/client_constants.hpp"
#include "engine/deadlock/circle.hpp"
#include "engine/holders.hpp"
#include "engine/lock_backend.hpp"
#include "engine/lock_queues.hpp"

namespace holdfast::engine {

/// A caller whose thread holds locks, and that has waited for a second, says so beside each of these locks,
/// and says it again each second. Then it looks whether its wait is part of a circle (see circle.hpp). If it
/// is the youngest there, it fails with errc::deadlock. Other callers cost nothing: neither those that get
/// the lock sooner, nor those whose thread holds nothing.
///
/// What a thread holds are the leases with that option that it has acquired itself, outside of callbacks. It
/// gets no more of them while it waits.
///
/// All under the client's lock, but for this_thread(); `now` is the time of the event.
class deadlocks {
 public:
  /// Ends the wait of a caller.
  using failing = std::function<void(waiter& caller, std::shared_ptr<error const> reason, time_point now)>;

  deadlocks(reactor::loop& loop, lock_backend& backend, client_constants const& client, lock_queues& queues,
            holders const& held, failing fail);
  ~deadlocks();

  /// The number of the calling thread, for waiter::thread; 0 inside a callback, whose leases and waits belong
  /// to no thread.
  [[nodiscard]] static std::uint32_t this_thread() noexcept;
  /// The same for a callback that waits: 0, unless the whole process is known to hold something.
  [[nodiscard]] std::uint32_t this_process() const noexcept { return outer_.empty() ? 0 : whole_process; }

  /// This process can't end before these locks of other clients are given back, and these aren't given back
  /// before it ends: they count as held by each of its threads.
  void count_as_held(std::vector<std::pair<std::string, std::string>> names_and_owners) {
    outer_ = std::move(names_and_owners);
  }

  /// The caller begins to wait, for a thread. Without memory it fails.
  void begin(waiter& caller) noexcept;
  /// It is finished.
  void end(waiter const& caller) noexcept;
  /// The process exits: callers that wait will never be finished, and mustn't be woken either.
  void begin_exit() noexcept;

 private:
  struct watch;
  using watch_ptr = std::shared_ptr<watch>;
  static constexpr std::uint32_t whole_process = 1;

  void go_on(watch_ptr const& watched) noexcept;
  void pause(watch& watched) noexcept;
  void ask_for_time(watch_ptr const& watched);
  void publish(watch_ptr const& watched);
  void on_published(watch_ptr const& watched, bool fine) noexcept;
  void begin_anew(watch& watched);
  void look_further(watch_ptr const& watched);
  void on_looked(watch_ptr const& watched, std::string const& name, net::response const& response) noexcept;
  void ask_for_records(watch_ptr const& watched);
  static void note_record(process_info& process, net::response const& response) noexcept;
  void report(watch_ptr const& watched) noexcept;
  void take_back(watch const& watched, std::span<std::string const> statement_keys) noexcept;
  [[nodiscard]] std::vector<std::string> statement_keys_of(std::uint32_t thread) const;
  template <class F>
  void for_each_slot(std::span<std::string const> keys, F f) const;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  lock_queues& queues_;
  holders const& holders_;
  failing fail_;
  std::vector<std::pair<std::string, std::string>> outer_;
  std::map<waiter const*, watch_ptr> watches_;
};

}  // namespace holdfast::engine
