#include "wire/plain/quorum.hpp"

#include "script/names.hpp"
#include "scripts/quorum.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace quorum_calls {

namespace lua = scripts::quorum;

call acquire(std::string_view name, acquire_request const& request) {
  plain::keys const k{name};
  auto const mark = names::newest_ask(name);
  return lua::acquire{.lock = k.lock,
                      .counter = k.counter,
                      .queue = k.queue,
                      .mark = {mark},
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .newest = request.newest,
                      .number = static_cast<std::int64_t>(request.number)}();
}

/// Keeps the vote for 500 ms for the notified waiter, however long that waiter has waited: the cost of a
/// frozen waiter.
release_policy vote_policy(release_policy policy) {
  policy.starvation = {};
  policy.grant = milliseconds{500};
  return policy;
}

call release(owned lease, release_policy policy) {
  return plain::give_back<lua::release>(lease, vote_policy(policy));
}

call abandon(owned lease, release_policy policy) {
  return plain::give_back<lua::abandon>(lease, vote_policy(policy));
}

call yield(owned lease, std::string_view ticket, std::uint64_t number) {
  plain::keys const k{lease.name};
  auto const mark = names::newest_ask(lease.name);
  return lua::yield{.lock = k.lock,
                    .queue = k.queue,
                    .mark = {mark},
                    .owner = lease.owner,
                    .ticket = ticket,
                    .number = static_cast<std::int64_t>(number)}();
}

call raise(owned lease, std::int64_t token) {
  plain::keys const k{lease.name};
  return lua::raise{.lock = k.lock, .counter = k.counter, .owner = lease.owner, .token = token}();
}

call leave(owned lease) {
  plain::keys const k{lease.name};
  return lua::leave{.queue = k.queue, .owner = lease.owner}();
}

constexpr voting by_votes{.yield = yield, .raise = raise, .leave = leave};

}  // namespace quorum_calls
}  // namespace

/// Without `pass`: the next caller of the process requests the lock after the release, at all masters alike.
constinit engine::recipe const quorum{.kind = history::kind::quorum,
                                      .order = order::barging,
                                      .found_by_counter = true,
                                      .scriptless = true,
                                      .acquire = quorum_calls::acquire,
                                      .release = quorum_calls::release,
                                      .abandon = quorum_calls::abandon,
                                      .renew = plain::renew,
                                      .votes = &quorum_calls::by_votes};

}  // namespace holdfast::recipes::plain
