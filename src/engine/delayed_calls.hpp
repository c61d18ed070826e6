/// Calls at a later time, each once.
#pragma once

#include <list>
#include <utility>

#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// All under the client's lock.
class delayed_calls {
 public:
  explicit delayed_calls(reactor::loop& loop) noexcept : loop_{loop} {}

  /// Calls `f` once, at `when`. Throws std::bad_alloc, and then has no effect, and `f` is unchanged.
  void add(time_point when, callback<void()>&& f) {
    auto const added = all_.emplace(all_.end());
    added->call = std::move(f);
    added->timer.set([this, added] {
      auto call = std::move(added->call);
      all_.erase(added);
      call();
    });
    loop_.arm(added->timer, when);
  }

  /// Calls all of them now.
  void run_all() {
    while (!all_.empty()) {
      auto call = std::move(all_.front().call);
      all_.pop_front();
      call();
    }
  }

 private:
  struct entry {
    callback<void()> call{};
    reactor::timer timer{{}};
  };

  reactor::loop& loop_;
  std::list<entry> all_;
};

}  // namespace holdfast::engine
