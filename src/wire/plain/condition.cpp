#include "wire/plain/condition.hpp"

#include <array>

#include "script/names.hpp"
#include "scripts/condition.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace condition_calls {

namespace lua = scripts::condition;

/// The keys of the waiters, beside those of the lock. `name` must outlive them.
struct keys : plain::keys {
  explicit keys(std::string_view name)
      : plain::keys{name}, waiting{names::condition(name)}, counting{names::condition_until(name)} {}
  std::string waiting;
  std::string counting;
};

call ask(std::string_view seat, acquire_request const& request) {
  keys const k{seats.first(seat)};
  return lua::ask{.lock = k.lock,
                  .queue = k.queue,
                  .waiting = {k.waiting},
                  .counting = {k.counting},
                  .owner = request.owner,
                  .listens = request.listening ? "listens" : "asks",
                  .credit_ms = request.policy.credit.count(),
                  .grant_ms = request.policy.grant.count(),
                  .publish = engine::word_of(request.policy.publish)}();
}

std::string_view word_of(leaving why) {
  switch (why) {
    case leaving::asks:
      return "asks";
    case leaving::will_ask:
      return "will_ask";
    case leaving::may_be_told:
      return "may_be_told";
    case leaving::passes_on:
      break;
  }
  return "passes_on";
}

leaving leaving_for(departure why) noexcept {
  switch (why) {
    case departure::timed_out:
      return leaving::will_ask;
    case departure::may_be_told:
      return leaving::may_be_told;
    case departure::left:
      break;
  }
  return leaving::passes_on;
}

call abandon(owned waiter, release_policy policy) {
  return plain::leave({.name = seats.first(waiter.name), .owner = waiter.owner}, leaving_for(policy.why),
                      policy.publish);
}

}  // namespace condition_calls
}  // namespace

constinit engine::recipe const condition{.kind = history::kind::condition,
                                         .sharing = sharing::counted,
                                         .leased = false,
                                         .counts_waiters = true,
                                         .acquire = condition_calls::ask,
                                         .abandon = condition_calls::abandon,
                                         .several = &seats};

call begin_to_wait(owned lease, release_policy policy) {
  condition_calls::keys const k{lease.name};
  return scripts::condition::begin{.lock = k.lock,
                                   .counter = k.counter,
                                   .queue = k.queue,
                                   .waiting = {k.waiting},
                                   .counting = {k.counting},
                                   .owner = lease.owner,
                                   .credit_ms = policy.credit.count(),
                                   .starvation_us = policy.starvation.count(),
                                   .grant_ms = policy.grant.count(),
                                   .publish = word_of(policy.publish)}();
}

call leave(owned lease, leaving why, publishing mode) {
  condition_calls::keys const k{lease.name};
  return scripts::condition::leave{.lock = k.lock,
                                   .queue = k.queue,
                                   .waiting = {k.waiting},
                                   .counting = {k.counting},
                                   .owner = lease.owner,
                                   .why = condition_calls::word_of(why),
                                   .grant_ms = grant_ttl.count(),
                                   .publish = word_of(mode)}();
}

std::string seat_of_waiter(std::string_view name, std::uint64_t number) {
  return join_names(std::array{std::string{name}, std::to_string(number)});
}

}  // namespace holdfast::recipes::plain
