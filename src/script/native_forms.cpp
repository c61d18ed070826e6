// Releases and renewals in commands of the server's own, where there are scripts for all else.

#include <algorithm>
#include <array>
#include <utility>

#include "resp/command.hpp"
#include "script/compare.hpp"
#include "script/form.hpp"
#include "script/replies.hpp"

namespace holdfast::scripting {
namespace {

/// A script that renews many takes less of the server's time than as many commands.
constexpr std::size_t most_renewed_natively = 4;

/// The last two are for a release whose earlier copy may have gone in steps.
enum release_step : std::uint8_t {
  delete_step,
  wake_step,
  wake_in_full_step,
  finish_step,
  finish_in_full_step
};

/// A call of another script, by its SHA-1 or its text, with the keys and arguments of this one.
std::string call_of(std::string_view verb, std::string_view source, spoken_call const& call) {
  std::string bytes;
  resp::append_array_header(bytes, 3 + call.keys.size() + call.args.size());
  resp::append_bulk(bytes, verb);
  resp::append_bulk(bytes, source);
  resp::append_integer_bulk(bytes, static_cast<std::int64_t>(call.keys.size()));
  for (auto const key : call.keys) resp::append_bulk(bytes, key);
  for (auto const argument : call.args) resp::append_bulk(bytes, argument);
  return bytes;
}

/// exclusive.release. The lock goes first, then the queue is looked at: whoever finds the lock busy is in the
/// queue before the lock is deleted, or finds it free. Somebody waits: the script for that follows, which
/// does nothing if another has taken the lock meanwhile. If it doesn't come to that, the waiters find out by
/// their re-check.
net::exchange begin_release(spoken_call const& call, form_context const& context) {
  // The first waiter has to be granted the lock in the step that frees it.
  if (call.args[1] == "0") return {};
  net::exchange now{.replies = 2, .step = delete_step};
  append_delete_if(now.bytes, context.server.native, call.keys[0], call.args[0]);
  resp::append_command(now.bytes, {"EXISTS", call.keys[2]});
  return now;
}

net::meaning wake(spoken_call const& call, form_context const& context) {
  return net::meaning::go_on({.bytes = call_of("EVALSHA", context.wake.sha1, call), .step = wake_step}, true);
}

net::meaning read_release(spoken_call const& call, form_context const& context, net::exchange const& now,
                          std::span<resp::reply> replies) {
  if (replies[0].is_error("NOSCRIPT") && (now.step == wake_step || now.step == finish_step)) {
    auto const next = static_cast<std::uint8_t>(now.step + 1);
    return net::meaning::go_on({.bytes = call_of("EVAL", context.wake.text, call), .step = next},
                               now.step == wake_step);
  }
  if (now.step >= finish_step) return net::meaning::answer(std::move(replies[0]));
  if (now.step != delete_step) {
    // A waiter that can't be told asks again by itself; but where the slot has moved another node tells it.
    if (leads_elsewhere(replies[0])) return net::meaning::answer(std::move(replies[0]), true);
    return net::meaning::answer(integer_reply(1), true);
  }
  auto const queued = !replies[1].is_integer() || replies[1].integer != 0;
  switch (read_compared(replies[0])) {
    case compared::done:
      return queued ? wake(call, context) : net::meaning::answer(integer_reply(1), true);
    case compared::other:
      return net::meaning::answer(integer_reply(-1));
    case compared::gone:
    case compared::differs:
      // An earlier copy may have deleted it, and then nobody was told.
      if (context.resent && queued) return wake(call, context);
      return {.type = net::meaning::kind::unsuited};
    case compared::unsuited:
      return {.type = net::meaning::kind::unsuited, .reply = std::move(replies[0])};
    case compared::failed:
      break;
  }
  return net::meaning::answer(std::move(replies[0]));
}

net::exchange begin_few_renewals(spoken_call const& call, form_context const& context) {
  if (!context.server.native_expiry || call.keys.size() > most_renewed_natively) return {};
  return begin_renewal(call, context);
}

constexpr std::array<form, 2> forms{{
    {"exclusive.release", begin_release, read_release},
    {"exclusive.renew", begin_few_renewals, read_renewal},
}};

}  // namespace

net::exchange finish_release(spoken_call const& call, form_context const& context) {
  return {.bytes = call_of("EVALSHA", context.wake.sha1, call), .step = finish_step};
}

form const* native_form(std::string_view script) noexcept {
  auto const* const found = std::ranges::find(forms, script, &form::script);
  return found == forms.end() ? nullptr : found;
}

}  // namespace holdfast::scripting
