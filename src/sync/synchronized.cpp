#include <holdfast/error.hpp>
#include <holdfast/synchronized.hpp>

namespace holdfast::detail {

std::optional<lease> take(exclusive_lock& from, std::optional<milliseconds> wait) {
  if (!wait) return from.acquire();
  return from.try_acquire_for(*wait);
}

lease take_or_throw(client const& redis, exclusive_lock& from, std::optional<milliseconds> wait) {
  auto mine = take(from, wait);
  if (mine) return std::move(*mine);
  auto what = redis.url() + ": the lock \"" + from.name() + "\" was busy";
  if (wait->count() > 0) what += " for " + std::to_string(wait->count()) + " ms";
  if (auto const by = from.last_busy()) what += ": " + by->to_string();
  throw error{errc::busy, what};
}

void give_back(client const& redis, lease& mine, if_lost how) {
  auto const name = mine.name();
  if (name.empty()) return;  // the function has done it
  auto const because = mine.lost_because();
  if (mine.release() != release_result::lost || how == if_lost::ignore) return;
  throw error{errc::lost,
              redis.url() + ": the lock \"" + name + "\" was lost while the function ran under it (" +
                  (because == loss_cause::none ? std::string{"its key was gone or somebody else's"}
                                               : std::string{to_string(because)}) +
                  "): somebody else may have run at the same time"};
}

}  // namespace holdfast::detail
