#include "script/names_redisson.hpp"
#include "scripts/redisson_permit.hpp"
#include "wire/redisson/permit_id.hpp"
#include "wire/redisson/recipes.hpp"
#include "wire/redisson/semaphore_channels.hpp"
#include "wire/redisson/ttl_mode.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace permit_calls {

using names::redisson::permits;
using names::redisson::semaphore_channel;
namespace lua = scripts::redisson_permit;

call acquire(std::string_view name, acquire_request const& request) {
  auto const permits_key = permits(name);
  auto const id = permit_id(request.owner);
  auto const channel = semaphore_channel(name);
  return lua::acquire{.counter = {name},
                      .permits = {permits_key},
                      .id = id,
                      .ttl_ms = request.ttl.count(),
                      .size = request.amount,
                      .publish = word_of(request.policy.publish),
                      .channel = channel}();
}

/// Also ends a contender, which may have a permit by now.
call release(owned lease, release_policy policy) {
  auto const permits_key = permits(lease.name);
  auto const id = permit_id(lease.owner);
  auto const channel = semaphore_channel(lease.name);
  return lua::release{.counter = {lease.name},
                      .permits = {permits_key},
                      .id = id,
                      .publish = word_of(policy.publish),
                      .channel = channel}();
}

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  std::vector<std::string> permits_keys;
  std::vector<std::string> ids;
  for (auto const& lease : leases) {
    permits_keys.push_back(permits(lease.name));
    ids.push_back(permit_id(lease.owner));
  }
  lua::renew script{.all_permits = {}, .ttl_ms = ttl.count(), .mode = mode, .ids = {}};
  for (auto const& permits_key : permits_keys) script.all_permits.push_back({permits_key});
  for (auto const& id : ids) script.ids.emplace_back(id);
  return script();
}

call renew(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, exactly, leases); }

std::string id_of(std::string_view owner) { return shown(permit_id(owner)); }

}  // namespace permit_calls
}  // namespace

constinit engine::recipe const permit{.kind = history::kind::permits,
                                      .sharing = sharing::counted,
                                      .queues = false,
                                      .acquire = permit_calls::acquire,
                                      .release = permit_calls::release,
                                      .abandon = permit_calls::release,
                                      .renew = permit_calls::renew,
                                      .set_ttl = permit_calls::set_ttl,
                                      .channels = semaphore_channels,
                                      .id_of = permit_calls::id_of};

}  // namespace holdfast::recipes::redisson
