#include "wire/plain/multi.hpp"

#include "script/names.hpp"
#include "scripts/multi.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace multi_calls {

namespace lua = scripts::multi;

/// Keys of all names. `joined` must outlive the making of the call.
struct all_keys {
  explicit all_keys(std::string_view joined) {
    auto const list = split_names(joined);
    keys.reserve(3 * list.size());
    for (auto const name : list) keys.push_back({name});
    for (auto const name : list) keys.push_back({name, names::side_key::counter});
    for (auto const name : list) keys.push_back({name, names::side_key::queue});
  }
  std::vector<key> keys{};
};

call acquire(std::string_view name, acquire_request const& request) {
  all_keys const k{name};
  return lua::acquire{.keys = k.keys,
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .starvation_us = request.policy.starvation.count(),
                      .grant_ms = request.policy.grant.count(),
                      .publish = word_of(request.policy.publish)}();
}

call release(owned lease, release_policy policy) {
  all_keys const k{lease.name};
  return lua::release{.keys = k.keys,
                      .owner = lease.owner,
                      .starvation_us = policy.starvation.count(),
                      .grant_ms = policy.grant.count(),
                      .publish = word_of(policy.publish)}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  all_keys const k{lease.name};
  return lua::pass{.keys = k.keys,
                   .owner = lease.owner,
                   .starvation_us = policy.starvation.count(),
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens}();
}

call abandon(owned lease, release_policy policy) {
  all_keys const k{lease.name};
  return lua::abandon{.keys = k.keys,
                      .owner = lease.owner,
                      .starvation_us = policy.starvation.count(),
                      .grant_ms = policy.grant.count(),
                      .publish = word_of(policy.publish)}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .leases = {}};
  add_leases(leases, script.locks, script.leases);
  return script();
}

}  // namespace multi_calls
}  // namespace

constinit engine::recipe const multi{.order = order::barging,
                                     .blocked_by = blocked_by::all,
                                     .found_by_counter = true,
                                     .acquire = multi_calls::acquire,
                                     .release = multi_calls::release,
                                     .pass = multi_calls::pass,
                                     .abandon = multi_calls::abandon,
                                     .renew = multi_calls::renew,
                                     .several = &several};

}  // namespace holdfast::recipes::plain
