#include <holdfast/error.hpp>
#include <holdfast/synchronized.hpp>

namespace holdfast::detail {

std::optional<lease> take(exclusive_lock& lock, std::optional<milliseconds> wait) {
  if (!wait) return lock.acquire();
  return lock.try_acquire_for(*wait);
}

lease take_or_throw(client const& redis, exclusive_lock& lock, std::optional<milliseconds> wait) {
  auto acquired = take(lock, wait);
  if (acquired) return std::move(*acquired);
  auto message = redis.url() + ": the lock \"" + lock.name() + "\" was busy";
  if (wait->count() > 0) message += " for " + std::to_string(wait->count()) + " ms";
  if (auto const holder = lock.last_busy()) message += ": " + holder->to_string();
  throw error{errc::busy, message};
}

void give_back(client const& redis, lease& held, if_lost policy) {
  auto const name = held.name();
  if (name.empty()) return;  // the function has released it
  auto const cause = held.lost_because();
  if (held.release() != release_result::lost || policy == if_lost::ignore) return;
  throw error{errc::lost, redis.url() + ": the lock \"" + name +
                              "\" was lost while the function ran under it (" +
                              (cause == loss_cause::none ? std::string{"its key was gone or somebody else's"}
                                                         : std::string{to_string(cause)}) +
                              "): somebody else may have run at the same time"};
}

}  // namespace holdfast::detail
