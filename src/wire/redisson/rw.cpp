// RReadWriteLock: a hash of the holders and their modes, and a key for the lifetime of each reader's hold.

#include <string>
#include <string_view>
#include <vector>

#include "script/names_redisson.hpp"
#include "scripts/redisson_rw.hpp"
#include "wire/redisson/owner_hash.hpp"
#include "wire/redisson/recipes.hpp"
#include "wire/redisson/rw.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace rw_calls {

namespace lua = scripts::redisson_rw;
namespace names = names::redisson;

std::string writer_id(std::string_view owner) { return std::string{owner}.append(":write"); }

/// The prefix from which the scripts make the names of all lifetime keys.
std::string lives_of(std::string_view name) { return names::suffixed(name, {}); }

/// The channel on which a script notifies the waiters; empty: none.
std::string channel_for(std::string_view name, release_policy const& policy) {
  return policy.quiet ? std::string{} : names::rw_channel(name);
}

call read_acquire(std::string_view name, acquire_request const& request) {
  auto const life = names::reader_timeout(name, request.owner);
  return lua::read_acquire{.lock = {name},
                           .life = {life},
                           .owner = request.owner,
                           .ttl_ms = request.ttl.count(),
                           .tokens = request.tokens}();
}

call read_release(owned lease, release_policy policy) {
  auto const life = names::reader_timeout(lease.name, lease.owner);
  auto const lives = lives_of(lease.name);
  auto const channel = channel_for(lease.name, policy);
  return lua::read_release{.lock = {lease.name},
                           .life = {life},
                           .owner = lease.owner,
                           .lives = lives,
                           .publish = word_of(policy.publish),
                           .channel = channel}();
}

call give_readers_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  std::vector<std::string> lives;
  lives.reserve(leases.size());
  lua::read_renew script{.keys = {}, .ttl_ms = ttl.count(), .mode = mode, .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& lease : leases) {
    lives.push_back(names::reader_timeout(lease.name, lease.owner));
    script.keys.push_back({lease.name});
    script.owners.emplace_back(lease.owner);
  }
  for (auto const& life : lives) script.keys.push_back({life});
  return script();
}

call read_renew(milliseconds ttl, std::span<owned const> leases) {
  return give_readers_ttl(ttl, at_least, leases);
}
call set_readers_ttl(milliseconds ttl, std::span<owned const> leases) {
  return give_readers_ttl(ttl, exactly, leases);
}

call write_acquire(std::string_view name, acquire_request const& request) {
  return lua::write_acquire{
      .lock = {name}, .owner = request.owner, .ttl_ms = request.ttl.count(), .tokens = request.tokens}();
}

call write_release(owned lease, release_policy policy) {
  auto const channel = channel_for(lease.name, policy);
  return lua::write_release{
      .lock = {lease.name}, .owner = lease.owner, .publish = word_of(policy.publish), .channel = channel}();
}

call write_pass(owned lease, release_policy policy, acquire_request const& next) {
  auto const channel = channel_for(lease.name, policy);
  return lua::write_pass{.lock = {lease.name},
                         .owner = lease.owner,
                         .publish = word_of(policy.publish),
                         .channel = channel,
                         .next = next.owner,
                         .ttl_ms = next.ttl.count(),
                         .tokens = next.tokens,
                         .own = next.listening ? 1 : 0}();
}

/// A writer's hold is a field like that of an exclusive lock, under another name.
call give_writers_ttl(decltype(recipe::renew) give, milliseconds ttl, std::span<owned const> leases) {
  std::vector<std::string> ids;
  std::vector<owned> fields;
  ids.reserve(leases.size());
  fields.reserve(leases.size());
  for (auto const& lease : leases) {
    fields.push_back({.name = lease.name, .owner = ids.emplace_back(writer_id(lease.owner))});
  }
  return give(ttl, fields);
}

call write_renew(milliseconds ttl, std::span<owned const> leases) {
  return give_writers_ttl(renew, ttl, leases);
}
call set_writers_ttl(milliseconds ttl, std::span<owned const> leases) {
  return give_writers_ttl(set_ttl, ttl, leases);
}

call abandon(owned lease, release_policy policy) {
  auto const life = names::reader_timeout(lease.name, lease.owner);
  auto const lives = lives_of(lease.name);
  auto const channel = channel_for(lease.name, policy);
  return lua::abandon{.lock = {lease.name},
                      .life = {life},
                      .owner = lease.owner,
                      .lives = lives,
                      .publish = word_of(policy.publish),
                      .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::rw_channel(name)};
}

}  // namespace rw_calls
}  // namespace

constinit engine::recipe const reader{.kind = history::kind::read,
                                      .sharing = sharing::shared,
                                      .queues = false,
                                      .acquire = rw_calls::read_acquire,
                                      .release = rw_calls::read_release,
                                      .abandon = rw_calls::abandon,
                                      .renew = rw_calls::read_renew,
                                      .set_ttl = rw_calls::set_readers_ttl,
                                      .other_side = &writer,
                                      .channels = rw_calls::channels};

constinit engine::recipe const writer{.kind = history::kind::write,
                                      .queues = false,
                                      .acquire = rw_calls::write_acquire,
                                      .release = rw_calls::write_release,
                                      .pass = rw_calls::write_pass,
                                      .abandon = rw_calls::abandon,
                                      .renew = rw_calls::write_renew,
                                      .set_ttl = rw_calls::set_writers_ttl,
                                      .other_side = &reader,
                                      .channels = rw_calls::channels,
                                      .id_of = rw_calls::writer_id};

call downgrade(owned lease, milliseconds ttl, publishing publish) {
  auto const life = rw_calls::names::reader_timeout(lease.name, lease.owner);
  auto const channel = rw_calls::names::rw_channel(lease.name);
  return rw_calls::lua::downgrade{.lock = {lease.name},
                                  .life = {life},
                                  .owner = lease.owner,
                                  .ttl_ms = ttl.count(),
                                  .publish = word_of(publish),
                                  .channel = channel}();
}

call force(std::string_view name, publishing publish, std::string_view field) {
  auto const lives = rw_calls::lives_of(name);
  auto const channel = rw_calls::names::rw_channel(name);
  return rw_calls::lua::force{
      .lock = {name}, .field = field, .lives = lives, .publish = word_of(publish), .channel = channel}();
}

}  // namespace holdfast::recipes::redisson
