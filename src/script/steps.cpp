#include "script/steps.hpp"

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"
#include "script/replies.hpp"

namespace holdfast::scripting {
namespace {

enum waking_step : std::uint8_t { pop_step = first_waking_step, tell_step, put_back_step };

/// The same as a queue of a script lives after the last waiter asked.
constexpr std::string_view queue_ttl_ms{"60000"};
constexpr std::size_t uuid_size = 36;

std::string inbox_of(std::string_view waiter, std::string_view queue) {
  constexpr std::string_view ending_of_queues{"queue"};
  return std::string{queue.substr(0, queue.size() - ending_of_queues.size())}.append("inbox:").append(
      waiter.substr(0, uuid_size));
}

net::exchange pop(std::string_view queue, std::int64_t code) {
  net::exchange now{.step = pop_step, .numbers = {code}};
  resp::append_command(now.bytes, {"ZPOPMIN", queue});
  return now;
}

/// Where it isn't known how messages travel they go both ways, as in to_inbox (wake_next.lua).
net::exchange tell(ending const& of, resp::reply const& first, std::int64_t code) {
  auto const& waiter = first[0].text;
  auto const channel = inbox_of(waiter, of.queue);
  std::string_view number{waiter};
  number.remove_prefix(std::min(waiter.size(), uuid_size + 1));
  auto const message =
      std::string{"woken "}.append(names::without_suffix(number)).append(" ").append(of.lock);
  net::exchange now{.step = tell_step, .note = waiter, .numbers = {code, leading_number(first[1].text)}};
  if (of.publish == "UNCOUNTED") {
    resp::append_command(now.bytes, {"SPUBLISH", channel, message});
    resp::append_command(now.bytes, {"PUBLISH", channel, message});
    now.replies = 2;
  } else {
    resp::append_command(now.bytes, {of.publish, channel, message});
  }
  return now;
}

}  // namespace

transaction_outcome read_transaction(std::span<resp::reply> replies) noexcept {
  auto& exec = replies.back();
  if (exec.is_array()) return {.results = exec.elements};
  auto const refused =
      std::ranges::find_if(replies, [](resp::reply const& reply) { return reply.is_error(); });
  return {.refusal = refused == replies.end() ? &exec : &*refused};
}

net::meaning begin_waking(std::string_view queue, std::int64_t code) {
  return net::meaning::go_on(pop(queue, code), true);
}

net::meaning go_on_waking(ending const& of, net::exchange const& now, std::span<resp::reply> replies) {
  auto const code = now.numbers[0];
  auto const over = [code] { return net::meaning::answer(integer_reply(code), true); };
  switch (now.step) {
    case pop_step:
      if (leads_elsewhere(replies[0])) return net::meaning::answer(std::move(replies[0]), true);
      // Whatever else is wrong with the queue, the lock is free, and the waiters find that out by themselves.
      if (replies[0].size() != 2) return over();
      return net::meaning::go_on(tell(of, replies[0], code), true);
    case tell_step: {
      auto const& heard = replies.back();
      auto const counted = of.publish != "UNCOUNTED";
      if (!heard.is_error()) {
        if (!counted || heard.integer > 0) return over();
        return net::meaning::go_on(pop(of.queue, code), true);  // its process is gone
      }
      // Without the right to publish the waiters poll, and stay queued.
      net::exchange back{.replies = 2, .step = put_back_step, .numbers = {code}};
      resp::append_command(back.bytes, {"ZADD", of.queue, std::to_string(now.numbers[1]), now.note});
      resp::append_command(back.bytes, {"PEXPIRE", of.queue, queue_ttl_ms});
      return net::meaning::go_on(std::move(back), true);
    }
    default:
      return over();
  }
}

}  // namespace holdfast::scripting
