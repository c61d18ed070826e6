// RReadWriteLock: a hash of who is in it and how, and a key for the life of each reader's hold.

#include <string>
#include <string_view>
#include <vector>

#include "script/names_redisson.hpp"
#include "scripts/redisson_rw.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/owner_hash.hpp"
#include "sync/redisson/rw.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

namespace rw_calls {

namespace lua = scripts::redisson_rw;
namespace names = names::redisson;

std::string writer_id(std::string_view owner) { return std::string{owner}.append(":write"); }

/// What the scripts make the names of all holds from.
std::string lives_of(std::string_view name) { return names::suffixed(name, {}); }

/// Where those who wait are told; empty: nobody is.
std::string channel_for(std::string_view name, release_policy const& how) {
  return how.quiet ? std::string{} : names::rw_channel(name);
}

call read_acquire(std::string_view name, acquire_request const& how) {
  auto const life = names::reader_timeout(name, how.owner);
  return lua::read_acquire{
      .lock = {name}, .life = {life}, .owner = how.owner, .ttl_ms = how.ttl.count(), .tokens = how.tokens}();
}

call read_release(owned what, release_policy how) {
  auto const life = names::reader_timeout(what.name, what.owner);
  auto const lives = lives_of(what.name);
  auto const channel = channel_for(what.name, how);
  return lua::read_release{.lock = {what.name},
                           .life = {life},
                           .owner = what.owner,
                           .lives = lives,
                           .publish = word_of(how.publish),
                           .channel = channel}();
}

call give_readers_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  std::vector<std::string> lives;
  lives.reserve(leases.size());
  lua::read_renew script{.keys = {}, .ttl_ms = ttl.count(), .mode = mode, .owners = {}};
  script.keys.reserve(2 * leases.size());
  script.owners.reserve(leases.size());
  for (auto const& one : leases) {
    lives.push_back(names::reader_timeout(one.name, one.owner));
    script.keys.push_back({one.name});
    script.owners.emplace_back(one.owner);
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

call write_acquire(std::string_view name, acquire_request const& how) {
  return lua::write_acquire{
      .lock = {name}, .owner = how.owner, .ttl_ms = how.ttl.count(), .tokens = how.tokens}();
}

call write_release(owned what, release_policy how) {
  auto const channel = channel_for(what.name, how);
  return lua::write_release{
      .lock = {what.name}, .owner = what.owner, .publish = word_of(how.publish), .channel = channel}();
}

call write_pass(owned what, release_policy how, acquire_request const& next) {
  auto const channel = channel_for(what.name, how);
  return lua::write_pass{.lock = {what.name},
                         .owner = what.owner,
                         .publish = word_of(how.publish),
                         .channel = channel,
                         .next = next.owner,
                         .ttl_ms = next.ttl.count(),
                         .tokens = next.tokens,
                         .own = next.listening ? 1 : 0}();
}

/// A writer's hold is a field like that of an exclusive lock, by another name.
call give_writers_ttl(decltype(recipe::renew) give, milliseconds ttl, std::span<owned const> leases) {
  std::vector<std::string> ids;
  std::vector<owned> fields;
  ids.reserve(leases.size());
  fields.reserve(leases.size());
  for (auto const& one : leases) {
    fields.push_back({.name = one.name, .owner = ids.emplace_back(writer_id(one.owner))});
  }
  return give(ttl, fields);
}

call write_renew(milliseconds ttl, std::span<owned const> leases) {
  return give_writers_ttl(renew, ttl, leases);
}
call set_writers_ttl(milliseconds ttl, std::span<owned const> leases) {
  return give_writers_ttl(set_ttl, ttl, leases);
}

call abandon(owned what, release_policy how) {
  auto const life = names::reader_timeout(what.name, what.owner);
  auto const lives = lives_of(what.name);
  auto const channel = channel_for(what.name, how);
  return lua::abandon{.lock = {what.name},
                      .life = {life},
                      .owner = what.owner,
                      .lives = lives,
                      .publish = word_of(how.publish),
                      .channel = channel}();
}

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::rw_channel(name)};
}

}  // namespace rw_calls
}  // namespace

constinit engine::recipe const reader{.sharing = sharing::shared,
                                      .queues = false,
                                      .acquire = rw_calls::read_acquire,
                                      .read_acquire = replies::read_acquire,
                                      .release = rw_calls::read_release,
                                      .read_release = replies::read_release,
                                      .abandon = rw_calls::abandon,
                                      .renew = rw_calls::read_renew,
                                      .read_renew = replies::read_renew,
                                      .read_cut = replies::read_cut,
                                      .set_ttl = rw_calls::set_readers_ttl,
                                      .channels = rw_calls::channels};

constinit engine::recipe const writer{.queues = false,
                                      .acquire = rw_calls::write_acquire,
                                      .read_acquire = replies::read_acquire,
                                      .release = rw_calls::write_release,
                                      .read_release = replies::read_release,
                                      .pass = rw_calls::write_pass,
                                      .read_pass = replies::read_pass,
                                      .abandon = rw_calls::abandon,
                                      .renew = rw_calls::write_renew,
                                      .read_renew = replies::read_renew,
                                      .set_ttl = rw_calls::set_writers_ttl,
                                      .channels = rw_calls::channels,
                                      .id_of = rw_calls::writer_id};

call downgrade(owned what, milliseconds ttl, publishing publish) {
  auto const life = rw_calls::names::reader_timeout(what.name, what.owner);
  auto const channel = rw_calls::names::rw_channel(what.name);
  return rw_calls::lua::downgrade{.lock = {what.name},
                                  .life = {life},
                                  .owner = what.owner,
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

}  // namespace holdfast::sync::redisson
