// A fence without scripts. Tokens are compared as text, as in fence_mark.lua.

#include <algorithm>
#include <utility>

#include "resp/command.hpp"
#include "script/compare.hpp"
#include "script/scriptless.hpp"
#include "script/steps.hpp"

namespace holdfast::scripting {
namespace {

enum fence_step : std::uint8_t {
  look_at_mark_step,
  set_mark_step,
  watch_step,
  write_step,
  unwatch_step,
  unmark_step
};

constexpr std::string_view no_token{"BADMARK the mark of the fence is no token"};

bool is_token(std::string_view text) noexcept {
  return !text.empty() && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_older_token(std::string_view token, std::string_view newest) noexcept {
  return token.size() < newest.size() || (token.size() == newest.size() && token < newest);
}

net::exchange look_at_mark(std::string_view mark) {
  net::exchange now{.step = look_at_mark_step};
  resp::append_command(now.bytes, {"GET", mark});
  return now;
}

/// fence.write
struct fenced_write {
  explicit fenced_write(spoken_call const& call) noexcept
      : mark{call.keys[0]},
        target{call.keys[1]},
        done{call.keys[2]},
        token{call.args[0]},
        remember_ms{call.args[1]},
        done_ms{call.args[2]},
        command{call.args[3]} {}
  std::string_view mark;
  std::string_view target;
  std::string_view done;
  std::string_view token;
  std::string_view remember_ms;
  std::string_view done_ms;
  std::string_view command;
};

/// The replies to watch().
enum watched : std::size_t { multi_index, exec_index, watch_index, mark_index, done_index, watched_size };

/// An empty transaction first: where a user may have none, each command of one would be carried out by
/// itself, watched or not. Nothing of other requests may come behind it: an EXEC of theirs would end the
/// watch.
net::exchange watch(fenced_write const& of) {
  net::exchange now{.replies = watched_size, .alone = true, .step = watch_step};
  resp::append_command(now.bytes, {"MULTI"});
  resp::append_command(now.bytes, {"EXEC"});
  resp::append_command(now.bytes, {"WATCH", of.mark, of.done});
  resp::append_command(now.bytes, {"GET", of.mark});
  resp::append_command(now.bytes, {"GET", of.done});
  return now;
}

/// Ends the watch, which would make transactions of other requests fail; then the outcome is that error, or
/// that number.
net::meaning unwatch(std::string error, std::int64_t code = 0) {
  net::exchange now{.step = unwatch_step, .note = std::move(error), .numbers = {code}};
  resp::append_command(now.bytes, {"UNWATCH"});
  return net::meaning::go_on(std::move(now));
}

/// `newest`: the mark as it was; empty: there was none.
net::meaning write_unless_changed(spoken_call const& call, fenced_write const& of, std::string newest) {
  net::exchange now{.replies = 5, .step = write_step, .note = std::move(newest)};
  auto& out = now.bytes;
  resp::append_command(out, {"MULTI"});
  std::vector<std::string_view> write{of.command, of.target};
  write.insert(write.end(), call.args.begin() + 4, call.args.end());
  resp::append_command(out, write);
  if (of.remember_ms == "0") {
    resp::append_command(out, {"SET", of.mark, of.token});
  } else {
    resp::append_command(out, {"SET", of.mark, of.token, "PX", of.remember_ms});
  }
  resp::append_command(out, {"SET", of.done, "written", "PX", of.done_ms});
  if (call.keys.size() > 3) {
    std::vector<std::string_view> forget{"DEL"};
    forget.insert(forget.end(), call.keys.begin() + 3, call.keys.end());
    resp::append_command(out, forget);
    ++now.replies;
  }
  resp::append_command(out, {"EXEC"});
  return net::meaning::go_on(std::move(now));
}

net::meaning read_written(fenced_write const& of, form_context const& context, net::exchange const& now,
                          std::span<resp::reply> replies) {
  auto const outcome = read_transaction(replies);
  if (outcome.refusal != nullptr && outcome.refusal->is_nil()) return net::meaning::go_on(watch(of));
  if (outcome.refusal != nullptr) return net::meaning::answer(resp::reply{*outcome.refusal});
  if (!outcome.results[0].is_error()) return net::meaning::answer(integer_reply(1), true);
  // The write itself failed, and a transaction is not taken back: what it noted is, unless that has changed.
  net::exchange next{.replies = 2, .step = unmark_step, .note = outcome.results[0].text};
  resp::append_command(next.bytes, {"DEL", of.done});
  if (now.note.empty()) {
    append_delete_if(next.bytes, context.server.native, of.mark, of.token);
  } else {
    append_set_if(next.bytes, context.server.native, of.mark, of.token, now.note,
                  of.remember_ms == "0" ? std::string_view{} : of.remember_ms);
  }
  return net::meaning::go_on(std::move(next));
}

}  // namespace

net::exchange begin_fence_claim(spoken_call const& call, form_context const& /*context*/) {
  return look_at_mark(call.keys[0]);
}

net::meaning read_fence_claim(spoken_call const& call, form_context const& context, net::exchange const& now,
                              std::span<resp::reply> replies) {
  auto const mark = call.keys[0];
  auto const token = call.args[0];
  auto const remember_ms = call.args[1] == "0" ? std::string_view{} : call.args[1];
  auto& reply = replies[0];
  if (now.step == set_mark_step) {
    if (reply.is_nil() || reply.is_integer()) {
      return reply.integer > 0 ? net::meaning::answer(integer_reply(1), true)
                               : net::meaning::go_on(look_at_mark(mark));  // changed meanwhile
    }
    return reply.is_error() ? net::meaning::answer(std::move(reply))
                            : net::meaning::answer(integer_reply(1), true);
  }
  if (reply.is_error("WRONGTYPE") || (reply.is_text() && !is_token(reply.text)))
    return net::meaning::answer(error_reply(std::string{no_token}));
  if (reply.is_error()) return net::meaning::answer(std::move(reply));
  if (reply.is_text() && is_older_token(token, reply.text)) return net::meaning::answer(integer_reply(0));
  net::exchange next{.step = set_mark_step};
  if (reply.is_text()) {
    append_set_if(next.bytes, context.server.native, mark, reply.text, token, remember_ms);
  } else if (remember_ms.empty()) {
    resp::append_command(next.bytes, {"SET", mark, token, "NX"});
  } else {
    resp::append_command(next.bytes, {"SET", mark, token, "NX", "PX", remember_ms});
  }
  return net::meaning::go_on(std::move(next));
}

net::exchange begin_fence_write(spoken_call const& call, form_context const& /*context*/) {
  return watch(fenced_write{call});
}

/// Compare-and-set changes one key alone, so what belongs together is watched, and changed in a transaction.
net::meaning read_fence_write(spoken_call const& call, form_context const& context, net::exchange const& now,
                              std::span<resp::reply> replies) {
  fenced_write const of{call};
  switch (now.step) {
    case watch_step: {
      auto& mark = replies[mark_index];
      for (auto const needed : {multi_index, exec_index, watch_index})
        if (replies[needed].is_error()) return unwatch(std::move(replies[needed].text));
      if (mark.is_error("WRONGTYPE") || (mark.is_text() && !is_token(mark.text)))
        return unwatch(std::string{no_token});
      if (mark.is_error()) return unwatch(std::move(mark.text));
      auto& done = replies[done_index];
      if (done.is_error()) return unwatch(std::move(done.text));
      if (done.is_text("written")) return unwatch({}, 1);
      if (mark.is_text() && is_older_token(of.token, mark.text)) return unwatch({}, 0);
      return write_unless_changed(call, of, std::move(mark.text));
    }
    case write_step:
      return read_written(of, context, now, replies);
    case unmark_step:
      return net::meaning::answer(error_reply(now.note));
    default:
      return now.note.empty() ? net::meaning::answer(integer_reply(now.numbers[0]))
                              : net::meaning::answer(error_reply(now.note));
  }
}

}  // namespace holdfast::scripting
