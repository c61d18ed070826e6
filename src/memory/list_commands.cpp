// Commands about lists.

#include <algorithm>

#include "base/whole_number.hpp"
#include "memory/commands.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory::commands {
namespace {

using resp::make_array;
using resp::make_integer;
using resp::make_text;

}  // namespace

resp::reply rpush(stored_keys& keys, command args) {
  auto& elements = keys.get_or_make<stored_keys::list>(args[0]);
  elements.insert(elements.end(), args.begin() + 1, args.end());
  return make_integer(static_cast<std::int64_t>(elements.size()));
}

resp::reply lpush(stored_keys& keys, command args) {
  auto& elements = keys.get_or_make<stored_keys::list>(args[0]);
  elements.insert(elements.begin(), args.rbegin(), args.rend() - 1);
  return make_integer(static_cast<std::int64_t>(elements.size()));
}

resp::reply llen(stored_keys& keys, command args) {
  auto const* const elements = keys.find_as<stored_keys::list>(args[0]);
  return make_integer(elements == nullptr ? 0 : static_cast<std::int64_t>(elements->size()));
}

resp::reply lpop(stored_keys& keys, command args) {
  auto* const elements = keys.find_as<stored_keys::list>(args[0]);
  if (elements == nullptr) return {};
  auto first = make_text(elements->front());
  elements->erase(elements->begin());
  keys.drop_if_empty<stored_keys::list>(args[0]);
  return first;
}

resp::reply lindex(stored_keys& keys, command args) {
  auto const* const elements = keys.find_as<stored_keys::list>(args[0]);
  if (elements == nullptr) return {};
  auto const [from, to] = positions(leading_number(args[1]), leading_number(args[1]), elements->size());
  return from == to ? resp::reply{} : make_text((*elements)[from]);
}

resp::reply lpos(stored_keys& keys, command args) {
  auto const* const elements = keys.find_as<stored_keys::list>(args[0]);
  if (elements == nullptr) return {};
  auto const found = std::ranges::find(*elements, args[1]);
  return found == elements->end() ? resp::reply{} : make_integer(found - elements->begin());
}

resp::reply lrange(stored_keys& keys, command args) {
  auto const* const elements = keys.find_as<stored_keys::list>(args[0]);
  std::vector<resp::reply> result;
  if (elements != nullptr) {
    auto const [from, to] = positions(leading_number(args[1]), leading_number(args[2]), elements->size());
    result.reserve(to - from);
    for (auto i = from; i != to; ++i) result.push_back(make_text((*elements)[i]));
  }
  return make_array(std::move(result));
}

resp::reply lrem(stored_keys& keys, command args) {
  auto* const elements = keys.find_as<stored_keys::list>(args[0]);
  if (elements == nullptr) return make_integer(0);
  auto remaining =
      leading_number(args[1]) == 0 ? static_cast<std::int64_t>(elements->size()) : leading_number(args[1]);
  std::int64_t count = 0;
  for (auto next = elements->begin(); next != elements->end() && remaining > 0;) {
    if (*next != args[2]) {
      ++next;
      continue;
    }
    next = elements->erase(next);
    --remaining;
    ++count;
  }
  keys.drop_if_empty<stored_keys::list>(args[0]);
  return make_integer(count);
}

}  // namespace holdfast::memory::commands
