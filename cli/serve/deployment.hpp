/// One deployment that `holdfast serve` watches: what it knows of its locks, and the threads that ask for it.
#pragma once

#include "serve/feed.hpp"
#include "serve/store.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace holdfast::probe {
class lock_survey;
}  // namespace holdfast::probe

namespace holdfast::cli {

/// Three threads. One feels the pulse of the locks that are known, and looks at those that have changed. One
/// searches for others. One does what visitors ask for, one after the other. Each rests as long as it has
/// asked, at least, so that a slow server isn't asked more.
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
  /// What a visitor asks for; may throw holdfast::error.
  using job = std::function<std::string(client&)>;

  /// `number`: of the deployments of this process; its id in URLs. Connects in its threads.
  deployment(std::size_t number, std::string const& url, store_limits limits, event_feed& feed);
  ~deployment();
  deployment(deployment const&) = delete;
  deployment& operator=(deployment const&) = delete;

  [[nodiscard]] std::string const& id() const noexcept { return id_; }
  [[nodiscard]] std::string const& url() const noexcept { return redis_.url(); }  ///< without its password

  [[nodiscard]] condition now() const;
  /// Calls f with the store, and nobody else uses it meanwhile.
  template <class F>
  auto with_store(F const f) const {
    std::lock_guard const hold{mutex_};
    return f(store_);
  }

  /// Does the job soon, and answers with its text, as JSON. An answer to the same `key` that is not older
  /// than `fresh` is given again; without a key nothing is. 503 if too many wait, or the server doesn't
  /// answer.
  void ask(std::string key, std::chrono::milliseconds fresh, job work, responder respond);
  /// Looks at these locks at once, since a visitor has changed them.
  void look_soon(std::string name);

 private:
  using time = lock_store::time;
  struct order {
    std::string key{};
    std::chrono::milliseconds fresh{};
    job work{};
    responder respond{};
  };
  struct answered {
    time at{};
    shared_text text{};
  };

  void follow(std::stop_token const& stop);
  void search(std::stop_token const& stop);
  void serve(std::stop_token const& stop);
  void note(std::string trouble);
  template <class Work>
  bool try_to(Work work);
  [[nodiscard]] bool rest(std::stop_token const& stop, time duration);

  void feel_all(probe::lock_survey& survey, std::stop_token const& stop, int round);
  void find_all(probe::lock_survey& survey, std::stop_token const& stop, bool with_redisson);
  /// Looks at them, and tells open pages what has changed.
  void look(probe::lock_survey& survey, std::vector<std::string> const& names);
  void publish(std::vector<std::string> const& changed, std::uint64_t changes_before);
  [[nodiscard]] http_response answer(order const& asked);

  std::string const id_;
  event_feed& feed_;
  client redis_;

  mutable std::mutex mutex_;  ///< guards what follows; not held while the server is asked
  std::condition_variable_any changed_;
  lock_store store_;
  condition condition_{};
  std::vector<std::string> wanted_{};                      ///< names to look at
  std::unordered_map<std::string, std::size_t> pulses_{};  ///< by name
  std::deque<order> orders_{};
  std::unordered_map<std::string, answered> answers_{};  ///< of the thread that serves

  std::jthread follower_;
  std::jthread searcher_;
  std::jthread server_;
};

}  // namespace holdfast::cli
