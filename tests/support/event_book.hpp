/// An observer that keeps the events, and checks that they make sense.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <holdfast/observer.hpp>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

/// Of one client. May be read while the client lives.
class event_book final : public observer {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "event book"; }
  [[nodiscard]] std::string trace() override {
    std::lock_guard const hold{mutex_};
    return traced;
  }

  void on_event(lock_event const& event) override {
    if (inside_.exchange(true)) note("two at a time", event);
    {
      std::lock_guard const hold{mutex_};
      all_.emplace_back(to_string(event.what));
      lines_.push_back(all_.back() + ' ' + std::string{event.name} + ' ' + std::to_string(event.id));
      last_ = event;
      last_trace_ = event.trace;
      if (event.what == event_kind::missed) missed_ += event.count;
      if (event.at < at_) wrong_.push_back("not in order: " + lines_.back());
      if (event.what != event_kind::missed) at_ = event.at;
      if (event.duration.count() < 0) wrong_.push_back("a negative duration: " + lines_.back());
      check(event);
    }
    inside_ = false;
  }

  /// The kinds of the events: "asked", "acquired"…
  [[nodiscard]] std::vector<std::string> kinds() const { return locked(all_); }
  /// The same with name and id: "asked orders 1".
  [[nodiscard]] std::vector<std::string> lines() const { return locked(lines_); }
  /// What doesn't make sense; empty: nothing.
  [[nodiscard]] std::vector<std::string> wrong() const { return locked(wrong_); }
  /// Waits that have no end yet.
  [[nodiscard]] std::size_t waiting() const { return count(state::asked) + count(state::waiting); }
  /// Leases that have no end yet.
  [[nodiscard]] std::size_t held() const { return count(state::held); }
  [[nodiscard]] std::uint64_t missed() const { return locked(missed_); }
  /// Without its texts.
  [[nodiscard]] lock_event last() const { return locked(last_); }
  [[nodiscard]] std::string last_trace() const { return locked(last_trace_); }
  [[nodiscard]] std::size_t count(std::string_view kind) const {
    std::lock_guard const hold{mutex_};
    return static_cast<std::size_t>(std::count(all_.begin(), all_.end(), kind));
  }

  /// What trace() says: set before the client is used.
  std::string traced;

 private:
  enum class state { asked, waiting, held, over };

  template <class Value>
  [[nodiscard]] Value locked(Value const& value) const {
    std::lock_guard const hold{mutex_};
    return value;
  }
  [[nodiscard]] std::size_t count(state which) const {
    std::lock_guard const hold{mutex_};
    std::size_t found = 0;
    for (auto const& [id, now] : known_) found += now == which ? 1 : 0;
    return found;
  }
  void note(std::string problem, lock_event const& event) {
    std::lock_guard const hold{mutex_};
    wrong_.push_back(std::move(problem) + ": " + std::string{to_string(event.what)});
  }

  void check(lock_event const& event) {
    switch (event.what) {
      case event_kind::asked:
        return move(event, {}, state::asked);
      case event_kind::waiting:
        return move(event, {state::asked}, state::waiting);
      case event_kind::acquired:
      case event_kind::handed_over:
      case event_kind::granted:
        return move(event, {state::asked, state::waiting}, state::held);
      case event_kind::taken:
      case event_kind::busy:
      case event_kind::timed_out:
      case event_kind::failed:
        return move(event, {state::asked, state::waiting}, state::over);
      case event_kind::converted:
        return move(event, {}, state::held);
      case event_kind::renewed_late:
        return move(event, {state::held}, state::held);
      case event_kind::released:
      case event_kind::kept:
      case event_kind::lost:
        return move(event, {state::held}, state::over);
      case event_kind::disconnected:
      case event_kind::reconnected:
      case event_kind::missed:
        if (event.id != 0 || !event.name.empty()) wrong_.push_back("it is about no lock: " + lines_.back());
        return;
    }
  }
  /// `before` empty: the id is new.
  void move(lock_event const& event, std::vector<state> const& before, state next) {
    auto const known = known_.find(event.id);
    auto const fits = before.empty() ? known == known_.end()
                                     : known != known_.end() && std::find(before.begin(), before.end(),
                                                                          known->second) != before.end();
    if (!fits || event.id == 0 || event.name.empty()) wrong_.push_back("out of turn: " + lines_.back());
    known_[event.id] = next;
  }

  std::atomic<bool> inside_ = false;
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
  std::vector<std::string> lines_;
  std::vector<std::string> wrong_;
  std::map<std::uint64_t, state> known_;
  std::chrono::nanoseconds at_{};
  std::uint64_t missed_ = 0;
  lock_event last_{};
  std::string last_trace_;
};

}  // namespace holdfast::test
