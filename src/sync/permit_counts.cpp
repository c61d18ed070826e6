#include "sync/permit_counts.hpp"

#include "engine/recipe.hpp"
#include "scripts/permits.hpp"

namespace holdfast::sync {

resp::reply count_permits(shared_counter& permits, recipes::plain::permit_keys const& keys,
                          std::int64_t const offered) {
  return permits
      .ask(scripts::permits::counts{.lock = keys.lock,
                                    .counter = keys.counter,
                                    .queue = keys.queue,
                                    .size = keys.size,
                                    .offered = offered,
                                    .grant_ms = engine::grant_ttl.count(),
                                    .publish = permits.publish()}())
      .reply;
}

bool resize_permits(shared_counter& permits, recipes::plain::permit_keys const& keys,
                    std::string_view const mode, std::int64_t const number, std::int64_t const offered) {
  return permits.change(scripts::permits::resize{.lock = keys.lock,
                                                 .counter = keys.counter,
                                                 .queue = keys.queue,
                                                 .size = keys.size,
                                                 .done = {},
                                                 .answered = {},
                                                 .mode = mode,
                                                 .number = number,
                                                 .offered = offered,
                                                 .grant_ms = engine::grant_ttl.count(),
                                                 .publish = permits.publish(),
                                                 .done_ms = idempotency_marks::kept_ms}) == 1;
}

}  // namespace holdfast::sync
