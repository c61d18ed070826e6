#include "scripts/redisson_fenced.hpp"
#include "scripts/redisson_lock.hpp"
#include "wire/redisson/owner_hash.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;
namespace lua = scripts::redisson_lock;
namespace lua_fenced = scripts::redisson_fenced;

/// Number of our own subscriptions to the queue's channel.
int own_subscriptions(acquire_request const& next) { return next.listening ? 1 : 0; }

call acquire(std::string_view name, acquire_request const& request) {
  return lua::acquire{
      .lock = {name}, .owner = request.owner, .ttl_ms = request.ttl.count(), .handoffs = request.tokens}();
}

call acquire_fenced(std::string_view name, acquire_request const& request) {
  auto const counter = names::redisson::token(name);
  return lua_fenced::acquire{.lock = {name},
                             .counter = {counter},
                             .owner = request.owner,
                             .ttl_ms = request.ttl.count(),
                             .tokens = request.tokens}();
}

call release(owned lease, release_policy policy) {
  auto const channel = release_channel(lease.name, policy);
  return lua::release{
      .lock = {lease.name}, .owner = lease.owner, .publish = word_of(policy.publish), .channel = channel}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  auto const channel = release_channel(lease.name, policy);
  return lua::pass{.lock = {lease.name},
                   .owner = lease.owner,
                   .publish = word_of(policy.publish),
                   .channel = channel,
                   .own_ears = own_subscriptions(next),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .handoffs = next.tokens}();
}

call pass_fenced(owned lease, release_policy policy, acquire_request const& next) {
  auto const counter = names::redisson::token(lease.name);
  auto const channel = release_channel(lease.name, policy);
  return lua_fenced::pass{.lock = {lease.name},
                          .counter = {counter},
                          .owner = lease.owner,
                          .publish = word_of(policy.publish),
                          .channel = channel,
                          .own_ears = own_subscriptions(next),
                          .next = next.owner,
                          .ttl_ms = next.ttl.count(),
                          .tokens = next.tokens}();
}

call abandon(owned lease, release_policy policy) {
  auto const channel = release_channel(lease.name, policy);
  return lua::abandon{
      .lock = {lease.name}, .owner = lease.owner, .publish = word_of(policy.publish), .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view /*owner*/) {
  return {names::redisson::lock_channel(name)};
}

/// The recipes differ only in how a lease is acquired.
constexpr recipe recipe_with(decltype(recipe::acquire) acquire, decltype(recipe::pass) pass) {
  return {.order = order::barging,
          .queues = false,
          .acquire = acquire,
          .release = release,
          .pass = pass,
          .abandon = abandon,
          .renew = renew,
          .set_ttl = set_ttl,
          .channels = channels};
}

}  // namespace

namespace {

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .mode = mode, .owners = {}};
  script.locks.reserve(leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    script.locks.push_back({lease.name});
    script.owners.emplace_back(lease.owner);
  }
  return script();
}

}  // namespace

call renew(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, exactly, leases); }

namespace {

/// Publishes nothing: a waiter on this wire would request the lock, find a majority taken, and give back its
/// votes in the same way.
call yield(owned lease, std::string_view /*ticket*/, std::uint64_t /*number*/) {
  return lua::release{
      .lock = {lease.name}, .owner = lease.owner, .publish = word_of(publishing::counted), .channel = ""}();
}

constexpr voting by_votes{.yield = yield};

constexpr recipe voting_recipe(recipe protocol) {
  protocol.kind = history::kind::quorum;
  protocol.pass = nullptr;  // the next caller requests the lock after the release
  protocol.votes = &by_votes;
  return protocol;
}

}  // namespace

constinit recipe const quorum = voting_recipe(recipe_with(acquire, pass));
constinit recipe const lock = recipe_with(acquire, pass);
constinit recipe const fenced = recipe_with(acquire_fenced, pass_fenced);

}  // namespace holdfast::recipes::redisson
