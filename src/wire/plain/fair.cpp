#include "wire/plain/fair.hpp"

#include "scripts/fair.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace fair_calls {

namespace lua = scripts::fair;

call acquire(std::string_view name, acquire_request const& request) {
  plain::keys const k{name};
  return lua::acquire{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .waited_us = request.waited.count(),
                      .grant_ms = grant_ttl.count(),
                      .publish = word_of(request.policy.publish)}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  plain::keys const k{lease.name};
  return lua::pass{.lock = k.lock,
                   .counter = k.counter,
                   .queue = k.queue,
                   .owner = lease.owner,
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens,
                   .waited_us = next.waited.count()}();
}

}  // namespace fair_calls
}  // namespace

constinit engine::recipe const fair{.kind = history::kind::fair,
                                    .order = order::strict,
                                    .blocked_by = blocked_by::all,
                                    .found_by_counter = true,
                                    .acquire = fair_calls::acquire,
                                    .fast_acquire = plain::fast_acquire_in_order,
                                    .release = plain::release,
                                    .fast_release = plain::fast_release,
                                    .release_unwanted = plain::release_unwanted,
                                    .pass = fair_calls::pass,
                                    .abandon = plain::abandon,
                                    .renew = plain::renew};

}  // namespace holdfast::recipes::plain
