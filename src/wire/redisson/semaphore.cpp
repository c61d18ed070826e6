#include <chrono>

#include "script/names_redisson.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "wire/redisson/recipes.hpp"
#include "wire/redisson/semaphore_channels.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace semaphore_calls {

using names::redisson::done;
namespace lua = scripts::redisson_semaphore;

/// Lifetime of the mark that records what a contender has taken. Longer than the engine tries to give back
/// what an abandoned contender may have taken, which is a minute; not much longer, since each acquisition has
/// such a mark.
constexpr milliseconds mark_ttl{120'000};

call acquire(std::string_view name, acquire_request const& request) {
  auto const mark = done(name, request.owner);
  auto const channel = names::redisson::semaphore_channel(name);
  return lua::acquire{.counter = {name},
                      .done = {mark},
                      .amount = request.amount,
                      .done_ms = mark_ttl.count(),
                      .size = request.size,
                      .publish = word_of(request.policy.publish),
                      .channel = channel}();
}

call abandon(owned lease, release_policy policy) {
  auto const mark = done(lease.name, lease.owner);
  auto const channel = names::redisson::semaphore_channel(lease.name);
  return lua::abandon{.counter = {lease.name},
                      .done = {mark},
                      .publish = word_of(policy.publish),
                      .channel = channel,
                      .done_ms = mark_ttl.count()}();
}

}  // namespace semaphore_calls
}  // namespace

constinit engine::recipe const semaphore{.kind = history::kind::semaphore,
                                         .sharing = sharing::counted,
                                         .leased = false,
                                         .queues = false,
                                         .acquire = semaphore_calls::acquire,
                                         .abandon = semaphore_calls::abandon,
                                         .channels = semaphore_channels};

}  // namespace holdfast::recipes::redisson
