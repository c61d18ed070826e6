#include "wire/plain/shared.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "scripts/shared.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace shared_calls {

namespace lua = scripts::shared;

std::string reader_id(std::string_view owner) { return std::string{owner}.append(names::reader_suffix); }
std::string upgrade_id(std::string_view owner) { return std::string{owner}.append(names::upgrade_suffix); }
std::string writer_id(std::string_view owner) { return std::string{owner}; }

using id_maker = std::string (*)(std::string_view owner);

struct reader_keys : plain::keys {
  explicit reader_keys(std::string_view name) : plain::keys{name}, readers{name, names::side_key::readers} {}
  key readers;
};

call ask(std::string_view name, acquire_request const& request, id_maker id_of, bool overtakes) {
  reader_keys const k{name};
  auto const id = id_of(request.owner);
  auto const waited = overtakes ? request.waited + head_start : request.waited;
  return lua::acquire{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .readers = k.readers,
                      .owner = id,
                      .ttl_ms = request.ttl.count(),
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .waited_us = waited.count(),
                      .overtakes = overtakes ? "yes" : "",
                      .grant_ms = grant_ttl.count(),
                      .publish = word_of(request.policy.publish)}();
}

call acquire(std::string_view name, acquire_request const& request) {
  return ask(name, request, reader_id, false);
}
/// A reader that comes to a free lock has it for itself, until others come: its id is the text of the key.
transaction fast_acquire(std::string_view name, acquire_request const& request) {
  return take_if_free(name, reader_id(request.owner), request.ttl, "GET", {{name, names::side_key::queue}});
}
call fast_release(owned lease) {
  auto const id = reader_id(lease.owner);
  return lua::fast_release{
      .lock = {lease.name}, .queue = {lease.name, names::side_key::queue}, .owner = id}();
}
call overtake(std::string_view name, acquire_request const& request) {
  return ask(name, request, reader_id, true);
}
call acquire_upgrade(std::string_view name, acquire_request const& request) {
  return ask(name, request, upgrade_id, false);
}

template <class Script, id_maker IdOf = reader_id>
call leave(owned lease, release_policy policy) {
  reader_keys const k{lease.name};
  auto const id = IdOf(lease.owner);
  return Script{.lock = k.lock,
                .counter = k.counter,
                .queue = k.queue,
                .readers = k.readers,
                .owner = id,
                .starvation_us = policy.starvation.count(),
                .grant_ms = policy.grant.count(),
                .publish = word_of(policy.publish)}();
}

template <id_maker IdOf, class Script = lua::renew>
call renew(milliseconds ttl, std::span<owned const> leases) {
  std::vector<std::string> ids;
  ids.reserve(leases.size());
  Script script{.keys = {}, .ttl_ms = ttl.count(), .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    script.keys.push_back({lease.name});
    script.owners.emplace_back(ids.emplace_back(IdOf(lease.owner)));
  }
  for (auto const& lease : leases) script.keys.push_back({lease.name, names::side_key::readers});
  return script();
}

/// A waiter with a ticket keeps its place: only the first request says how long it has waited.
call write_first(std::string_view name, acquire_request const& request) {
  auto early = request;
  early.waited += head_start;
  return plain::fair.acquire(name, early);
}
call pass_first(owned lease, release_policy policy, acquire_request const& next) {
  auto early = next;
  early.waited += head_start;
  return plain::fair.pass(lease, policy, early);
}

/// Ahead of callers that go first by their policy.
constexpr auto upgraders_head_start = 2 * head_start;

call upgrade(std::string_view name, acquire_request const& request) {
  reader_keys const k{name};
  auto const given_up = names::gave_up(name);
  auto const client = request.owner.substr(0, request.owner.find(':') + 1);
  auto const held = upgrade_id(std::string{client}.append(std::to_string(request.in_place_of)));
  auto const waited = request.waited + upgraders_head_start;
  return lua::upgrade{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .readers = k.readers,
                      .given_up = {given_up},
                      .owner = request.owner,
                      .upgrade = held,
                      .ttl_ms = request.ttl.count(),
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .waited_us = waited.count()}();
}

call stay(owned lease, release_policy policy) {
  plain::keys const k{lease.name};
  auto const given_up = names::gave_up(lease.name);
  return lua::stay{.lock = k.lock,
                   .counter = k.counter,
                   .queue = k.queue,
                   .given_up = {given_up},
                   .owner = lease.owner,
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish)}();
}

