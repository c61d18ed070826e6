#include "sync/multi.hpp"

#include "scripts/redisson_multi.hpp"
#include "sync/redisson.hpp"
#include "sync/redisson/owner_hash.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

namespace multi_calls {

namespace lua = scripts::redisson_multi;

std::vector<key> keys_of(std::string_view joined) {
  std::vector<key> keys;
  for (auto const name : split_names(joined)) keys.push_back({name});
  return keys;
}

std::vector<std::string> channels(std::string_view joined, std::string_view /*owner*/) {
  std::vector<std::string> all;
  for (auto const name : split_names(joined)) all.push_back(names::redisson::lock_channel(name));
  return all;
}

call acquire(std::string_view name, acquire_request const& how) {
  return lua::acquire{
      .locks = keys_of(name), .owner = how.owner, .ttl_ms = how.ttl.count(), .handoffs = how.tokens}();
}

/// Release and abandon are given the same.
template <class Script>
call give_back(owned what, release_policy how) {
  auto const told = how.quiet ? std::vector<std::string>{} : channels(what.name, what.owner);
  return Script{.locks = keys_of(what.name),
                .owner = what.owner,
                .publish = word_of(how.publish),
                .channels = {told.begin(), told.end()}}();
}

call give_ttl(milliseconds ttl, std::string_view mode, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .mode = mode, .leases = {}};
  add_leases(leases, script.locks, script.leases);
  return script();
}

call renew_all(milliseconds ttl, std::span<owned const> leases) { return give_ttl(ttl, at_least, leases); }
call set_ttl_of_all(milliseconds ttl, std::span<owned const> leases) {
  return give_ttl(ttl, exactly, leases);
}

}  // namespace multi_calls
}  // namespace

constexpr recipe multi{.order = order::barging,
                       .queues = false,
                       .acquire = multi_calls::acquire,
                       .read_acquire = replies::read_acquire,
                       .release = multi_calls::give_back<multi_calls::lua::release>,
                       .read_release = replies::read_release,
                       .abandon = multi_calls::give_back<multi_calls::lua::abandon>,
                       .renew = multi_calls::renew_all,
                       .read_renew = replies::read_renew,
                       .set_ttl = multi_calls::set_ttl_of_all,
                       .several = &several,
                       .channels = multi_calls::channels};

}  // namespace holdfast::sync::redisson
