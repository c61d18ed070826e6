#include <chrono>

#include "script/names_redisson.hpp"
#include "scripts/redisson_semaphore.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/shared_counter.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

namespace semaphore_calls {

using names::redisson::done;
namespace lua = scripts::redisson_semaphore;

/// How long the server knows what a bid has taken. Longer than the engine tries to give back what a bid
/// nobody wants any more may have taken, which is a minute; not much longer, since each acquisition has such
/// a note.
constexpr milliseconds bid_is_noted{120'000};

call acquire(std::string_view name, acquire_request const& how) {
  auto const note = done(name, how.owner);
  return lua::acquire{
      .counter = {name}, .done = {note}, .amount = how.amount, .done_ms = bid_is_noted.count()}();
}

call abandon(owned what, release_policy how) {
  auto const note = done(what.name, what.owner);
  auto const channel = names::redisson::semaphore_channel(what.name);
  return lua::abandon{.counter = {what.name},
                      .done = {note},
                      .publish = word_of(how.publish),
                      .channel = channel,
                      .done_ms = bid_is_noted.count()}();
}

}  // namespace semaphore_calls
}  // namespace

constinit engine::recipe const semaphore{.sharing = sharing::counted,
                                         .leased = false,
                                         .queues = false,
                                         .acquire = semaphore_calls::acquire,
                                         .read_acquire = replies::read_acquire,
                                         .abandon = semaphore_calls::abandon,
                                         .channels = semaphore_channels};

}  // namespace holdfast::sync::redisson
