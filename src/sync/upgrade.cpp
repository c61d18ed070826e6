#include "sync/upgrade.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "base/thrown.hpp"
#include "sync/options_check.hpp"

namespace holdfast::sync {
namespace {

engine::lease_state& state_of(lease const& held) { return *engine::lease_state::behind(held); }

/// The wait of a writer. It ends by the caller's token, and with the upgrade lease, too, which is renewed
/// meanwhile.
class ends_of_wait {
 public:
  ends_of_wait(engine::core& core, lease const& held, std::stop_token by_caller)
      : by_caller_{std::move(by_caller), end_of(over_)},
        by_loss_{core.leases().stop_token(state_of(held)), end_of(over_)} {}

  [[nodiscard]] std::stop_token token() const { return over_.get_token(); }

 private:
  using end = std::function<void()>;
  static end end_of(std::stop_source const& over) {
    return [over]() mutable { over.request_stop(); };
  }

  std::stop_source over_;
  std::stop_callback<end> by_caller_;
  std::stop_callback<end> by_loss_;
};

/// What the failure to get the writer means for the holder of the upgrade lease.
error meant_by(error const& failure, engine::core& core, lease const& held) {
  auto& state = state_of(held);
  if (failure.code() == errc::lost) core.leases().note_lost(state);
  if (failure.code() != errc::cancelled || state.status() == engine::lease_state::state::held) return failure;
  return {errc::lost,
          "the upgrade lease of \"" + engine::shown_name(state) +
              "\" was lost while it waited for readers: " + std::string{to_string(state.cause())}};
}

engine::lock_calls::particulars in_place_of(engine::lease_state& held, engine::core& core) {
  return {.in_place_of = held.number(), .on_granted = [&held, &core](engine::lease_state& writer) {
            core.leases().take_place(held, writer, boot_clock::now());
          }};
}

/// Throws errc::lost when either is over; `held` is empty then.
void put_in_place(lease& held, engine::core& core, engine::lease_state_ptr writer) {
  auto upgraded = engine::lease_state::take(std::move(held));
  held = engine::lease_state::handle(core.leases().replace(upgraded, std::move(writer)));
}

/// An upgrade that nobody waits for.
struct pending_upgrade {
  void finish(engine::lease_state_ptr writer, std::shared_ptr<error const> const& failure) {
    ends.reset();
    std::exception_ptr problem;
    auto const upgraded = writer != nullptr;
    try {
      if (failure) throw error{meant_by(*failure, core, held)};
      if (upgraded) put_in_place(held, core, std::move(writer));
    } catch (...) {
      problem = std::current_exception();
    }
    done(std::move(held), upgraded && !problem, std::move(problem));
  }

  engine::core& core;
  upgradable_lock::upgrade_handler done;
  lease held{};
  std::optional<ends_of_wait> ends{};
};

}  // namespace

bool upgrade(lease& held, lock_binding const& writers, engine::wait_limit wait, std::stop_token stop) {
  auto& core = *writers.core();
  auto& state = state_of(held);
  engine::lease_state_ptr writer;
  try {
    ends_of_wait const ends{core, held, std::move(stop)};
    writer = core.locks().acquire(writers.queue(), engine::effective_options_ptr{&state.effective()}, wait,
                                  ends.token(), in_place_of(state, core));
  } catch (error const& failure) {
    throw error{meant_by(failure, core, held)};
  }
  if (!writer) return false;
  put_in_place(held, core, std::move(writer));
  return true;
}

void async_upgrade(lease& held, lock_binding const& writers, engine::wait_limit wait,
                   upgradable_lock::upgrade_handler done, std::stop_token stop) {
  check_handler(done, writers.name());
  auto& core = *writers.core();
  auto& state = state_of(held);
  auto const pending = std::make_shared<pending_upgrade>(core, std::move(done));
  pending->ends.emplace(core, held, std::move(stop));
  auto const over = pending->ends->token();
  engine::acquire_handler on_end = [pending](engine::lease_state_ptr writer,
                                             std::shared_ptr<error const> const& failure) {
    pending->finish(std::move(writer), failure);
  };
  engine::effective_options_ptr const options{&state.effective()};
  pending->held = std::move(held);
  try {
    core.locks().async_acquire(writers.queue(), options, wait, over, std::move(on_end),
                               in_place_of(state, core));
  } catch (...) {
    held = std::move(pending->held);
    throw;
  }
}

}  // namespace holdfast::sync