call become_reader(owned lease, id_maker id_of, milliseconds ttl, publishing publish) {
  reader_keys const k{lease.name};
  auto const id = id_of(lease.owner);
  return lua::downgrade{.lock = k.lock,
                        .counter = k.counter,
                        .queue = k.queue,
                        .readers = k.readers,
                        .writer = lease.owner,
                        .reader = id,
                        .ttl_ms = ttl.count(),
                        .grant_ms = grant_ttl.count(),
                        .publish = word_of(publish)}();
}

call keep_reading(owned lease, milliseconds ttl, publishing publish) {
  reader_keys const k{lease.name};
  auto const held = upgrade_id(lease.owner);
  auto const id = reader_id(lease.owner);
  return lua::keep_reading{.lock = k.lock,
                           .counter = k.counter,
                           .queue = k.queue,
                           .readers = k.readers,
                           .upgrade = held,
                           .reader = id,
                           .ttl_ms = ttl.count(),
                           .grant_ms = grant_ttl.count(),
                           .publish = word_of(publish)}();
}

}  // namespace shared_calls
}  // namespace

constinit engine::recipe const reader{.kind = history::kind::read,
                                      .order = order::strict,
                                      .sharing = sharing::shared,
                                      .blocked_by = blocked_by::writer,
                                      .join_time = join_time_of_readers,
                                      .found_by_counter = true,
                                      .acquire = shared_calls::acquire,
                                      .fast_acquire = shared_calls::fast_acquire,
                                      .release = shared_calls::leave<shared_calls::lua::release>,
                                      .fast_release = shared_calls::fast_release,
                                      .abandon = shared_calls::leave<shared_calls::lua::abandon>,
                                      .renew = shared_calls::renew<shared_calls::reader_id>,
                                      .id_of = shared_calls::reader_id};

constinit engine::recipe const reader_first{.kind = history::kind::read,
                                            .sharing = sharing::shared,
                                            .blocked_by = blocked_by::writer,
                                            .found_by_counter = true,
                                            .acquire = shared_calls::overtake,
                                            .release = shared_calls::leave<shared_calls::lua::release>,
                                            .abandon = shared_calls::leave<shared_calls::lua::abandon>,
                                            .renew = shared_calls::renew<shared_calls::reader_id>,
                                            .id_of = shared_calls::reader_id};

constinit engine::recipe const writer_first{.kind = history::kind::write,
                                            .order = order::strict,
                                            .blocked_by = blocked_by::all,
                                            .found_by_counter = true,
                                            .acquire = shared_calls::write_first,
                                            .fast_acquire = plain::fast_acquire_in_order,
                                            .release = plain::release,
                                            .fast_release = plain::fast_release,
                                            .release_unwanted = plain::release_unwanted,
                                            .pass = shared_calls::pass_first,
                                            .abandon = plain::abandon,
                                            .renew = plain::renew};

// Callers of one process don't share it, and the server alone says whose turn it is.
constinit engine::recipe const upgradable{
    .kind = history::kind::upgrade,
    .order = order::strict,
    .sharing = sharing::counted,
    .blocked_by = blocked_by::upgrade,
    .found_by_counter = true,
    .acquire = shared_calls::acquire_upgrade,
    .release = shared_calls::leave<shared_calls::lua::release, shared_calls::upgrade_id>,
    .abandon = shared_calls::leave<shared_calls::lua::abandon, shared_calls::upgrade_id>,
    .renew = shared_calls::renew<shared_calls::upgrade_id>,
    .id_of = shared_calls::upgrade_id};

constinit engine::recipe const upgrader{
    .kind = history::kind::write,
    .order = order::strict,
    .blocked_by = blocked_by::others,
    .found_by_counter = true,
    .acquire = shared_calls::upgrade,
    .release = shared_calls::leave<shared_calls::lua::release_writer, shared_calls::writer_id>,
    .abandon = shared_calls::stay,
    .renew = shared_calls::renew<shared_calls::writer_id, shared_calls::lua::renew_writer>};

call downgrade(owned lease, milliseconds ttl, publishing publish) {
  return shared_calls::become_reader(lease, shared_calls::reader_id, ttl, publish);
}

call downgrade_to_upgrade(owned lease, milliseconds ttl, publishing publish) {
  return shared_calls::become_reader(lease, shared_calls::upgrade_id, ttl, publish);
}

call keep_reading(owned lease, milliseconds ttl, publishing publish) {
  return shared_calls::keep_reading(lease, ttl, publish);
}

}  // namespace holdfast::recipes::plain
