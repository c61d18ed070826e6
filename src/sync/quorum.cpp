#include "sync/quorum.hpp"

#include "script/names.hpp"
#include "scripts/quorum.hpp"
#include "sync/exclusive.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync {
namespace {

using namespace engine;

namespace quorum_calls {

namespace lua = scripts::quorum;

call acquire(std::string_view name, acquire_request const& how) {
  plain::keys const k{name};
  auto const mark = names::newest_ask(name);
  return lua::acquire{.lock = {k.lock},
                      .counter = {k.counter},
                      .queue = {k.queue},
                      .mark = {mark},
                      .owner = how.owner,
                      .ttl_ms = how.ttl.count(),
                      .tokens = how.tokens,
                      .mode = how.join ? "join" : "ask",
                      .ticket = how.ticket,
                      .newest = how.newest,
                      .number = static_cast<std::int64_t>(how.number)}();
}

/// The vote is kept for so long for the waiter that is told to come and ask, however long that one has
/// waited: what a frozen one can cost.
release_policy kept(release_policy how) {
  how.starvation = {};
  how.grant = milliseconds{500};
  return how;
}

call release(owned what, release_policy how) { return plain::give_back<lua::release>(what, kept(how)); }

call abandon(owned what, release_policy how) { return plain::give_back<lua::abandon>(what, kept(how)); }

call yield(owned what, std::string_view ticket, std::uint64_t number) {
  plain::keys const k{what.name};
  auto const mark = names::newest_ask(what.name);
  return lua::yield{.lock = {k.lock},
                    .queue = {k.queue},
                    .mark = {mark},
                    .owner = what.owner,
                    .ticket = ticket,
                    .number = static_cast<std::int64_t>(number)}();
}

call raise(owned what, std::int64_t token) {
  plain::keys const k{what.name};
  return lua::raise{.lock = {k.lock}, .counter = {k.counter}, .owner = what.owner, .token = token}();
}

constexpr voting by_votes{.yield = yield, .raise = raise};

}  // namespace quorum_calls
}  // namespace

/// Without `pass`: the next caller of the process asks behind the release, at all masters alike.
constinit engine::recipe const quorum{.order = order::barging,
                                      .acquire = quorum_calls::acquire,
                                      .read_acquire = replies::read_acquire,
                                      .release = quorum_calls::release,
                                      .read_release = replies::read_release,
                                      .abandon = quorum_calls::abandon,
                                      .renew = plain::renew,
                                      .read_renew = replies::read_renew,
                                      .votes = &quorum_calls::by_votes};

}  // namespace holdfast::sync
