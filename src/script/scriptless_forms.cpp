// Votes of several masters without scripts, and what else a client says of itself; the list of all forms.

#include <algorithm>
#include <array>
#include <utility>

#include "base/whole_number.hpp"
#include "resp/command.hpp"
#include "script/compare.hpp"
#include "script/replies.hpp"
#include "script/scriptless.hpp"

namespace holdfast::scripting {
namespace {

enum vote_step : std::uint8_t { first_vote_step, last_vote_step };

// What only votes need.

/// quorum.yield: a vote is given back, and the caller is in line with its ticket. In one exchange, as later
/// requests of the caller must find it done. Late copies aren't told from others here: one costs this
/// master's vote until the end of its ttl.
net::exchange begin_yield(spoken_call const& call, form_context const& context) {
  auto const queue = call.keys[1];
  auto const owner = call.args[0];
  auto const ticket = call.args[1];
  net::exchange now{.replies = 2};
  append_delete_if(now.bytes, context.server.native, call.keys[0], owner);
  if (ticket.empty()) {
    resp::append_command(now.bytes, {"ZREM", queue, owner});
  } else {
    resp::append_command(now.bytes, {"ZADD", queue, ticket, owner});
    resp::append_command(now.bytes, {"PEXPIRE", queue, minute_ms});
    now.replies = 3;
  }
  return now;
}

net::meaning read_yield(spoken_call const& /*call*/, form_context const& /*context*/,
                        net::exchange const& /*now*/, std::span<resp::reply> replies) {
  auto const erased = read_compared(replies[0]);
  if (erased == compared::failed || erased == compared::unsuited)
    return net::meaning::answer(std::move(replies[0]));
  return net::meaning::answer(integer_reply(erased == compared::done ? 1 : 0));
}

/// quorum.leave
net::exchange begin_leave(spoken_call const& call, form_context const& /*context*/) {
  net::exchange now;
  resp::append_command(now.bytes, {"ZREM", call.keys[0], call.args[0]});
  return now;
}

net::meaning read_as_it_is(spoken_call const& /*call*/, form_context const& /*context*/,
                           net::exchange const& /*now*/, std::span<resp::reply> replies) {
  return net::meaning::answer(std::move(replies[0]));
}

/// quorum.raise: adds what is wanting. Whatever is counted meanwhile only makes it more.
net::exchange begin_raise(spoken_call const& call, form_context const& /*context*/) {
  net::exchange now{.replies = 2, .step = first_vote_step};
  resp::append_command(now.bytes, {"GET", call.keys[0]});
  resp::append_command(now.bytes, {"GET", call.keys[1]});
  return now;
}

net::meaning read_raise(spoken_call const& call, form_context const& /*context*/, net::exchange const& now,
                        std::span<resp::reply> replies) {
  for (auto& reply : replies) {
    if (reply.is_error()) return net::meaning::answer(std::move(reply), true);
  }
  if (now.step == last_vote_step) return net::meaning::answer(std::move(replies[0]), true);
  if (!replies[0].is_text(call.args[0])) return net::meaning::answer(integer_reply(0));
  auto const last = leading_number(replies[1].text);
  auto const wanted = leading_number(call.args[1]);
  if (last >= wanted) return net::meaning::answer(integer_reply(last));
  net::exchange raise{.replies = 2, .step = last_vote_step};
  resp::append_command(raise.bytes, {"INCRBY", call.keys[1], std::to_string(wanted - last)});
  resp::append_command(raise.bytes, {"EXPIRE", call.keys[1], day_s});
  return net::meaning::go_on(std::move(raise), true);
}

// client.announce: for those whom this client blocks.

net::exchange begin_announce(spoken_call const& /*call*/, form_context const& /*context*/) {
  net::exchange now{.step = first_vote_step};
  resp::append_command(now.bytes, {"TIME"});
  return now;
}

net::meaning read_announce(spoken_call const& call, form_context const& /*context*/, net::exchange const& now,
                           std::span<resp::reply> replies) {
  for (auto& reply : replies) {
    if (reply.is_error()) return net::meaning::answer(std::move(reply), true);
  }
  if (now.step == last_vote_step) return net::meaning::answer(integer_reply(1), true);
  auto const record = call.keys[0];
  auto const traces = call.args[5];
  net::exchange next{.replies = 3, .step = last_vote_step};
  resp::append_command(next.bytes, {"HSET", record, "host", call.args[1], "pid", call.args[2], "program",
                                    call.args[3], "label", call.args[4]});
  if (!traces.empty()) {
    resp::append_command(next.bytes, {"HSET", record, "traces", traces});
    next.replies = 4;
  }
  resp::append_command(next.bytes, {"HSETNX", record, "since", std::to_string(microseconds_in(replies[0]))});
  resp::append_command(next.bytes, {"PEXPIRE", record, call.args[0]});
  return net::meaning::go_on(std::move(next));
}

constexpr std::array<form, 15> forms_without_scripts{{
    {"exclusive.acquire", begin_scriptless_acquire, read_scriptless_acquire},
    {"exclusive.release", begin_scriptless_release, read_scriptless_release},
    {"exclusive.pass", begin_scriptless_release, read_scriptless_pass},
    {"exclusive.abandon", begin_scriptless_abandon, read_scriptless_abandon},
    {"exclusive.renew", begin_renewal, read_renewal},
    {"exclusive.release_unwanted", begin_scriptless_release_unwanted, read_scriptless_release_unwanted},
    {"quorum.acquire", begin_scriptless_acquire, read_scriptless_acquire},
    {"quorum.release", begin_scriptless_release, read_scriptless_release},
    {"quorum.abandon", begin_scriptless_abandon, read_scriptless_abandon},
    {"quorum.yield", begin_yield, read_yield},
    {"quorum.leave", begin_leave, read_as_it_is},
    {"quorum.raise", begin_raise, read_raise},
    {"client.announce", begin_announce, read_announce},
    {"fence.claim", begin_fence_claim, read_fence_claim},
    {"fence.write", begin_fence_write, read_fence_write},
}};

}  // namespace

form const* scriptless_form(std::string_view script) noexcept {
  auto const* const found = std::ranges::find(forms_without_scripts, script, &form::script);
  return found == forms_without_scripts.end() ? nullptr : found;
}

}  // namespace holdfast::scripting
