#include "scripts/redisson_fenced.hpp"
#include "scripts/redisson_lock.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/owner_hash.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;
namespace lua = scripts::redisson_lock;
namespace lua_fenced = scripts::redisson_fenced;

/// How many subscribers of the line's channel are ours.
int own_ears(acquire_request const& next) { return next.listening ? 1 : 0; }

call acquire(std::string_view name, acquire_request const& how) {
  return lua::acquire{
      .lock = {name}, .owner = how.owner, .ttl_ms = how.ttl.count(), .handoffs = how.tokens}();
}

call acquire_fenced(std::string_view name, acquire_request const& how) {
  auto const counter = names::redisson::token(name);
  return lua_fenced::acquire{.lock = {name},
                             .counter = {counter},
                             .owner = how.owner,
                             .ttl_ms = how.ttl.count(),
                             .tokens = how.tokens}();
}

call release(owned what, release_policy how) {
  auto const channel = told_on(what.name, how);
  return lua::release{
      .lock = {what.name}, .owner = what.owner, .publish = word_of(how.publish), .channel = channel}();
}

call pass(owned what, release_policy how, acquire_request const& next) {
  auto const channel = told_on(what.name, how);
  return lua::pass{.lock = {what.name},
                   .owner = what.owner,
                   .publish = word_of(how.publish),
                   .channel = channel,
                   .own_ears = own_ears(next),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .handoffs = next.tokens}();
}

call pass_fenced(owned what, release_policy how, acquire_request const& next) {
  auto const counter = names::redisson::token(what.name);
  auto const channel = told_on(what.name, how);
  return lua_fenced::pass{.lock = {what.name},
                          .counter = {counter},
                          .owner = what.owner,
                          .publish = word_of(how.publish),
                          .channel = channel,
                          .own_ears = own_ears(next),
                          .next = next.owner,
                          .ttl_ms = next.ttl.count(),
                          .tokens = next.tokens}();
}

call abandon(owned what, release_policy how) {
  auto const channel = told_on(what.name, how);
  return lua::abandon{
      .lock = {what.name}, .owner = what.owner, .publish = word_of(how.publish), .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view /*owner*/) {
  return {names::redisson::lock_channel(name)};
}

/// They differ only in where a lease comes from.
constexpr recipe of(decltype(recipe::acquire) acquire, decltype(recipe::pass) pass) {
  return {.order = order::barging,
          .queues = false,
          .acquire = acquire,
          .read_acquire = replies::read_acquire,
          .release = release,
          .read_release = replies::read_release,
          .pass = pass,
          .read_pass = replies::read_pass,
          .abandon = abandon,
          .renew = renew,
          .read_renew = replies::read_renew,
          .set_ttl = set_ttl,
          .channels = channels};
}

}  // namespace

namespace {

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .mode = mode, .owners = {}};
  script.locks.reserve(leases.size());
  script.owners.reserve(leases.size());
  for (auto const& one : leases) {
    script.locks.push_back({one.name});
    script.owners.emplace_back(one.owner);
  }
  return script();
}

}  // namespace

call renew(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, exactly, leases); }

namespace {

/// Nobody is told: whoever of this wire waits would come, find a majority taken, and give back its votes in
/// the same way.
call yield(owned what, std::string_view /*ticket*/, std::uint64_t /*number*/) {
  return lua::release{
      .lock = {what.name}, .owner = what.owner, .publish = word_of(publishing::counted), .channel = ""}();
}

constexpr voting by_votes{.yield = yield};

constexpr recipe of_several(recipe one) {
  one.pass = nullptr;  // the next caller asks behind the release
  one.read_pass = nullptr;
  one.votes = &by_votes;
  return one;
}

}  // namespace

constinit recipe const quorum = of_several(of(acquire, pass));
constinit recipe const lock = of(acquire, pass);
constinit recipe const fenced = of(acquire_fenced, pass_fenced);

}  // namespace holdfast::sync::redisson
