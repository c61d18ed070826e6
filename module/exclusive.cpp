#include "handlers.hpp"
#include "plain_lock.hpp"
#include "statistics.hpp"

#include <array>
#include <string>
#include <vector>

namespace holdfast::server {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 53;

// What a call means that leaves its last arguments out, as the shorter commands allow it.
constexpr std::int64_t usual_tokens = 1;
constexpr std::int64_t usual_starvation_us = 100'000;
constexpr std::int64_t usual_grant_ms = 2'000;

/// The ticket of an acquisition: "" if it has none.
std::optional<std::int64_t> ticket_in(request& call) {
  if (!call.has_more()) return std::nullopt;
  auto const text = call.text();
  if (text.empty()) return std::nullopt;
  auto const ticket = parse_number(text);
  if (!ticket) call.refuse("ERR ticket must be a whole number, or empty");
  return ticket;
}

grant_policy policy_in(request& call) {
  auto const starvation_us = call.has_more() ? call.number("starvation_us", 0) : usual_starvation_us;
  auto const grant_ms = call.has_more() ? call.milliseconds("grant_ms") : usual_grant_ms;
  auto const mode = call.has_more() ? call.how_to_publish() : publishing::counted;
  return {.starvation_us = starvation_us, .grant_ms = grant_ms, .mode = mode};
}

grant_policy policy_of_whose_turn_has_come(request& call) {
  auto const grant_ms = call.milliseconds("grant_ms");
  return {.starvation_us = 0, .grant_ms = grant_ms, .mode = call.how_to_publish()};
}

/// The arguments of an acquisition of either order.
struct bid {
  abi::string* owner;
  std::int64_t ttl_ms;
  std::int64_t tokens;
  bool join;
  std::optional<std::int64_t> ticket;
};

bid bid_in(request& call) {
  auto* const owner = call.string();
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const tokens = call.has_more() ? call.number("tokens", 1, most_tokens) : usual_tokens;
  auto const join = !call.has_more() || call.is_first_of("mode", "join", "ask");
  return {.owner = owner, .ttl_ms = ttl_ms, .tokens = tokens, .join = join, .ticket = ticket_in(call)};
}

/// Takes it, or keeps it. False, with an error as the reply: the server can't write it.
bool hold(request& call, plain_lock& lock, bid const& wanted, bool const has_it) {
  if (has_it) {
    lock.key().expire_at(call.after(wanted.ttl_ms));
    return true;
  }
  if (!lock.set_holder(wanted.owner, wanted.ttl_ms)) return false;
  ++counts.taken;
  return true;
}

/// What a pass of either order is given.
struct succession {
  std::string_view owner;
  grant_policy policy;
  abi::string* next;
  std::int64_t ttl_ms;
  std::int64_t tokens;
};

succession succession_in(request& call) {
  auto const owner = call.text();
  auto const policy = policy_of_whose_turn_has_come(call);
  auto* const next = call.string();
  auto const ttl_ms = call.milliseconds("ttl_ms");
  return {.owner = owner,
          .policy = policy,
          .next = next,
          .ttl_ms = ttl_ms,
          .tokens = call.number("tokens", 1, most_tokens)};
}

/// What all passes begin with (pass_exclusive.lua). False: it has replied.
bool may_pass(request& call, plain_lock& lock, succession const& turn) {
  auto const holder = lock.holder();
  auto const sent_again = holder == text_of(turn.next);
  if (!sent_again && holder != turn.owner) {
    call.reply_list(std::array{lock.foreign()});
    return false;
  }
  if (!lock.has_sound_side_keys()) return false;
  if (!sent_again) return true;
  lock.key().expire_at(call.after(turn.ttl_ms));
  lock.reply_passed(turn.tokens);
  return false;
}

void give_to_next(plain_lock& lock, succession const& turn) {
  if (!lock.set_holder(turn.next, turn.ttl_ms)) return;
  ++counts.passed;
  lock.reply_passed(turn.tokens);
}

}  // namespace

