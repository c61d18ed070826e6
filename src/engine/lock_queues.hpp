/// The lock queues of one client, and their contenders.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/client_constants.hpp"
#include "engine/lock_queue.hpp"

namespace holdfast::engine {

/// Two kinds of lock with one name have two queues; the kinds exclude each other at the server. All under the
/// client's lock.
class lock_queues {
 public:
  /// `engine`: the owner; null in tests of its parts. `emptied` is called when the last queue is gone, and
  /// may not end this object.
  lock_queues(core* engine, client_constants const& client, std::function<void()> emptied);

  [[nodiscard]] core& engine() const noexcept { return *engine_; }
  [[nodiscard]] client_constants const& client() const noexcept { return client_; }

  /// The queue of that lock, which is made if there is none.
  [[nodiscard]] lock_queue_ptr pin(recipe const& lock_recipe, std::string_view name);
  /// Null: there is none.
  [[nodiscard]] lock_queue* find(recipe const& lock_recipe, std::string_view name) const noexcept;
  /// Of all queues so far.
  [[nodiscard]] std::span<recipe const* const> kinds() const noexcept { return kinds_; }
  /// The last pointer to the queue was dropped.
  void erase(lock_queue& queue) noexcept;

  /// `f` may drop its queue.
  template <class F>
  void for_each(F f) const {
    for (auto next = all_.begin(); next != all_.end();) {
      lock_queue_ptr const queue{const_cast<lock_queue*>(&*next++)};
      f(*queue);
    }
  }

  template <class F>
  [[nodiscard]] bool any_of(F f) const {
    return std::ranges::any_of(all_, f);
  }

  /// A number for a contender, and for what it acquires: greater than all before.
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++last_number_; }
  [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }

  /// Makes it the queue's contender.
  void add(lock_queue& queue, std::unique_ptr<contender> opened) noexcept;
  /// Ends the contender of the queue.
  void remove_contender(lock_queue& queue) noexcept;
  /// Ends all.
  void remove_contenders() noexcept;
  /// The queue whose contender has that number; null: that contender is over.
  [[nodiscard]] lock_queue* contending(std::uint64_t number) const noexcept;

  /// `f` may end the contender of its queue, but begin no other.
  template <class F>
  void for_each_contending(F f) const {
    for (auto next = contenders_.begin(); next != contenders_.end();) {
      lock_queue_ptr const queue{(next++)->queue};
      if (queue->contender) f(*queue);
    }
  }

 private:
  struct key {
    recipe const* lock_recipe;
    std::string_view name;
    key(lock_queue const& queue) noexcept : lock_recipe{&queue.lock_recipe()}, name{queue.name()} {}
    key(recipe const& kind, std::string_view lock_name) noexcept : lock_recipe{&kind}, name{lock_name} {}
    friend bool operator==(key const&, key const&) = default;
  };
  struct hash {
    using is_transparent = void;
    std::size_t operator()(key const& queue) const noexcept {
      return std::hash<std::string_view>{}(queue.name);
    }
  };
  struct equal {
    using is_transparent = void;
    bool operator()(key const& a, key const& b) const noexcept { return a == b; }
  };

  core* const engine_;
  client_constants const& client_;
  std::function<void()> emptied_;
  std::unordered_set<lock_queue, hash, equal> all_;
  contender_set contenders_;  ///< by number, for messages
  std::vector<recipe const*> kinds_;
  std::uint64_t last_number_ = 0;
};

/// Whether that is the number of the queue's contender.
[[nodiscard]] inline bool is_contender(lock_queue const& queue, std::uint64_t number) noexcept {
  return queue.contender && queue.contender->number == number;
}

}  // namespace holdfast::engine
