/// A lease that is turned into another one, without a client, a server or time that passes.
#pragma once

#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "engine/lease_calls.hpp"

#include "scripts/shared.hpp"
#include "unit/a_contention.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::engine {

class a_conversion : public a_contention {
 protected:
  a_conversion() : a_contention{recipes::plain::fair} {}

  /// A writer whose ttl is 12 s.
  [[nodiscard]] lease_state_ptr write(lock_options options = {}) {
    options.ttl = std::chrono::seconds{12};
    auto& caller = start(options);
    backend_.answer(granted_from(100));
    (void)backend_.take_sent();
    return caller.lease;
  }
  /// Its caller doesn't have the lock while `f` runs, and waits for an answer.
  void become_reader(lease_state_ptr held, std::function<void()> f) {
    loop_.simulate([this, &f] {
      reactor::lock hold{loop_.mutex()};
      f();
      loop_.leave(hold);
    });
    try {
      next_ = leases_.become(std::move(held), readers_, call{scripts::shared::downgrade::source, {}, {}});
    } catch (error const& reason) {
      failure_ = reason.code();
    }
  }

  /// Within the call above.
  void let_time_pass(std::chrono::nanoseconds time) {
    clock_.advance(time);
    reactor::moved_clock::fire_timers(loop_);
  }

  lock_queue_ptr const readers_ = pin(recipes::plain::reader, queue_->name());
  call_gate gate_{loop_, client_};
  conversions conversions_{backend_, client_, delayed_, moments_.get()};
  lease_calls leases_{loop_,
                      backend_,
                      client_,
                      gate_,
                      stats_,
                      holders_,
                      renewer_,
                      pending_releases_,
                      loop_of_client_.ends,
                      conversions_,
                      moments_.get()};
  lease_state_ptr next_;
  std::error_code failure_;
};

}  // namespace holdfast::engine