namespace exclusive {

void acquire(request& call) {
  auto const wanted = bid_in(call);
  if (call.refused()) return;
  plain_lock lock{call};
  if (!lock.has_sound_side_keys()) return;
  auto const holder = lock.holder();
  if (!holder && !lock.is_free()) return call.refuse_type("WRONGTYPE ", call.keys()[0]);
  auto const has_it = holder == text_of(wanted.owner);
  if (holder && !has_it) {
    ++counts.busy;
    if (!wanted.join) return call.reply_busy(lock.state(lock.last_token()));
    auto const ticket = lock.join(wanted.owner, {.ticket = wanted.ticket});
    return call.reply_busy(lock.state(lock.last_token(), lock.ahead_of(wanted.owner), ticket));
  }
  if (!hold(call, lock, wanted, has_it)) return;
  lock.leave_queue(wanted.owner);
  lock.reply_tokens(wanted.tokens);
}

void release(request& call) {
  auto const owner = call.text();
  auto const policy = policy_in(call);
  if (call.refused()) return;
  plain_lock lock{call};
  if (lock.holder() != owner) return call.reply(lock.foreign());
  // Should a side key be spoilt the lock is free all the same; the waiters find out by themselves.
  if (lock.wake_next(policy) != wake_outcome::granted) lock.key().remove();
  ++counts.released;
  call.reply(1);
}

void pass(request& call) {
  auto const turn = succession_in(call);
  if (call.refused()) return;
  plain_lock lock{call};
  if (!may_pass(call, lock, turn)) return;
  auto const last_token = lock.last_token();
  if (lock.wake_next(turn.policy) == wake_outcome::granted) {
    auto const ticket = lock.join(turn.next, {});
    return call.reply_passed_on(lock.state(last_token, lock.ahead_of(turn.next), ticket));
  }
  give_to_next(lock, turn);
}

void abandon(request& call) {
  auto* const owner = call.string();
  auto const policy = policy_in(call);
  if (call.refused()) return;
  plain_lock lock{call};
  auto& queue = lock.queue();
  if (!queue.is_absent_or(abi::zset_key)) return call.refuse(abi::wrong_type);
  auto const was_queued = queue.score_of(owner).has_value();
  auto const was_his = lock.holder() == text_of(owner);
  if (was_his && !lock.has_readers_beside())
    return call.refuse("TRYAGAIN the readers of this lock may be at the other node of its slot");
  if (was_queued) queue.remove_member(owner);
  if (was_his && lock.back_to_upgrade(owner, policy)) return call.reply(1);
  if (was_his) {
    lock.key().remove();
    ++counts.released;
  }
  // One that is free and not queued was given a wake-up that it doesn't use.
  if (was_his || (!was_queued && lock.is_free())) {
    static_cast<void>(lock.wake_next(policy));
  } else if (was_queued && (lock.is_shared() || lock.is_read_alone())) {
    static_cast<void>(lock.let_readers_in(policy));
  }
  call.reply(was_his ? 1 : 0);
}

void renew(request& call) {
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const owners = call.rest();
  if (call.refused()) return;
  auto const expiry = call.after(ttl_ms);
  std::vector<long long> lost;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    stored_key lock{call.context(), call.keys()[i]};
    auto const place = static_cast<long long>(i) + 1;
    if (lock.text() == text_of(owners[i])) {
      lock.expire_at(expiry);
    } else {
      lost.push_back(lock.is_absent() ? place : -place);
    }
  }
  counts.lost += lost.size();
  counts.renewed += owners.size() - lost.size();
  call.reply_list(lost);
}

void release_unwanted(request& call) {
  auto const owners = call.rest();
  std::vector<long long> wanted;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (stored_key const lock{call.context(), call.keys()[2 * i]}; lock.text() != text_of(owners[i]))
      continue;
    if (!stored_key{call.context(), call.keys()[2 * i + 1]}.is_absent()) {
      wanted.push_back(static_cast<long long>(i) + 1);
    } else {
      stored_key{call.context(), call.keys()[2 * i]}.remove();
      ++counts.released;
    }
  }
  call.reply_list(wanted);
}

}  // namespace exclusive

namespace fair {

void acquire(request& call) {
  auto const wanted = bid_in(call);
  auto const waited_us = call.number("waited_us", 0);
  auto const policy = policy_of_whose_turn_has_come(call);
  if (call.refused()) return;
  plain_lock lock{call};
  if (!lock.has_sound_side_keys()) return;
  if (!lock.holder() && !lock.is_free()) return call.refuse_type("WRONGTYPE ", call.keys()[0]);
  auto const has_it = lock.holder() == text_of(wanted.owner);
  // A free lock without a queue is taken as it is: there is no order to keep.
  auto const in_line = !has_it && (!lock.is_free() || lock.has_queue());
  auto const takes_memory = in_line ? wanted.join : !has_it;
  if (takes_memory && call.is_out_of_memory()) return call.refuse(abi::out_of_memory);
  if (in_line) {
    std::int64_t ticket = 0;
    if (wanted.join) ticket = lock.join(wanted.owner, {.ticket = wanted.ticket, .waited_us = waited_us});
    if (lock.is_free()) static_cast<void>(lock.wake_next(policy, wanted.owner));
    if (!lock.is_free()) {
      ++counts.busy;
      if (!wanted.join) return call.reply_busy(lock.state(lock.last_token()));
      return call.reply_busy(lock.state(lock.last_token(), lock.ahead_of(wanted.owner), ticket));
    }
  }
  if (!hold(call, lock, wanted, has_it)) return;
  lock.leave_queue(wanted.owner);
  lock.reply_tokens(wanted.tokens);
}

void pass(request& call) {
  auto const turn = succession_in(call);
  auto const waited_us = call.number("waited_us", 0);
  if (call.refused()) return;
  plain_lock lock{call};
  if (!may_pass(call, lock, turn)) return;
  auto const ticket = lock.join(turn.next, {.waited_us = waited_us});
  if (lock.wake_next(turn.policy, turn.next) == wake_outcome::granted)
    return call.reply_passed_on(lock.state(lock.last_token(), lock.ahead_of(turn.next), ticket));
  lock.leave_queue(turn.next);
  give_to_next(lock, turn);
}

}  // namespace fair

}  // namespace holdfast::server
