// Commands about hashes.

#include "memory/commands.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory::commands {
namespace {

using resp::make_array;
using resp::make_integer;
using resp::make_text;

}  // namespace

resp::reply hset(stored_keys& keys, command args) {
  auto& fields = keys.get_or_make<stored_keys::hash>(args[0]);
  std::int64_t added = 0;
  for (std::size_t i = 1; i + 1 < args.size(); i += 2) {
    auto const known = fields.find(args[i]);
    if (known != fields.end()) {
      known->second = args[i + 1];
      continue;
    }
    fields.emplace(args[i], args[i + 1]);
    keys.note_new(args[0], args[i]);
    ++added;
  }
  return make_integer(added);
}

resp::reply hsetnx(stored_keys& keys, command args) {
  auto const added = keys.get_or_make<stored_keys::hash>(args[0]).emplace(args[1], args[2]).second;
  if (added) keys.note_new(args[0], args[1]);
  return make_integer(added ? 1 : 0);
}

resp::reply hget(stored_keys& keys, command args) {
  auto const* const fields = keys.find_as<stored_keys::hash>(args[0]);
  if (fields == nullptr) return {};
  auto const found = fields->find(args[1]);
  return found == fields->end() ? resp::reply{} : make_text(found->second);
}

resp::reply hdel(stored_keys& keys, command args) {
  auto* const fields = keys.find_as<stored_keys::hash>(args[0]);
  if (fields == nullptr) return make_integer(0);
  std::int64_t count = 0;
  for (auto const field : args.subspan(1)) {
    auto const found = fields->find(field);
    if (found == fields->end()) continue;
    fields->erase(found);
    ++count;
  }
  keys.drop_if_empty<stored_keys::hash>(args[0]);
  return make_integer(count);
}

resp::reply hexists(stored_keys& keys, command args) {
  auto const* const fields = keys.find_as<stored_keys::hash>(args[0]);
  return make_integer(fields != nullptr && fields->contains(args[1]) ? 1 : 0);
}

resp::reply hlen(stored_keys& keys, command args) {
  auto const* const fields = keys.find_as<stored_keys::hash>(args[0]);
  return make_integer(fields == nullptr ? 0 : static_cast<std::int64_t>(fields->size()));
}

resp::reply hkeys(stored_keys& keys, command args) {
  std::vector<resp::reply> all;
  if (auto const* const fields = keys.find_as<stored_keys::hash>(args[0]); fields != nullptr) {
    for (auto const& [field, text] : *fields) all.push_back(make_text(field));
  }
  return make_array(std::move(all));
}

resp::reply hgetall(stored_keys& keys, command args) {
  std::vector<resp::reply> all;
  if (auto const* const fields = keys.find_as<stored_keys::hash>(args[0]); fields != nullptr) {
    for (auto const& [field, text] : *fields) {
      all.push_back(make_text(field));
      all.push_back(make_text(text));
    }
  }
  return make_array(std::move(all));
}

/// All at once, as a real server replies for a small hash.
resp::reply hscan(stored_keys& keys, command args) {
  return make_array({make_text("0"), hgetall(keys, args)});
}

resp::reply hstrlen(stored_keys& keys, command args) {
  return make_integer(static_cast<std::int64_t>(hget(keys, args).text.size()));
}

}  // namespace holdfast::memory::commands
