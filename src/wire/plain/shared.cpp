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

/// Callers join readers of their process for so long. All that come later ask the server, which knows of the
/// writers that wait.
constexpr std::chrono::milliseconds join_time{1};

std::string reader_id(std::string_view owner) { return std::string{owner}.append(names::reader_suffix); }

/// The strings must outlive the making of the call.
struct reader_keys : plain::keys {
  explicit reader_keys(std::string_view name) : plain::keys{name}, readers{names::readers(name)} {}
  std::string readers;
};

call ask(std::string_view name, acquire_request const& request, bool overtakes) {
  reader_keys const k{name};
  auto const id = reader_id(request.owner);
  auto const waited = overtakes ? request.waited + head_start : request.waited;
  return lua::acquire{.lock = {k.lock},
                      .counter = {k.counter},
                      .queue = {k.queue},
                      .readers = {k.readers},
                      .owner = id,
                      .ttl_ms = request.ttl.count(),
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .waited_us = waited.count(),
                      .overtakes = overtakes ? "yes" : "",
                      .grant_ms = grant_ttl.count(),
                      .publish = word_of(request.policy.publish)}();
}

call acquire(std::string_view name, acquire_request const& request) { return ask(name, request, false); }
call overtake(std::string_view name, acquire_request const& request) { return ask(name, request, true); }

template <class Script>
call leave(owned lease, release_policy policy) {
  reader_keys const k{lease.name};
  auto const id = reader_id(lease.owner);
  return Script{.lock = {k.lock},
                .counter = {k.counter},
                .queue = {k.queue},
                .readers = {k.readers},
                .owner = id,
                .starvation_us = policy.starvation.count(),
                .grant_ms = policy.grant.count(),
                .publish = word_of(policy.publish)}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  std::vector<std::string> readers;
  std::vector<std::string> ids;
  readers.reserve(leases.size());
  ids.reserve(leases.size());
  lua::renew script{.keys = {}, .ttl_ms = ttl.count(), .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    readers.push_back(names::readers(lease.name));
    script.keys.push_back({lease.name});
    script.owners.emplace_back(ids.emplace_back(reader_id(lease.owner)));
  }
  for (auto const& key : readers) script.keys.push_back({key});
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

}  // namespace shared_calls
}  // namespace

constinit engine::recipe const reader{.order = order::strict,
                                      .sharing = sharing::shared,
                                      .join_time = shared_calls::join_time,
                                      .acquire = shared_calls::acquire,
                                      .release = shared_calls::leave<shared_calls::lua::release>,
                                      .abandon = shared_calls::leave<shared_calls::lua::abandon>,
                                      .renew = shared_calls::renew,
                                      .id_of = shared_calls::reader_id};

constinit engine::recipe const reader_first{.sharing = sharing::shared,
                                            .acquire = shared_calls::overtake,
                                            .release = shared_calls::leave<shared_calls::lua::release>,
                                            .abandon = shared_calls::leave<shared_calls::lua::abandon>,
                                            .renew = shared_calls::renew,
                                            .id_of = shared_calls::reader_id};

constinit engine::recipe const writer_first{.order = order::strict,
                                            .acquire = shared_calls::write_first,
                                            .release = plain::release,
                                            .release_unwanted = plain::release_unwanted,
                                            .pass = shared_calls::pass_first,
                                            .abandon = plain::abandon,
                                            .renew = plain::renew};

call downgrade(owned lease, milliseconds ttl, publishing publish) {
  shared_calls::reader_keys const k{lease.name};
  auto const id = shared_calls::reader_id(lease.owner);
  return shared_calls::lua::downgrade{.lock = {k.lock},
                                      .counter = {k.counter},
                                      .queue = {k.queue},
                                      .readers = {k.readers},
                                      .writer = lease.owner,
                                      .reader = id,
                                      .ttl_ms = ttl.count(),
                                      .grant_ms = grant_ttl.count(),
                                      .publish = word_of(publish)}();
}

}  // namespace holdfast::recipes::plain
