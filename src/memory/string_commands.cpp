// Commands about strings.

#include <algorithm>
#include <chrono>

#include "base/whole_number.hpp"
#include "memory/commands.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory::commands {
namespace {

using resp::make_error;
using resp::make_integer;
using resp::make_text;

resp::reply increase(stored_keys& keys, std::string_view key, std::int64_t by) {
  auto* const stored = keys.find_as<std::string>(key);
  auto const number = stored == nullptr ? 0 : leading_number(*stored);
  if (stored != nullptr && std::to_string(number) != *stored)
    return make_error("ERR value is not an integer or out of range");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(number, by, &sum))
    return make_error("ERR increment or decrement would overflow");
  (stored != nullptr ? *stored : keys.get_or_make<std::string>(key)) = std::to_string(sum);
  return make_integer(sum);
}

}  // namespace

resp::reply get(stored_keys& keys, command args) {
  auto const* const stored = keys.find_as<std::string>(args[0]);
  return stored == nullptr ? resp::reply{} : make_text(*stored);
}

resp::reply set(stored_keys& keys, command args) {
  auto end = time_point::max();
  auto keep_ttl = false;
  auto* const stored = keys.find(args[0]);
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i] == "NX" && stored != nullptr) return {};
    if (args[i] == "XX" && stored == nullptr) return {};
    if (args[i] == "KEEPTTL") keep_ttl = true;
    if (args[i] == "PX") end = keys.now() + std::chrono::milliseconds{leading_number(args[i + 1])};
    if (args[i] == "EX") end = keys.now() + std::chrono::seconds{leading_number(args[i + 1])};
  }
  if (keep_ttl && stored != nullptr) end = stored->end;
  if (keys.text_of(args[0]) != args[1]) keys.note_new(args[0], args[1]);
  auto& written = stored == nullptr ? keys.make(args[0]) : *stored;
  written = {.data = std::string{args[1]}, .end = end};
  return make_text("OK");
}

resp::reply append(stored_keys& keys, command args) {
  auto& text = keys.get_or_make<std::string>(args[0]);
  text.append(args[1]);
  return make_integer(static_cast<std::int64_t>(text.size()));
}

resp::reply incr(stored_keys& keys, command args) { return increase(keys, args[0], 1); }
resp::reply incrby(stored_keys& keys, command args) {
  return increase(keys, args[0], leading_number(args[1]));
}
resp::reply decrby(stored_keys& keys, command args) {
  return increase(keys, args[0], -leading_number(args[1]));
}

/// Not with positions(): a position before the start is taken as 0, also for the last one.
resp::reply getrange(stored_keys& keys, command args) {
  auto const* const stored = keys.find_as<std::string>(args[0]);
  if (stored == nullptr || stored->empty()) return make_text({});
  auto const size = static_cast<std::int64_t>(stored->size());
  auto first = leading_number(args[1]);
  auto last = leading_number(args[2]);
  if (first < 0 && last < 0 && first > last) return make_text({});
  if (first < 0) first = std::max<std::int64_t>(0, size + first);
  if (last < 0) last = std::max<std::int64_t>(0, size + last);
  last = std::min(last, size - 1);
  if (first > last) return make_text({});
  return make_text(
      stored->substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first) + 1));
}

}  // namespace holdfast::memory::commands
