#include "sync/seat.hpp"

#include <utility>

#include "engine/access.hpp"
#include "sync/options_check.hpp"
#include "sync/thrown.hpp"

namespace holdfast::sync {

seat::seat(client& redis, std::string name, lock_options const& options, engine::recipe const& kind)
    : core_{engine::access::core_of(redis)},
      name_{std::move(name)},
      how_{core_->share(options)},
      line_{core_->pin(kind, name_)} {}

seat::~seat() { core_->unpin(line_); }

std::optional<lease> seat::acquire(engine::patience_time wait, std::stop_token const& stop, int size) const {
  auto mine = core_->acquire(line_, how_, wait, stop, size);
  if (!mine) return std::nullopt;
  return engine::held::handle(std::move(mine));
}

void seat::async_acquire(engine::patience_time wait, exclusive_lock::acquire_handler done,
                         std::stop_token stop, int size) const {
  core_->async_acquire(
      line_, how_, wait, std::move(stop),
      [done = std::move(done)](engine::held_ptr of, std::shared_ptr<error const> const& failure) {
        std::optional<lease> result;
        if (of) result = engine::held::handle(std::move(of));
        done(std::move(result), failure ? thrown(*failure) : nullptr);
      },
      size);
}

bool seat::pass(engine::patience_time wait, std::stop_token const& stop, int amount) const {
  auto granted = core_->acquire(line_, how_, wait, stop, amount);
  if (!granted) return false;
  core_->forget(granted);
  return true;
}

void seat::async_pass(engine::patience_time wait, std::function<void(bool, std::exception_ptr)> done,
                      std::stop_token stop, int amount) const {
  core_->async_acquire(
      line_, how_, wait, std::move(stop),
      [core = core_.get(), done = std::move(done)](engine::held_ptr granted,
                                                   std::shared_ptr<error const> const& failure) {
        auto const got = granted != nullptr;
        if (got) core->forget(granted);
        done(got, failure ? thrown(*failure) : nullptr);
      },
      amount);
}

void seat::check_wait(std::chrono::nanoseconds wait) const {
  check(wait.count() >= 0, "the time to wait for \"" + name_ + "\" is negative");
}

}  // namespace holdfast::sync
