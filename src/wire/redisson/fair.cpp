#include "scripts/redisson_fair.hpp"
#include "wire/redisson/owner_hash.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace fair_calls {

namespace lua = scripts::redisson_fair;

/// Keys of one lock. The strings must outlive the making of the call.
struct keys {
  explicit keys(std::string_view name)
      : lock{name},
        queue{names::redisson::fair_queue(name)},
        timeouts{names::redisson::fair_timeouts(name)} {}
  std::string_view lock;
  std::string queue;
  std::string timeouts;
};

call acquire(std::string_view name, acquire_request const& request) {
  keys const k{name};
  auto const channel = release_channel(name, request.policy);
  return lua::acquire{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .handoffs = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .credit_ms = request.policy.credit.count(),
                      .publish = word_of(request.policy.publish),
                      .channel = channel}();
}

call release(owned lease, release_policy policy) {
  keys const k{lease.name};
  auto const channel = release_channel(lease.name, policy);
  return lua::release{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = lease.owner,
                      .publish = word_of(policy.publish),
                      .channel = channel}();
}

call abandon(owned lease, release_policy policy) {
  keys const k{lease.name};
  auto const channel = release_channel(lease.name, policy);
  return lua::abandon{.lock = {k.lock},
                      .queue = {k.queue},
                      .timeouts = {k.timeouts},
                      .owner = lease.owner,
                      .credit_ms = policy.credit.count(),
                      .publish = word_of(policy.publish),
                      .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view owner) {
  return {names::redisson::waiter_channel(name, owner)};
}

}  // namespace fair_calls
}  // namespace

constinit recipe const fair{.kind = history::kind::fair,
                            .order = order::strict,
                            .acquire = fair_calls::acquire,
                            .release = fair_calls::release,
                            .abandon = fair_calls::abandon,
                            .renew = renew,
                            .set_ttl = set_ttl,
                            .channels = fair_calls::channels};

}  // namespace holdfast::recipes::redisson
