#include "script/form.hpp"

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"
#include "resp/command.hpp"
#include "script/compare.hpp"
#include "script/replies.hpp"

namespace holdfast::scripting {
namespace {

enum renewal_step : std::uint8_t { renew_step, look_step };

/// The positions (from 1) of the lost ones: n the key is gone, -n somebody else has it.
resp::reply lost_reply(std::vector<std::int64_t> const& lost) {
  std::vector<resp::reply> elements;
  elements.reserve(lost.size());
  for (auto const each : lost) elements.push_back(integer_reply(each));
  return array_reply(std::move(elements));
}

}  // namespace

spoken_call::spoken_call(std::string_view request) {
  auto all = resp::arguments_of(request);  // EVALSHA, the script, the number of keys, …
  auto const count = all.size() > 2 ? leading_number<std::size_t>(all[2]) : 0;
  auto const first_argument = std::min<std::size_t>(all.size(), 3 + count);
  auto const first_key = std::min<std::size_t>(all.size(), 3);
  keys.assign(all.begin() + static_cast<std::ptrdiff_t>(first_key),
              all.begin() + static_cast<std::ptrdiff_t>(first_argument));
  args.assign(all.begin() + static_cast<std::ptrdiff_t>(first_argument), all.end());
}

net::exchange begin_renewal(spoken_call const& call, form_context const& context) {
  net::exchange now{.replies = static_cast<std::uint32_t>(call.keys.size()), .step = renew_step};
  for (std::size_t i = 0; i != call.keys.size(); ++i)
    append_expire_if(now.bytes, context.server.native, call.keys[i], call.args[i + 1], call.args[0]);
  return now;
}

net::meaning read_renewal(spoken_call const& call, form_context const& /*context*/, net::exchange const& now,
                          std::span<resp::reply> replies) {
  std::vector<std::int64_t> lost;
  if (now.step == look_step) {
    for (std::size_t i = 0; i != replies.size(); ++i) {
      if (replies[i].is_error()) return net::meaning::answer(std::move(replies[i]), true);
      auto const position = now.numbers[i];
      lost.push_back(position > 0 && replies[i].integer != 0 ? -position : position);
    }
    return net::meaning::answer(lost_reply(lost));
  }
  // Some locks of a slot on its way are here, and some elsewhere: each goes by itself then.
  if (replies.size() > 1 && std::ranges::any_of(replies, leads_elsewhere))
    return net::meaning::answer(error_reply("TRYAGAIN the locks are on more than one node"), true);
  auto uncertain = false;
  for (std::size_t i = 0; i != replies.size(); ++i) {
    auto const position = static_cast<std::int64_t>(i) + 1;
    switch (read_compared(replies[i])) {
      case compared::done:
        break;
      case compared::gone:
        lost.push_back(position);
        break;
      case compared::other:
        lost.push_back(-position);
        break;
      case compared::differs:
        uncertain = true;
        lost.push_back(position);
        break;
      case compared::unsuited:
        // Some may be renewed already, and will be once more.
        return {.type = net::meaning::kind::unsuited, .reply = std::move(replies[i])};
      case compared::failed:
        return net::meaning::answer(std::move(replies[i]), true);
    }
  }
  if (!uncertain) return net::meaning::answer(lost_reply(lost));
  net::exchange look{.replies = static_cast<std::uint32_t>(lost.size()), .step = look_step, .numbers = lost};
  for (auto const each : lost)
    resp::append_command(look.bytes, {"EXISTS", call.keys[static_cast<std::size_t>(std::abs(each)) - 1]});
  return net::meaning::go_on(std::move(look));
}

}  // namespace holdfast::scripting
