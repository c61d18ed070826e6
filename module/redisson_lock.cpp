// Redisson's RLock: a hash whose one field is its owner.

#include "calls.hpp"
#include "handlers.hpp"
#include "statistics.hpp"

#include <array>
#include <string>
#include <vector>

namespace holdfast::server::redisson_lock {
namespace {

void hold(stored_key& lock, abi::string* const owner, expiry const& when) {
  lock.set_field(owner);
  lock.expire_at(when);
}

long long foreign(stored_key const& lock) { return lock.is_absent() ? 0 : -1; }

/// What stands there instead of a lock.
void refuse_misfit(request& call, stored_key const& lock) {
  constexpr auto end = ", not the hash of a lock of Redisson";
  if (!lock.is(abi::hash_key)) return call.refuse_type("MISFIT a ", call.keys()[0], end);
  owned_string const mode{call.context(), "mode"};
  auto const found = lock.has_field(mode.get())
                         ? std::string{"a read-write lock"}
                         : "a hash of " + std::to_string(lock.field_count()) + " fields";
  call.refuse(std::string{"MISFIT "}.append(found).append(end).c_str());
}

/// Gives back what is the caller's.
std::optional<long long> give_back(request& call, stored_key& lock, abi::string* const owner,
                                   publishing const mode, std::string_view const channel) {
  lock.remove_field(owner);
  return tell_channel(call.context(), mode, channel, "0");
}

}  // namespace

void acquire(request& call) {
  auto* const owner = call.string();
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const handoffs = call.number("handoffs", 0);
  if (call.refused()) return;
  stored_key lock{call.context(), call.keys()[0]};
  if (lock.is_absent()) {
    if (call.is_out_of_memory()) return call.refuse(abi::out_of_memory);
    hold(lock, owner, call.after(ttl_ms));
    ++counts.taken;
    return call.reply(handoffs);
  }
  if (!lock.is(abi::hash_key) || lock.field_count() != 1) return refuse_misfit(call, lock);
  if (lock.has_field(owner)) {
    lock.expire_not_before(call.after(ttl_ms));
    return call.reply(handoffs);
  }
  ++counts.busy;
  auto const holder = only_field(call.context(), call.keys()[0]);
  call.reply_busy({.ttl_ms = lock.ttl_ms(), .holder = holder});
}

void release(request& call) {
  auto* const owner = call.string();
  auto const mode = call.how_to_publish();
  auto const channel = call.text();
  if (call.refused()) return;
  stored_key lock{call.context(), call.keys()[0]};
  if (!lock.has_field(owner)) return call.reply(foreign(lock));
  static_cast<void>(give_back(call, lock, owner, mode, channel));
  ++counts.released;
  call.reply(1);
}

void abandon(request& call) {
  auto* const owner = call.string();
  auto const mode = call.how_to_publish();
  auto const channel = call.text();
  if (call.refused()) return;
  stored_key lock{call.context(), call.keys()[0]};
  auto const was_his = lock.has_field(owner);
  if (was_his) {
    static_cast<void>(give_back(call, lock, owner, mode, channel));
    ++counts.released;
  }
  call.reply(was_his ? 1 : 0);
}

void pass(request& call) {
  auto* const owner = call.string();
  auto const mode = call.how_to_publish();
  auto const channel = call.text();
  auto const own_ears = call.number("own_ears", 0);
  auto* const next = call.string();
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const handoffs = call.number("handoffs", 0);
  if (call.refused()) return;
  stored_key lock{call.context(), call.keys()[0]};
  if (lock.has_field(next)) {  // sent again
    lock.expire_not_before(call.after(ttl_ms));
  } else if (!lock.has_field(owner)) {
    return call.reply_list(std::array{foreign(lock)});
  } else {
    auto const heard = give_back(call, lock, owner, mode, channel);
    // Others have heard of it, or may poll: it stays free, so that they have a fair chance.
    if (!heard || *heard > own_ears) {
      ++counts.released;
      return call.reply_passed_on({.ttl_ms = 2});
    }
    hold(lock, next, call.after(ttl_ms));
    ++counts.passed;
  }
  call.reply_list(std::array<long long, 3>{1, 0, handoffs});
}

void renew(request& call) {
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const at_least = call.is_first_of("mode", "at least", "exactly");
  auto const owners = call.rest();
  if (call.refused()) return;
  auto const expiry = call.after(ttl_ms);
  std::vector<long long> lost;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    stored_key lock{call.context(), call.keys()[i]};
    auto const place = static_cast<long long>(i) + 1;
    if (!lock.has_field(owners[i])) {
      lost.push_back(lock.is_absent() ? place : -place);
    } else if (at_least) {
      lock.expire_not_before(expiry);
    } else {
      lock.expire_at(expiry);
    }
  }
  counts.lost += lost.size();
  counts.renewed += owners.size() - lost.size();
  call.reply_list(lost);
}

}  // namespace holdfast::server::redisson_lock
