#include "scripts/redisson_fair.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/owner_hash.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

namespace fair_calls {

namespace lua = scripts::redisson_fair;

/// Keys of one lock. The strings must live as long as the call is being made.
struct keys {
  explicit keys(std::string_view name)
      : lock{name},
        queue{names::redisson::fair_queue(name)},
        timeouts{names::redisson::fair_timeouts(name)} {}
  std::string_view lock;
  std::string queue;
  std::string timeouts;
};

call acquire(std::string_view name, acquire_request const& how) {
  keys const k{name};
  auto const channel = told_on(name, how.policy);
  return lua::acquire{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = how.owner,
                      .ttl_ms = how.ttl.count(),
                      .handoffs = how.tokens,
                      .mode = how.join ? "join" : "ask",
                      .credit_ms = how.policy.credit.count(),
                      .publish = word_of(how.policy.publish),
                      .channel = channel}();
}

call release(owned what, release_policy how) {
  keys const k{what.name};
  auto const channel = told_on(what.name, how);
  return lua::release{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = what.owner,
                      .publish = word_of(how.publish),
                      .channel = channel}();
}

call abandon(owned what, release_policy how) {
  keys const k{what.name};
  auto const channel = told_on(what.name, how);
  return lua::abandon{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = what.owner,
                      .credit_ms = how.credit.count(),
                      .publish = word_of(how.publish),
                      .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view owner) {
  return {names::redisson::waiter_channel(name, owner)};
}

}  // namespace fair_calls
}  // namespace

constinit recipe const fair{.order = order::strict,
                            .acquire = fair_calls::acquire,
                            .read_acquire = replies::read_acquire,
                            .release = fair_calls::release,
                            .read_release = replies::read_release,
                            .abandon = fair_calls::abandon,
                            .renew = renew,
                            .read_renew = replies::read_renew,
                            .set_ttl = set_ttl,
                            .channels = fair_calls::channels};

}  // namespace holdfast::sync::redisson
