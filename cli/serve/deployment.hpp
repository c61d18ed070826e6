/// One deployment that `holdfast serve` watches: what it knows of its locks, and the threads that ask for it.
#pragma once

#include "serve/errands.hpp"
#include "serve/expected_traces.hpp"
#include "serve/feed.hpp"
#include "serve/lock_news.hpp"
#include "serve/store.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::probe {
class lock_survey;
}  // namespace holdfast::probe

namespace holdfast::cli {

/// Four threads. One feels the pulse of the locks that are known, and looks at those that have changed. One
/// searches for others. Two do what visitors ask for, one thing after the other. The first two send a bounded
/// number of requests a second, however many locks there are.
class deployment {
 public:
  using day_time = lock_store::day_time;

  struct condition {
    bool reachable = false;
    bool searched = false;     ///< all keys, once
    day_time since{};          ///< that it is reachable, or isn't
    std::string trouble{};     ///< why it isn't
    std::string left_out{};    ///< what can't be looked at, for want of a right or of room
    std::size_t requests = 0;  ///< sent to look at locks, since the start
  };

  /// `number`: of the deployments of this process; its id in URLs. Connects in its threads.
  deployment(std::size_t number, std::string const& url, store_limits limits, event_feed& feed);
  ~deployment();
  deployment(deployment const&) = delete;
  deployment& operator=(deployment const&) = delete;

  [[nodiscard]] std::string const& id() const noexcept { return id_; }
  [[nodiscard]] std::string const& url() const noexcept { return redis_.url(); }  ///< without its password

  [[nodiscard]] bool on_etcd() const noexcept { return on_etcd_; }

  [[nodiscard]] condition now() const;
  /// Calls f with the store, and nobody else uses it meanwhile.
  template <class F>
  auto with_store(F const f) const {
    std::lock_guard const hold{mutex_};
    return f(store_);
  }

  /// See errands::ask.
  void ask(std::string key, std::chrono::milliseconds fresh, errands::job work, responder respond) {
    errands_.ask(std::move(key), fresh, std::move(work), std::move(respond));
  }
  /// The same for what takes seconds, for which others don't have to wait.
  void ask_slowly(std::string key, std::chrono::milliseconds fresh, errands::job work, responder respond) {
    slow_errands_.ask(std::move(key), fresh, std::move(work), std::move(respond));
  }
  /// Looks at this lock at once, since a visitor has changed it.
  void look_soon(std::string name);

 private:
  using time = lock_store::time;

  void follow(std::stop_token const& stop);
  void search(std::stop_token const& stop);
  void note(std::string trouble);
  bool try_to(std::function<void()> const& work);
  [[nodiscard]] bool rest(std::stop_token const& stop, time duration);

  void feel_all(probe::lock_survey& survey, std::stop_token const& stop, int round);
  void feel(probe::lock_survey& survey, std::span<std::string const> names, bool with_ttl);
  /// What a search has taken.
  struct effort {
    time took{};
    std::size_t requests = 0;
  };
  effort find_all(probe::lock_survey& survey, std::stop_token const& stop, bool with_others);
  /// Looks at them, and tells open pages what has changed. `later`: at those again whose holder has no trace
  /// yet, but is likely to say it.
  void look(probe::lock_survey& survey, std::span<std::string const> names, bool later = true);
  template <class Look>
  void tell_of(Look look);
  void see(lock_state const& lock, lock_news& seen);
  [[nodiscard]] bool is_followed(lock_state const& lock);
  /// Takes the news.
  void publish(lock_news& seen);

  std::string const id_;
  bool const on_etcd_;
  event_feed& feed_;
  client redis_;

  mutable std::mutex mutex_;  ///< guards what follows; not held while the server is asked
  std::condition_variable_any changed_;
  lock_store store_;
  condition condition_{};
  std::vector<std::string> wanted_{};                      ///< names to look at
  std::unordered_map<std::string, std::size_t> pulses_{};  ///< by name
  expected_traces expected_traces_{};

  std::jthread follower_;
  std::jthread searcher_;
  errands errands_;  ///< its jobs, and those of the next, use all of this object
  errands slow_errands_;
};

}  // namespace holdfast::cli
