#include "script/replies.hpp"

#include <charconv>

namespace holdfast::scripting {

bool leads_elsewhere(resp::reply const& reply) noexcept {
  return reply.is_error("MOVED") || reply.is_error("ASK");
}

std::int64_t number_in(std::string_view text) noexcept {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::int64_t microseconds_in(resp::reply const& time) noexcept {
  return time.size() == 2 ? number_in(time[0].text) * 1'000'000 + number_in(time[1].text) : 0;
}

}  // namespace holdfast::scripting
