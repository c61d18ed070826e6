#include "sync/exclusive.hpp"

#include "scripts/exclusive.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync {
namespace {

using namespace engine;
namespace lua = scripts::exclusive;

call acquire(std::string_view name, acquire_request const& how) {
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

call pass(owned what, release_policy how, acquire_request const& next) {
  plain::keys const k{what.name};
  return lua::pass{.lock = {k.lock},
                   .counter = {k.counter},
                   .queue = {k.queue},
                   .owner = what.owner,
                   .grant_ms = how.grant.count(),
                   .publish = word_of(how.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens}();
}

}  // namespace

namespace plain {

call release(owned what, release_policy how) { return give_back<lua::release>(what, how); }

call release_unwanted(std::span<owned const> leases) {
  std::vector<std::string> queues;
  queues.reserve(leases.size());
  lua::release_unwanted script{.keys = {}, .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& one : leases) {
    queues.push_back(names::queue(one.name));
    script.keys.push_back({one.name});
    script.keys.push_back({queues.back()});
    script.owners.emplace_back(one.owner);
  }
  return script();
}

call abandon(owned what, release_policy how) { return give_back<lua::abandon>(what, how); }

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

}  // namespace plain

constinit engine::recipe const exclusive{.order = order::barging,
                                         .acquire = acquire,
                                         .read_acquire = replies::read_acquire,
                                         .release = plain::release,
                                         .read_release = replies::read_release,
                                         .release_unwanted = plain::release_unwanted,
                                         .read_wanted = replies::read_wanted,
                                         .pass = pass,
                                         .read_pass = replies::read_pass,
                                         .abandon = plain::abandon,
                                         .renew = plain::renew,
                                         .read_renew = replies::read_renew};

}  // namespace holdfast::sync
