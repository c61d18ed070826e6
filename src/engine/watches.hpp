/// Looks at objects in the server again and again, and tells of each change.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/callback.hpp"
#include "engine/call_gate.hpp"
#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Watches one object in the server. All but deliver() are called under the client's lock.
class watcher {
 public:
  virtual ~watcher() = default;

  /// Sends the request that looks. `answered` is called later, once, when its answer is there.
  virtual void ask(lock_backend& backend, callback<void()> answered) = 0;
  /// Takes that answer. Returns when to ask next, unless a message comes first.
  [[nodiscard]] virtual time_point on_answer(time_point now) = 0;
  /// Until when the last answer counts, if no other comes.
  [[nodiscard]] virtual time_point counts_until() const noexcept = 0;
  /// That time has come.
  virtual void on_outdated(time_point now) = 0;

  /// There is news to deliver.
  [[nodiscard]] virtual bool has_news() const noexcept = 0;
  /// Without the lock. Also called when there is no news left.
  virtual void deliver() = 0;
};

/// All watchers of one client. One question of each is under way at a time, so answers come in order.
/// A watcher asks when its channel is subscribed (again), at each message there, whatever it says, and at the
/// time that it has named.
class watches {
 public:
  watches(reactor::loop& loop, lock_backend& backend, client_constants const& client,
          call_gate& gate) noexcept;
  ~watches();

  // From any thread, without the lock.

  /// `channel`: of a lock. Throws when nothing was begun.
  void begin(std::shared_ptr<watcher> const& watching, std::string const& channel);
  /// The watcher is asked for nothing more. A call of deliver() may be under way.
  void end(watcher const& watching) noexcept;

  /// At the end of the client; under the lock.
  void end_all() noexcept;

 private:
  class channel;
  struct watch;
  using watch_ptr = std::shared_ptr<watch>;

  void ask(watch_ptr const& watched, time_point now);
  void on_answer(watch_ptr const& watched);
  void report(watch_ptr const& watched, time_point now);
  void remove(watch& ended) noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  call_gate& gate_;
  std::map<std::string, std::unique_ptr<channel>, std::less<>> channels_;
};

}  // namespace holdfast::engine
