/// Functions to be called when the lock is free.
#pragma once

#include <cstddef>
#include <list>
#include <type_traits>
#include <utility>

#include "base/callback.hpp"

namespace holdfast::reactor {

/// In their order. The memory of some calls is kept for reuse, so that a call seldom allocates.
class deferred_calls {
 public:
  using list = std::list<callback<void()>>;

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }

  /// Throws std::bad_alloc, and then has no effect.
  void add(callback<void()> f) {
    if (spare_.empty()) {
      all_.push_back(std::move(f));
      return;
    }
    spare_.front() = std::move(f);
    all_.splice(all_.end(), spare_, spare_.begin());
  }
  void add(list&& ready) noexcept { all_.splice(all_.end(), ready); }

  /// Makes room for one add_promised(). Throws std::bad_alloc, and then has no effect.
  void promise() {
    if (spare_.empty()) {
      promised_.emplace_back();
    } else {
      promised_.splice(promised_.end(), spare_, spare_.begin());
    }
  }
  template <class F>
  void add_promised(F f) noexcept {
    static_assert(sizeof(F) <= usual_room && std::is_nothrow_move_constructible_v<F>, "it needs no memory");
    promised_.front() = std::move(f);
    all_.splice(all_.end(), promised_, promised_.begin());
  }

  /// Puts them before all others.
  void put_first(list& calls) noexcept { all_.splice(all_.begin(), calls); }

  /// Moves all to the end of `batch`.
  void move_to(list& batch) noexcept { batch.splice(batch.end(), all_); }
  /// Keeps no more calls that were made than reuse() takes: drops the first one if they are too many.
  static void limit(list& used) noexcept {
    if (used.size() > most_spare) used.pop_front();
  }
  /// Calls that were made, and are empty now: their memory.
  void reuse(list& used) noexcept {
    if (spare_.size() + used.size() <= most_spare) spare_.splice(spare_.end(), used);
  }

 private:
  static constexpr std::size_t most_spare = 256;

  list all_;
  list promised_;  ///< empty functions, each for an add_promised()
  list spare_;     ///< empty functions
};

}  // namespace holdfast::reactor
