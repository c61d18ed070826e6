#include "sync/exclusive.hpp"

#include "scripts.hpp"

namespace holdfast::sync {
namespace {

using namespace engine;
namespace lua = scripts::exclusive;

call acquire(std::string_view name, ask const& how) {
  plain::keys const k{name};
  return lua::acquire{.lock = {k.lock},
                      .counter = {k.counter},
                      .queue = {k.queue},
                      .owner = how.owner,
                      .ttl_ms = how.ttl.count(),
                      .tokens = how.tokens,
                      .mode = how.join ? "join" : "ask",
                      .ticket = how.ticket}();
}

verdict read_busy(resp::reply const& reply, std::size_t at) {
  return busy{.pttl = milliseconds{reply[at].integer},
              .ahead = reply[at + 1].integer,
              .ticket = reply[at + 2].integer,
              .counter = reply[at + 3].integer,
              .holder = reply[at + 4].text,
              .held_for = std::chrono::microseconds{reply[at + 5].integer}};
}

verdict read_granted(resp::reply const& reply, std::size_t at) {
  return granted{.token = reply[at].integer, .count = static_cast<int>(reply[at + 1].integer)};
}

}  // namespace

namespace plain {

verdict read_acquire(resp::reply const& reply) {
  if (reply.size() == 2) return read_granted(reply, 0);
  if (reply.size() == 6) return read_busy(reply, 0);
  return busy{};  // nothing that our script says: ask again
}

call release(owned what, handover how) {
  plain::keys const k{what.name};
  return lua::release{.lock = {k.lock},
                      .counter = {k.counter},
                      .queue = {k.queue},
                      .owner = what.owner,
                      .starvation_us = how.starvation.count(),
                      .grant_ms = how.grant.count()}();
}

}  // namespace plain

namespace {

found read_found(std::int64_t code) {
  if (code > 0) return found::mine;
  return code == 0 ? found::gone : found::foreign;
}

call pass(owned what, handover how, ask const& next) {
  plain::keys const k{what.name};
  return lua::pass{.lock = {k.lock},
                   .counter = {k.counter},
                   .queue = {k.queue},
                   .owner = what.owner,
                   .grant_ms = how.grant.count(),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens}();
}

}  // namespace

namespace plain {

found read_release(resp::reply const& reply) { return read_found(reply.integer); }

passed read_pass(resp::reply const& reply) {
  if (!reply.is_array() || reply.size() == 0) return {.before = found::gone};
  if (reply[0].integer == 1 && reply.size() == 3) return {.next = {read_granted(reply, 1)}};
  if (reply[0].integer == 2 && reply.size() == 7) return {.next = {read_busy(reply, 1)}};
  return {.before = read_found(reply[0].integer)};
}

call abandon(owned what, handover how) {
  plain::keys const k{what.name};
  return lua::abandon{.lock = {k.lock},
                      .counter = {k.counter},
                      .queue = {k.queue},
                      .owner = what.owner,
                      .starvation_us = how.starvation.count(),
                      .grant_ms = how.grant.count()}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .owners = {}};
  script.locks.reserve(leases.size());
  script.owners.reserve(leases.size());
  for (auto const& one : leases) {
    script.locks.push_back({one.name});
    script.owners.emplace_back(one.owner);
  }
  return script();
}

std::vector<std::pair<std::size_t, found>> read_renew(resp::reply const& reply) {
  std::vector<std::pair<std::size_t, found>> lost;
  for (auto const& place : reply.elements) {
    auto const foreign = place.integer < 0;
    lost.emplace_back(static_cast<std::size_t>(foreign ? -place.integer : place.integer) - 1,
                      foreign ? found::foreign : found::gone);
  }
  return lost;
}

}  // namespace plain

constinit engine::recipe const exclusive{.order = order::barging,
                                         .acquire = acquire,
                                         .read_acquire = plain::read_acquire,
                                         .release = plain::release,
                                         .read_release = plain::read_release,
                                         .pass = pass,
                                         .read_pass = plain::read_pass,
                                         .abandon = plain::abandon,
                                         .renew = plain::renew,
                                         .read_renew = plain::read_renew};

}  // namespace holdfast::sync
