// Commands about keys of all types.

#include <algorithm>
#include <chrono>

#include "base/whole_number.hpp"
#include "memory/commands.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory::commands {
namespace {

using resp::make_integer;
using resp::make_text;
using std::chrono::milliseconds;

}  // namespace

resp::reply del(stored_keys& keys, command args) {
  std::int64_t count = 0;
  for (auto const key : args) count += keys.erase(key) ? 1 : 0;
  return make_integer(count);
}

resp::reply exists(stored_keys& keys, command args) {
  return make_integer(std::ranges::count_if(args, [&keys](std::string_view key) { return keys.has(key); }));
}

resp::reply type(stored_keys& keys, command args) {
  auto const* const stored = keys.find(args[0]);
  if (stored == nullptr) return make_text("none");
  static constexpr char const* names[]{"string", "hash", "zset", "list"};
  return make_text(names[stored->data.index()]);
}

resp::reply pexpire(stored_keys& keys, command args) {
  auto* const stored = keys.find(args[0]);
  if (stored == nullptr) return make_integer(0);
  stored->end = keys.now() + milliseconds{leading_number(args[1])};
  (void)keys.find(args[0]);  // deletes the key if the ttl isn't positive
  return make_integer(1);
}

resp::reply pttl(stored_keys& keys, command args) {
  auto const* const stored = keys.find(args[0]);
  if (stored == nullptr) return make_integer(-2);
  if (stored->end == time_point::max()) return make_integer(-1);
  return make_integer(std::chrono::round<milliseconds>(stored->end - keys.now()).count());
}

}  // namespace holdfast::memory::commands
