#include "script/names_redisson.hpp"
#include "scripts/redisson_permit.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/permit_id.hpp"
#include "sync/redisson/shared_counter.hpp"
#include "sync/redisson/ttl_mode.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

namespace permit_calls {

using names::redisson::permits;
using names::redisson::semaphore_channel;
namespace lua = scripts::redisson_permit;

call acquire(std::string_view name, acquire_request const& how) {
  auto const out = permits(name);
  auto const id = permit_id(how.owner);
  auto const channel = semaphore_channel(name);
  return lua::acquire{.counter = {name},
                      .permits = {out},
                      .id = id,
                      .ttl_ms = how.ttl.count(),
                      .size = how.amount,
                      .publish = word_of(how.policy.publish),
                      .channel = channel}();
}

/// Also ends a bid: it may have a permit by now.
call release(owned what, release_policy how) {
  auto const out = permits(what.name);
  auto const id = permit_id(what.owner);
  auto const channel = semaphore_channel(what.name);
  return lua::release{.counter = {what.name},
                      .permits = {out},
                      .id = id,
                      .publish = word_of(how.publish),
                      .channel = channel}();
}

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  std::vector<std::string> out;
  std::vector<std::string> ids;
  for (auto const& one : leases) {
    out.push_back(permits(one.name));
    ids.push_back(permit_id(one.owner));
  }
  lua::renew script{.all_permits = {}, .ttl_ms = ttl.count(), .mode = mode, .ids = {}};
  for (auto const& one : out) script.all_permits.push_back({one});
  for (auto const& one : ids) script.ids.emplace_back(one);
  return script();
}

call renew(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, exactly, leases); }

std::string id_of(std::string_view owner) { return shown(permit_id(owner)); }

}  // namespace permit_calls
}  // namespace

constinit engine::recipe const permit{.sharing = sharing::counted,
                                      .queues = false,
                                      .acquire = permit_calls::acquire,
                                      .read_acquire = replies::read_acquire,
                                      .release = permit_calls::release,
                                      .read_release = replies::read_release,
                                      .abandon = permit_calls::release,
                                      .renew = permit_calls::renew,
                                      .read_renew = replies::read_renew,
                                      .set_ttl = permit_calls::set_ttl,
                                      .channels = semaphore_channels,
                                      .id_of = permit_calls::id_of};

}  // namespace holdfast::sync::redisson
