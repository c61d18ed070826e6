#include "wire/lock_names.hpp"

#include "scripts/redisson_multi.hpp"
#include "wire/redisson/owner_hash.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace multi_calls {

namespace lua = scripts::redisson_multi;

std::vector<key> keys_of(std::string_view joined) {
  std::vector<key> keys;
  for (auto const name : split_names(joined)) keys.push_back({name});
  return keys;
}

std::vector<std::string> channels(std::string_view joined, std::string_view /*owner*/) {
  std::vector<std::string> result;
  for (auto const name : split_names(joined)) result.push_back(names::redisson::lock_channel(name));
  return result;
}

call acquire(std::string_view name, acquire_request const& request) {
  return lua::acquire{.locks = keys_of(name),
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .handoffs = request.tokens}();
}

/// Release and abandon take the same arguments.
template <class Script>
call give_back(owned lease, release_policy policy) {
  auto const release_channels = policy.quiet ? std::vector<std::string>{} : channels(lease.name, lease.owner);
  return Script{.locks = keys_of(lease.name),
                .owner = lease.owner,
                .publish = word_of(policy.publish),
                .channels = {release_channels.begin(), release_channels.end()}}();
}

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .mode = mode, .leases = {}};
  add_leases(leases, script.locks, script.leases);
  return script();
}

call renew_all(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl_of_all(milliseconds ttl, std::span<owned const> leases) {
  return give_ttl(ttl, exactly, leases);
}

}  // namespace multi_calls
}  // namespace

constexpr recipe multi{.order = order::barging,
                       .queues = false,
                       .acquire = multi_calls::acquire,
                       .release = multi_calls::give_back<multi_calls::lua::release>,
                       .abandon = multi_calls::give_back<multi_calls::lua::abandon>,
                       .renew = multi_calls::renew_all,
                       .set_ttl = multi_calls::set_ttl_of_all,
                       .several = &several,
                       .channels = multi_calls::channels};

}  // namespace holdfast::recipes::redisson
