#include "wire/plain/permits.hpp"

#include "scripts/permits.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace permit_calls {

namespace lua = scripts::permits;

call acquire(std::string_view name, acquire_request const& request) {
  permit_keys const k{name};
  return lua::acquire{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .size = k.size,
                      .owner = request.owner,
                      .amount = request.amount,
                      .ttl_ms = request.ttl.count(),
                      .offered = request.size,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .waited_us = request.waited.count(),
                      .grant_ms = grant_ttl.count(),
                      .publish = word_of(request.policy.publish)}();
}

/// A caller that comes when all permits are free, and whose number of permits nobody has set, is the text of
/// the key until others come.
transaction fast_acquire(std::string_view name, acquire_request const& request) {
  permit_keys const k{name};
  auto const text = std::string{names::held_by_one_permit}
                        .append(std::to_string(request.size))
                        .append(" ")
                        .append(request.owner);
  return take_if_free(name, text, request.ttl, "INCR", {k.queue, k.size});
}
call fast_release(owned lease) {
  permit_keys const k{lease.name};
  return lua::fast_release{.lock = k.lock, .queue = k.queue, .owner = lease.owner}();
}

/// A script that takes an owner out, and lets those in that wait: `more` are the arguments that it has
/// beside these.
template <class Script, class... More>
call take_out(owned lease, release_policy policy, More... more) {
  permit_keys const k{lease.name};
  return Script{
      k.lock, k.counter, k.queue, k.size, lease.owner, policy.grant.count(), word_of(policy.publish),
      more...}();
}

call release(owned lease, release_policy policy) { return take_out<lua::release>(lease, policy); }

/// Longer than a network keeps a copy of a request.
constexpr milliseconds copies_last{std::chrono::hours{1}};

call abandon(owned lease, release_policy policy) {
  return take_out<lua::abandon>(lease, policy, policy.copied ? copies_last.count() : 0);
}

std::string lasting_id(std::string_view owner) { return std::string{owner}.append(names::lasting_suffix); }

/// No computation with such a time overflows, in any of the units of the servers and clients.
constexpr milliseconds lasting_ttl = std::chrono::days{36'500};

call acquire_lasting(std::string_view name, acquire_request const& request) {
  auto const id = lasting_id(request.owner);
  auto lasting = request;
  lasting.owner = id;
  lasting.ttl = lasting_ttl;
  return acquire(name, lasting);
}
call abandon_lasting(owned permit, release_policy policy) {
  auto const id = lasting_id(permit.owner);
  return abandon({.name = permit.name, .owner = id}, policy);
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .owners = {}};
  script.locks.reserve(leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    script.locks.push_back({lease.name});
    script.owners.emplace_back(lease.owner);
  }
  return script();
}

}  // namespace permit_calls
}  // namespace

constinit engine::recipe const permits{
    .kind = history::kind::permits,
    .order = order::strict,
    .sharing = sharing::counted,
    .found_by_counter = true,  // one permit by itself is a text, and no set
    .acquire = permit_calls::acquire,
    .fast_acquire = permit_calls::fast_acquire,
    .release = permit_calls::release,
    .fast_release = permit_calls::fast_release,
    .abandon = permit_calls::abandon,
    .renew = permit_calls::renew};

constinit engine::recipe const lasting_permits{.kind = history::kind::semaphore,
                                               .order = order::strict,
                                               .sharing = sharing::counted,
                                               .leased = false,
                                               .lasts = true,
                                               .acquire = permit_calls::acquire_lasting,
                                               .abandon = permit_calls::abandon_lasting,
                                               .id_of = permit_calls::lasting_id};

}  // namespace holdfast::recipes::plain
