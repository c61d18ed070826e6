/// Watches the leader of an election for one observer.
#pragma once

#include <holdfast/election.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/core.hpp"
#include "engine/watches.hpp"
#include "etcd/viewer.hpp"
#include "resp/reply.hpp"
#include "sync/leader_reports.hpp"

namespace holdfast::sync {

struct leader_look {
  milliseconds pttl{-1};  ///< of the lock; negative: it has none, or is free
  std::optional<seen_leader> leader{};
};
/// From the answer to recipes::plain::read_leader, which is no error.
[[nodiscard]] leader_look read_leader(resp::reply const& reply);
/// The same of what a viewer has found on etcd.
[[nodiscard]] leader_look read_leader(etcd::viewer::leading&& found);

class leader_watch final : public engine::watcher {
 public:
  /// `core` outlives it.
  leader_watch(engine::core& core, std::string name, election::leader_handler handler)
      : core_{core}, name_{std::move(name)}, handler_{std::move(handler)} {}

  void ask(engine::lock_backend& backend, callback<void()> answered) override;
  [[nodiscard]] time_point on_answer(time_point now) override;
  [[nodiscard]] time_point counts_until() const noexcept override { return counts_until_; }
  void on_outdated(time_point now) override;
  [[nodiscard]] bool has_news() const noexcept override;
  void deliver() override;

  /// No call of the handler begins any more; waits for one under way, unless this thread is in it.
  void stop() noexcept;

 private:
  [[nodiscard]] std::optional<leader_look> latest_look();
  [[nodiscard]] time_point on_look(time_point now);
  [[nodiscard]] bool known(std::string_view owner) const;
  void tell();

  // Constant.
  engine::core& core_;
  std::string const name_;

  // Under the client's lock.
  leader_reports reports_;
  process_info process_{};  ///< of the leader that was told last
  bool untold_ = false;     ///< what is to be told isn't yet: its process isn't known, or there was no memory
  bool naming_ = false;     ///< a leader is to be told as soon as its process is known
  bool asked_name_ = false;  ///< by the question under way
  net::response answer_{};   ///< to the last question
  /// The same on etcd. Nullopt: there is none, or it couldn't be asked.
  std::optional<leader_look> seen_{};
  time_point next_look_{};
  time_point counts_until_ = time_point::max();

  // Under the mutex, but for the handler, which one thread calls at a time.
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::deque<std::optional<leader_info>> news_;
  election::leader_handler handler_;
  std::thread::id calling_{};  ///< the thread that is in the handler
  bool stopped_ = false;
};

}  // namespace holdfast::sync
