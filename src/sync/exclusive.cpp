#include "sync/exclusive.hpp"

#include "scripts/exclusive.hpp"
#include "sync/replies.hpp"

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

call pass(owned what, handover how, ask const& next) {
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

call release(owned what, handover how) { return give_back<lua::release>(what, how); }

call abandon(owned what, handover how) { return give_back<lua::abandon>(what, how); }

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
                                         .pass = pass,
                                         .read_pass = replies::read_pass,
                                         .abandon = plain::abandon,
                                         .renew = plain::renew,
                                         .read_renew = replies::read_renew};

}  // namespace holdfast::sync
