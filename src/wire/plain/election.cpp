#include "wire/plain/election.hpp"

#include <string>
#include <vector>

#include "scripts/election.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace election_calls {

namespace lua = scripts::election;

/// The strings must outlive the making of the call.
struct leader_keys : plain::keys {
  explicit leader_keys(std::string_view name) : plain::keys{name}, leader{names::leader(name)} {}
  std::string leader;
};

call acquire(std::string_view name, acquire_request const& request) {
  return plain::fair.acquire(name, request);
}

call release(owned lease, release_policy policy) {
  leader_keys const k{lease.name};
  return lua::release{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .leader = {k.leader},
                      .owner = lease.owner,
                      .starvation_us = policy.starvation.count(),
                      .grant_ms = policy.grant.count(),
                      .publish = word_of(policy.publish)}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  leader_keys const k{lease.name};
  return lua::pass{.lock = k.lock,
                   .counter = k.counter,
                   .queue = k.queue,
                   .leader = {k.leader},
                   .owner = lease.owner,
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens,
                   .waited_us = next.waited.count()}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  std::vector<std::string> leaders;
  leaders.reserve(leases.size());
  lua::renew script{.keys = {}, .ttl_ms = ttl.count(), .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    leaders.push_back(names::leader(lease.name));
    script.keys.push_back({lease.name});
    script.owners.emplace_back(lease.owner);
  }
  for (auto const& key : leaders) script.keys.push_back({key});
  return script();
}

}  // namespace election_calls
}  // namespace

constinit engine::recipe const election{.kind = history::kind::election,
                                        .order = order::strict,
                                        .found_by_counter = true,
                                        .acquire = election_calls::acquire,
                                        .release = election_calls::release,
                                        .pass = election_calls::pass,
                                        .abandon = plain::abandon,
                                        .renew = election_calls::renew};

call publish(owned lease, std::int64_t term, std::string_view value, milliseconds ttl, publishing mode) {
  auto const leader = names::leader(lease.name);
  return election_calls::lua::publish{.lock = {lease.name},
                                      .leader = {leader},
                                      .owner = lease.owner,
                                      .term = term,
                                      .value = value,
                                      .ttl_ms = ttl.count(),
                                      .publish = word_of(mode)}();
}

call read_leader(std::string_view name) {
  auto const leader = names::leader(name);
  return election_calls::lua::read{.lock = {name}, .leader = {leader}}();
}

call nominate(owned lease, std::string_view candidate, publishing mode) {
  election_calls::leader_keys const k{lease.name};
  return election_calls::lua::nominate{.lock = k.lock,
                                       .queue = k.queue,
                                       .leader = {k.leader},
                                       .owner = lease.owner,
                                       .candidate = candidate,
                                       .publish = word_of(mode)}();
}

}  // namespace holdfast::recipes::plain
