// Readers of the plain wire where nobody waits: scripts/shared.

#include "handlers.hpp"
#include "plain_lock.hpp"
#include "statistics.hpp"

#include <array>
#include <vector>

namespace holdfast::server::shared {
namespace {

bool is_over(queue_entry const& reader, request& call) {
  return reader.score <= static_cast<double>(call.now_us()) / 1000;
}

/// The lock of readers ends with the last of them.
void settle(stored_key& lock, stored_key& readers, queue_entry const& last) {
  expiry const end{time_in(last.score)};
  lock.expire_at(end);
  readers.expire_at(end);
}

void settle(stored_key& lock, stored_key& readers) {
  if (auto const last = readers.last()) settle(lock, readers, *last);
}

}  // namespace

void acquire(request& call) {
  auto* const owner = call.string();
  auto const ttl_ms = call.milliseconds("ttl_ms");
  if (call.refused()) return;
  plain_lock lock{call};
  auto const is_shared = lock.is_shared();
  if ((!is_shared && !lock.is_free()) || lock.has_queue() || is_upgrade(text_of(owner)))
    return call.leave_to_the_script();
  stored_key readers{call.context(), call.readers()};
  token_counter counter{call};
  if (!readers.is_absent_or(abi::zset_key) || counter.look() != token_counter::state::sound ||
      counter.is_remade())
    return call.leave_to_the_script();
  // Those whose time is over, or who are left from before a writer.
  while (auto const first = readers.first()) {
    if (is_shared && !is_over(*first, call)) break;
    readers.remove_member(first->member.get());
  }
  auto const end = call.after(ttl_ms);
  auto const others = readers.member_count();
  readers.add(owner, end);
  if (readers.member_count() != others) ++counts.taken;
  if (is_shared) {
    settle(lock.key(), readers);
  } else {
    if (!lock.key().set(word_of_readers(), end)) return call.refuse("ERR this server can't write the lock");
    readers.expire_at(end);
  }
  auto token = counter.last();
  if (!token) {
    auto const block = counter.take(1);
    if (!block) return call.refuse("ERR this server can't write the token counter");
    token = block->first;
  } else {
    counter.keep();
  }
  call.reply_list(std::array<long long, 2>{*token, 1});
}

void release(request& call) {
  auto* const owner = call.string();
  plain_lock lock{call};
  if (!lock.is_shared()) {
    // An upgrade lease may be in behind its writer; and a reader may have the lock for itself.
    if (!lock.is_free() && (is_upgrade(text_of(owner)) || lock.holder() == text_of(owner)))
      return call.leave_to_the_script();
    return call.reply(lock.foreign());
  }
  stored_key readers{call.context(), call.readers()};
  if (!readers.is_absent_or(abi::zset_key)) return call.leave_to_the_script();
  if (!readers.score_of(owner)) return call.reply(0);
  if (lock.has_queue()) return call.leave_to_the_script();
  ++counts.released;
  if (readers.member_count() > 1) {
    readers.remove_member(owner);
    auto const last = readers.last();
    if (last && !is_over(*last, call)) {
      settle(lock.key(), readers, *last);
      return call.reply(1);
    }
  }
  readers.remove_with(lock.key());
  call.reply(1);
}

void renew(request& call) {
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const owners = call.rest();
  if (call.refused()) return;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (is_upgrade(text_of(owners[i]))) return call.leave_to_the_script();
    // It has the lock for itself.
    if (stored_key{call.context(), call.keys()[i]}.text() == text_of(owners[i]))
      return call.leave_to_the_script();
    if (text_of(call.keys()[i]) == text_of(call.keys()[owners.size() + i]))
      return call.refuse("ERR a lock and its readers must be different keys");
  }
  auto const end = call.after(ttl_ms);
  std::vector<long long> lost;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    auto const place = static_cast<long long>(i) + 1;
    stored_key lock{call.context(), call.keys()[i]};
    if (lock.text() != held_by_readers) {
      lost.push_back(lock.is_absent() ? place : -place);
      continue;
    }
    stored_key readers{call.context(), call.keys()[owners.size() + i]};
    auto const score = readers.is(abi::zset_key) ? readers.score_of(owners[i]) : std::nullopt;
    if (!score || *score <= static_cast<double>(call.now_ms())) {
      lost.push_back(place);
      continue;
    }
    readers.add(owners[i], end);
    settle(lock, readers);
  }
  counts.lost += lost.size();
  counts.renewed += owners.size() - lost.size();
  call.reply_list(lost);
}

}  // namespace holdfast::server::shared
