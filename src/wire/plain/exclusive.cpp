#include "wire/plain/exclusive.hpp"

#include "scripts/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;
namespace lua = scripts::exclusive;

call acquire(std::string_view name, acquire_request const& request) {
  keys const k{name};
  return lua::acquire{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  keys const k{lease.name};
  return lua::pass{.lock = k.lock,
                   .counter = k.counter,
                   .queue = k.queue,
                   .owner = lease.owner,
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens}();
}

/// An INCR is wasted on a lock that is busy: tokens only have to grow.
transaction fast_acquire(std::string_view name, acquire_request const& request) {
  return take_if_free(name, request.owner, request.ttl, "INCR", {});
}

}  // namespace

transaction take_if_free(std::string_view name, std::string_view owner, milliseconds ttl,
                         std::string_view on_counter, std::initializer_list<key> beside) {
  keys const k{name};
  auto const asks = beside.size() != 0;
  transaction result{.bytes = {}, .commands = static_cast<std::uint8_t>(asks ? 5 : 4)};
  auto& bytes = result.bytes;
  auto room =
      resp::writer::room_for(160 + on_counter.size() + owner.size()) + room_for(k.lock) + room_for(k.counter);
  for (auto const& key : beside) room += room_for(key);
  bytes.resize(room);
  resp::writer to{bytes.data()};
  to.array_header(1);
  to.bulk("MULTI");
  to.array_header(6);
  to.bulk("SET");
  result.first_key_size = write_key(to, k.lock);
  result.first_key_end = to.size() - 2;  // before the CR LF
  to.bulk(owner);
  to.bulk("NX");
  to.bulk("PX");
  to.integer(ttl.count());
  to.array_header(2);
  to.bulk(on_counter);
  write_key(to, k.counter);
  if (asks) {
    to.array_header(1 + beside.size());
    to.bulk("EXISTS");
    for (auto const& key : beside) write_key(to, key);
  }
  to.array_header(1);
  to.bulk("EXEC");
  bytes.resize(to.size());
  return result;
}

transaction fast_acquire_in_order(std::string_view name, acquire_request const& request) {
  return take_if_free(name, request.owner, request.ttl, "INCR", {{name, names::side_key::queue}});
}

call fast_release(owned lease) {
  keys const k{lease.name};
  return lua::fast_release{.lock = k.lock, .queue = k.queue, .owner = lease.owner}();
}

call release(owned lease, release_policy policy) {
  auto script = give_back<lua::release>(lease, policy);
  script.in_steps = policy.in_steps;
  return script;
}

call release_unwanted(std::span<owned const> leases) {
  lua::release_unwanted script{.keys = {}, .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    keys const k{lease.name};
    script.keys.push_back(k.lock);
    script.keys.push_back(k.queue);
    script.owners.emplace_back(lease.owner);
  }
  return script();
}

call abandon(owned lease, release_policy policy) { return give_back<lua::abandon>(lease, policy); }

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

constinit engine::recipe const exclusive{.order = order::barging,
                                         .blocked_by = blocked_by::all,
                                         .found_by_counter = true,
                                         .scriptless = true,
                                         .acquire = acquire,
                                         .fast_acquire = fast_acquire,
                                         .release = release,
                                         .fast_release = fast_release,
                                         .release_unwanted = release_unwanted,
                                         .pass = pass,
                                         .abandon = abandon,
                                         .renew = renew};

}  // namespace holdfast::recipes::plain
