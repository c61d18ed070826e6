#include "script/replies.hpp"

#include "base/whole_number.hpp"

namespace holdfast::scripting {

bool leads_elsewhere(resp::reply const& reply) noexcept {
  return reply.is_error("MOVED") || reply.is_error("ASK");
}

std::int64_t microseconds_in(resp::reply const& time) noexcept {
  return time.size() == 2 ? leading_number(time[0].text) * 1'000'000 + leading_number(time[1].text) : 0;
}

}  // namespace holdfast::scripting
