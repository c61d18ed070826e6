// Locks without scripts: SET NX, compare-and-delete, counters by INCR, waiters told by the client that
// releases.

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"
#include "resp/command.hpp"
#include "script/compare.hpp"
#include "script/form.hpp"
#include "script/replies.hpp"
#include "script/scriptless.hpp"
#include "script/steps.hpp"

namespace holdfast::scripting {
namespace {

// exclusive.acquire and quorum.acquire.

enum acquire_step : std::uint8_t { take_step, raise_step, renew_own_step, join_step, undo_step };

/// The commands between MULTI and EXEC, in order.
enum taken : std::size_t {
  set_index,
  holder_index,
  ttl_index,
  type_index,
  token_index,
  counter_ttl_index,
  out_of_queue_index,
  time_index,
  taken_size
};

struct acquisition {
  explicit acquisition(spoken_call const& call) noexcept
      : lock{call.keys[0]},
        counter{call.keys[1]},
        queue{call.keys[2]},
        owner{call.args[0]},
        ttl_ms{call.args[1]},
        joins{call.args[3] == "join"},
        ticket{call.args[4]},
        vote{call.args.size() > 5},
        newest{vote ? leading_number(call.args[5]) : 0} {}
  std::string_view lock;
  std::string_view counter;
  std::string_view queue;
  std::string_view owner;
  std::string_view ttl_ms;
  bool joins;
  std::string_view ticket;
  /// Of one of several masters: a request that gives the vote back may be on its way behind it, and has to
  /// stay behind all its steps.
  bool vote;
  std::int64_t newest;  ///< of a vote: the newest token that the caller has seen
};

/// The token of a request that finds the lock busy is wasted: tokens only have to grow. Who comes back leaves
/// the queue, and joins it again with its ticket.
net::exchange try_to_take(acquisition const& of) {
  net::exchange now{.replies = 2 + taken_size, .alone = of.vote, .step = take_step};
  auto& out = now.bytes;
  resp::append_command(out, {"MULTI"});
  resp::append_command(out, {"SET", of.lock, of.owner, "NX", "PX", of.ttl_ms});
  resp::append_command(out, {"GET", of.lock});
  resp::append_command(out, {"PTTL", of.lock});
  resp::append_command(out, {"TYPE", of.lock});
  resp::append_command(out, {"INCR", of.counter});
  resp::append_command(out, {"EXPIRE", of.counter, day_s});
  resp::append_command(out, {"ZREM", of.queue, of.owner});
  resp::append_command(out, {"TIME"});
  resp::append_command(out, {"EXEC"});
  return now;
}

}  // namespace

net::exchange begin_scriptless_acquire(spoken_call const& call, form_context const& /*context*/) {
  return try_to_take(acquisition{call});
}

namespace {

net::meaning granted_reply(std::int64_t token) {
  return net::meaning::answer(array_reply({integer_reply(token), integer_reply(1)}));
}

/// See busy_reply.lua. For how long it has been held isn't known: tokens aren't times here.
net::meaning busy_reply(std::int64_t pttl, std::int64_t ahead, std::int64_t ticket, std::int64_t counter,
                        std::string holder) {
  return net::meaning::answer(
      array_reply({integer_reply(pttl), integer_reply(ahead), integer_reply(ticket), integer_reply(counter),
                   text_reply(std::move(holder)), integer_reply(-1)}));
}

/// A token is believed if it is newer than the connection: then no server that answered before, and may have
/// had newer ones, gave it out. Otherwise the counter has stood still for longer, or was lost: it is raised
/// to the server's clock before the lease is believed. An addition, so another that comes between does no
/// harm: the counter gets ahead of the clock.
net::meaning check_token(acquisition const& of, form_context const& context, std::int64_t token,
                         std::int64_t clock) {
  auto const least = std::max({context.server.connected_us, of.newest + 1, std::int64_t{1}});
  if (token >= least) return granted_reply(token);
  net::exchange raise{.step = raise_step};
  resp::append_command(raise.bytes, {"INCRBY", of.counter, std::to_string(std::max(clock, least) - token)});
  return net::meaning::go_on(std::move(raise), true);
}

/// Behind the locking the script would have refused to lock: gives it back, and answers with the error.
net::meaning undo_taking(acquisition const& of, form_context const& context, std::string error) {
  net::exchange back{.alone = of.vote, .step = undo_step, .note = std::move(error)};
  append_delete_if(back.bytes, context.server.native, of.lock, of.owner);
  return net::meaning::go_on(std::move(back), true);
}

net::meaning join_queue(acquisition const& of, std::span<resp::reply> found, std::int64_t clock) {
  auto const ticket = of.ticket.empty() ? std::to_string(clock) : std::string{of.ticket};
  net::exchange now{.replies = 5,
                    .alone = of.vote,
                    .step = join_step,
                    .numbers = {leading_number(ticket), found[token_index].integer}};
  resp::append_command(now.bytes, {"ZADD", of.queue, ticket, of.owner});
  resp::append_command(now.bytes, {"PEXPIRE", of.queue, minute_ms});
  resp::append_command(now.bytes, {"ZRANK", of.queue, of.owner});
  resp::append_command(now.bytes, {"GET", of.lock});
  resp::append_command(now.bytes, {"PTTL", of.lock});
  return net::meaning::go_on(std::move(now), true);
}

net::meaning read_taken(acquisition const& of, form_context const& context, std::span<resp::reply> replies) {
  auto const outcome = read_transaction(replies);
  // Without a transaction each command was carried out by itself, or refused by itself.
  if (outcome.refusal != nullptr)
    return net::meaning::answer(resp::reply{*outcome.refusal}, replies.front().is_error());
  auto const found = outcome.results;
  if (found.size() != taken_size)
    return net::meaning::answer(error_reply("ERR a strange reply to EXEC"), true);
  auto const set = found[set_index].is_text("OK");
  auto const& holder = found[holder_index];
  if (holder.is_error("WRONGTYPE"))
    return net::meaning::answer(error_reply("WRONGTYPE " + found[type_index].text));
  if (holder.is_error()) return net::meaning::answer(resp::reply{holder});
  auto const is_owner = holder.is_text(of.owner);
  auto const clock = microseconds_in(found[time_index]);
  auto const& token = found[token_index];
  auto const& left_queue = found[out_of_queue_index];
  if (token.is_error() || left_queue.is_error()) {
    auto text = token.is_error() && !token.is_error("WRONGTYPE")
                    ? "WRONGTYPE the token counter is no number"
                    : (token.is_error() ? token : left_queue).text;
    return set ? undo_taking(of, context, std::move(text))
               : net::meaning::answer(error_reply(std::move(text)));
  }
  if (set) return check_token(of, context, token.integer, clock);
  if (is_owner) {
    net::exchange renew{.alone = of.vote, .step = renew_own_step, .numbers = {token.integer, clock}};
    append_expire_if(renew.bytes, context.server.native, of.lock, of.owner, of.ttl_ms);
    return net::meaning::go_on(std::move(renew), true);
  }
  if (of.joins && holder.is_text()) return join_queue(of, found, clock);
  return busy_reply(found[ttl_index].integer, -1, 0, token.integer, holder.text);
}

}  // namespace

net::meaning read_scriptless_acquire(spoken_call const& call, form_context const& context,
                                     net::exchange const& now, std::span<resp::reply> replies) {
  acquisition const of{call};
  switch (now.step) {
    case take_step:
      return read_taken(of, context, replies);
    case raise_step:
      return replies[0].is_integer() ? granted_reply(replies[0].integer)
                                     : net::meaning::answer(std::move(replies[0]), true);
    case renew_own_step:
      if (read_compared(replies[0]) == compared::done)
        return check_token(of, context, now.numbers[0], now.numbers[1]);
      if (replies[0].is_error()) return net::meaning::answer(std::move(replies[0]), true);
      return net::meaning::go_on(try_to_take(of), true);  // it has just ended
    case join_step: {
      for (auto& reply : replies) {
        if (reply.is_error()) return net::meaning::answer(std::move(reply), true);
      }
      auto const& holder = replies[3];
      // Freed meanwhile: that release may not have met the caller in the queue. Or it did, and granted it.
      if (holder.is_nil() || holder.is_text(of.owner)) return net::meaning::go_on(try_to_take(of), true);
      return busy_reply(replies[4].integer, replies[2].integer, now.numbers[0], now.numbers[1], holder.text);
    }
    default:
      return net::meaning::answer(error_reply(now.note), true);
  }
}

namespace {

// exclusive.release and quorum.release; exclusive.pass: the next caller sends a request of its own.

enum ending_step : std::uint8_t { end_step, leave_step };

}  // namespace

net::exchange begin_scriptless_release(spoken_call const& call, form_context const& context) {
  ending const of{call};
  net::exchange now{.replies = 3, .step = end_step};
  append_delete_if(now.bytes, context.server.native, of.lock, of.owner);
  resp::append_command(now.bytes, {"EXISTS", of.lock});
  resp::append_command(now.bytes, {"EXISTS", of.queue});
  return now;
}

namespace {

/// `erased`: what compare-and-delete replied; `held`, `queued`: whether there still is a lock, and a queue.
net::meaning after_deletion(ending const& of, form_context const& context, resp::reply& erased,
                            resp::reply const& held, resp::reply const& queued) {
  auto const awaited = queued.is_error() || queued.integer != 0;  // its slot may be on its way elsewhere
  switch (read_compared(erased)) {
    case compared::done:
      return awaited ? begin_waking(of.queue, 1) : net::meaning::answer(integer_reply(1), true);
    case compared::other:
      return net::meaning::answer(integer_reply(-1));
    case compared::gone:
    case compared::differs:
      if (held.integer != 0) return net::meaning::answer(integer_reply(-1));
      // An earlier copy may have freed it, and told nobody.
      return awaited && context.resent ? begin_waking(of.queue, 0) : net::meaning::answer(integer_reply(0));
    case compared::unsuited:
    case compared::failed:
      break;
  }
  return net::meaning::answer(std::move(erased));
}

}  // namespace

net::meaning read_scriptless_release(spoken_call const& call, form_context const& context,
                                     net::exchange const& now, std::span<resp::reply> replies) {
  ending const of{call};
  if (now.step >= first_waking_step) return go_on_waking(of, now, replies);
  return after_deletion(of, context, replies[0], replies[1], replies[2]);
}

net::meaning read_scriptless_pass(spoken_call const& call, form_context const& context,
                                  net::exchange const& now, std::span<resp::reply> replies) {
  auto found = read_scriptless_release(call, context, now, replies);
  if (found.type == net::meaning::kind::answered && !found.reply.is_error())
    found.reply = array_reply({std::move(found.reply)});
  return found;
}

// exclusive.abandon and quorum.abandon.

net::exchange begin_scriptless_abandon(spoken_call const& call, form_context const& context) {
  ending const of{call};
  net::exchange now{.replies = 4, .step = leave_step};
  resp::append_command(now.bytes, {"ZREM", of.queue, of.owner});
  append_delete_if(now.bytes, context.server.native, of.lock, of.owner);
  resp::append_command(now.bytes, {"EXISTS", of.lock});
  resp::append_command(now.bytes, {"EXISTS", of.queue});
  return now;
}

/// A wake-up that the caller was given, and didn't use, is passed on.
net::meaning read_scriptless_abandon(spoken_call const& call, form_context const& /*context*/,
                                     net::exchange const& now, std::span<resp::reply> replies) {
  ending const of{call};
  if (now.step >= first_waking_step) return go_on_waking(of, now, replies);
  if (replies[0].is_error()) return net::meaning::answer(std::move(replies[0]));
  auto const erased = read_compared(replies[1]);
  if (erased == compared::failed || erased == compared::unsuited)
    return net::meaning::answer(std::move(replies[1]), true);
  auto const released = erased == compared::done;
  auto const free_unqueued = replies[0].integer == 0 && replies[2].integer == 0;
  auto const code = std::int64_t{released ? 1 : 0};
  if ((released || free_unqueued) && replies[3].integer != 0) return begin_waking(of.queue, code);
  return net::meaning::answer(integer_reply(code), true);
}

// exclusive.release_unwanted: the end of a client. Each is released by itself then.

net::exchange begin_scriptless_release_unwanted(spoken_call const& /*call*/,
                                                form_context const& /*context*/) {
  net::exchange now;
  resp::append_command(now.bytes, {"PING"});
  return now;
}

net::meaning read_scriptless_release_unwanted(spoken_call const& call, form_context const& /*context*/,
                                              net::exchange const& /*now*/, std::span<resp::reply> replies) {
  if (replies[0].is_error() && !replies[0].is_error("NOPERM"))
    return net::meaning::answer(std::move(replies[0]));
  std::vector<resp::reply> all;
  for (std::size_t n = 1; n <= call.args.size(); ++n)
    all.push_back(integer_reply(static_cast<std::int64_t>(n)));
  return net::meaning::answer(array_reply(std::move(all)));
}

}  // namespace holdfast::scripting
