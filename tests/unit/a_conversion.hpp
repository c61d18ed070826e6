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
  /// `f` runs while the caller of `asks` waits for an answer, and doesn't have the lock.
  template <class F>
  void meanwhile(std::function<void()> f, F asks) {
    loop_.simulate([this, &f] {
      reactor::lock hold{loop_.mutex()};
      f();
      loop_.leave(hold);
    });
    try {
      asks();
    } catch (error const& reason) {
      failure_ = reason.code();
    }
  }
  void become_reader(lease_state_ptr held, std::function<void()> f) {
    meanwhile(std::move(f), [&] { next_ = leases_.become(std::move(held), readers_, script_); });
  }

  /// Within meanwhile().
  void let_time_pass(std::chrono::nanoseconds time) {
    clock_.advance(time);
    reactor::moved_clock::fire_timers(loop_);
  }

  call const script_{scripts::shared::downgrade::source, {}, {}};
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
                      delayed_,
                      moments_.get()};
  lease_state_ptr next_;
  std::error_code failure_;
};

}  // namespace holdfast::engine
