#include "memory/dataset.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "memory/arguments.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

using resp::make_array;
using resp::make_error;
using resp::make_integer;
using resp::make_text;
using std::chrono::milliseconds;

/// Of a reply that tells whether something has changed.
bool tells_a_change(resp::reply const& reply) {
  if (reply.is_integer()) return reply.integer != 0;
  return reply.is_array() ? reply.size() != 0 : !reply.is_nil();
}

}  // namespace

dataset::known_command const* dataset::find_command(std::string_view name) {
  using enum effect;
  // Not a table that exit() destroys: clients give back afterwards what they hold.
  static constexpr auto all = [] {
    auto table = std::to_array<known_command>({{"PING", &dataset::ping, none},
                                               {"TIME", &dataset::time, none},
                                               {"PUBLISH", &dataset::publish, none},
                                               {"DEL", &dataset::del, write_if_told},
                                               {"EXISTS", &dataset::exists, none},
                                               {"TYPE", &dataset::type, none},
                                               {"PEXPIRE", &dataset::pexpire, write_if_told},
                                               {"PTTL", &dataset::pttl, none},
                                               {"GET", &dataset::get, none},
                                               {"SET", &dataset::set, write_if_told},
                                               {"INCR", &dataset::incr, write},
                                               {"INCRBY", &dataset::incrby, write},
                                               {"DECRBY", &dataset::decrby, write},
                                               {"GETRANGE", &dataset::getrange, none},
                                               {"APPEND", &dataset::append, write},
                                               {"HSET", &dataset::hset, write},
                                               {"HSETNX", &dataset::hsetnx, write_if_told},
                                               {"HGET", &dataset::hget, none},
                                               {"HDEL", &dataset::hdel, write_if_told},
                                               {"HEXISTS", &dataset::hexists, none},
                                               {"HLEN", &dataset::hlen, none},
                                               {"HKEYS", &dataset::hkeys, none},
                                               {"HGETALL", &dataset::hgetall, none},
                                               {"HSTRLEN", &dataset::hstrlen, none},
                                               {"HSCAN", &dataset::hscan, none},
                                               {"LPOS", &dataset::lpos, none},
                                               {"ZADD", &dataset::zadd, write},
                                               {"ZINCRBY", &dataset::zincrby, write},
                                               {"ZREM", &dataset::zrem, write_if_told},
                                               {"ZSCORE", &dataset::zscore, none},
                                               {"ZRANK", &dataset::zrank, none},
                                               {"ZCARD", &dataset::zcard, none},
                                               {"ZCOUNT", &dataset::zcount, none},
                                               {"ZRANGE", &dataset::zrange, none},
                                               {"ZPOPMIN", &dataset::zpopmin, write_if_told},
                                               {"ZRANGEBYSCORE", &dataset::zrangebyscore, none},
                                               {"ZREMRANGEBYRANK", &dataset::zremrangebyrank, write_if_told},
                                               {"LPUSH", &dataset::lpush, write},
                                               {"RPUSH", &dataset::rpush, write},
                                               {"LLEN", &dataset::llen, none},
                                               {"LPOP", &dataset::lpop, write_if_told},
                                               {"LINDEX", &dataset::lindex, none},
                                               {"LRANGE", &dataset::lrange, none},
                                               {"LREM", &dataset::lrem, write_if_told}});
    std::ranges::sort(table, {}, &known_command::name);
    return table;
  }();
  auto const* const found = std::ranges::lower_bound(all, name, {}, &known_command::name);
  return found == all.end() || found->name != name ? nullptr : found;
}

resp::reply dataset::execute(command words, time_point now) {
  now_ = now;
  auto const* const known = find_command(words.front());
  if (known == nullptr)
    throw std::logic_error{"the server in memory doesn't have " + std::string{words.front()}};
  try {
    auto reply = (this->*known->carry_out)(words.subspan(1));
    auto const written =
        known->has == effect::write || (known->has == effect::write_if_told && tells_a_change(reply));
    if (count_write_ && written && !reply.is_error()) note_write();
    new_.clear();
    return reply;
  } catch (wrong_type const&) {
    return make_error("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
}

void dataset::note_write() {
  auto const number = count_write_();
  for (auto& [key, word] : new_) came_[std::move(key)][std::move(word)] = number;
}

std::uint64_t dataset::came(std::string_view key, std::string_view word) const {
  auto const under_key = came_.find(key);
  if (under_key == came_.end()) return 0;
  auto const found = under_key->second.find(word);
  return found == under_key->second.end() ? 0 : found->second;
}

std::string_view dataset::text_of(std::string_view key) {
  auto const* const stored = find(key);
  auto const* const text = stored == nullptr ? nullptr : std::get_if<std::string>(&stored->data);
  return text == nullptr ? std::string_view{} : *text;
}

std::string_view dataset::field_of(std::string_view key, std::string_view field) {
  auto const* const stored = find(key);
  auto const* const fields = stored == nullptr ? nullptr : std::get_if<hash>(&stored->data);
  if (fields == nullptr) return {};
  auto const found = fields->find(field);
  return found == fields->end() ? std::string_view{} : found->second;
}

sorted_set const* dataset::members_of(std::string_view key) {
  auto const* const stored = find(key);
  return stored == nullptr ? nullptr : std::get_if<sorted_set>(&stored->data);
}

std::optional<double> dataset::score_in(std::string_view key, std::string_view member) {
  auto const* const members = members_of(key);
  return members == nullptr ? std::nullopt : members->score_of(member);
}

std::size_t dataset::members_in(std::string_view key) {
  auto const* const members = members_of(key);
  return members == nullptr ? 0 : members->size();
}

std::string dataset::contents_of(std::string_view key) {
  auto const* const stored = find(key);
  if (stored == nullptr) return {};
  std::string all;
  auto const add = [&all](auto const&... words) { (all.append(words), ...).append(" "); };
  if (auto const* const text = std::get_if<std::string>(&stored->data)) all = *text;
  if (auto const* const elements = std::get_if<list>(&stored->data)) {
    for (auto const& element : *elements) add(element);
  }
  if (auto const* const fields = std::get_if<hash>(&stored->data)) {
    for (auto const& [field, text] : *fields) add(field, "=", text);
  }
  if (auto const* const members = std::get_if<sorted_set>(&stored->data)) {
    for (auto const& [score, member] : members->in_order()) add(member);
  }
  return all;
}

time_point dataset::end_of(std::string_view key) {
  auto const* const stored = find(key);
  return stored == nullptr ? time_point::max() : stored->end;
}

std::vector<std::string> dataset::keys() {
  std::erase_if(keys_, [this](auto const& entry) { return entry.second.end <= now_; });
  std::vector<std::string> all;
  all.reserve(keys_.size());
  for (auto const& [key, stored] : keys_) all.push_back(key);
  return all;
}

dataset::value* dataset::find(std::string_view key) {
  auto const found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  if (found->second.end <= now_) {
    keys_.erase(found);
    return nullptr;
  }
  return &found->second;
}

bool dataset::erase(std::string_view key) {
  auto const found = keys_.find(key);
  if (found == keys_.end()) return false;
  auto const there = found->second.end > now_;
  keys_.erase(found);
  return there;
}

resp::reply dataset::ping(command) { return make_text("PONG"); }

/// No two are the same, as with a real server: a queue's order comes from them, also where a test holds the
/// clock. One that was set back by a second or more is believed.
resp::reply dataset::time(command) {
  constexpr std::int64_t a_second = 1'000'000;
  auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>((now_ + clock_ahead_).time_since_epoch()).count();
  if (micros <= last_time_ && last_time_ < micros + a_second) micros = last_time_ + 1;
  last_time_ = micros;
  return make_array(
      {make_text(std::to_string(micros / 1'000'000)), make_text(std::to_string(micros % 1'000'000))});
}

resp::reply dataset::publish(command args) { return make_integer(publish_(args[0], args[1])); }

resp::reply dataset::del(command args) {
  std::int64_t count = 0;
  for (auto const key : args) count += erase(key) ? 1 : 0;
  return make_integer(count);
}

resp::reply dataset::exists(command args) {
  return make_integer(std::ranges::count_if(args, [this](std::string_view key) { return has(key); }));
}

resp::reply dataset::type(command args) {
  auto const* const stored = find(args[0]);
  if (stored == nullptr) return make_text("none");
  static constexpr char const* names[]{"string", "hash", "zset", "list"};
  return make_text(names[stored->data.index()]);
}

resp::reply dataset::pexpire(command args) {
  auto* const stored = find(args[0]);
  if (stored == nullptr) return make_integer(0);
  stored->end = now_ + milliseconds{number_of(args[1])};
  (void)find(args[0]);  // deletes the key if the ttl isn't positive
  return make_integer(1);
}

resp::reply dataset::pttl(command args) {
  auto const* const stored = find(args[0]);
  if (stored == nullptr) return make_integer(-2);
  if (stored->end == time_point::max()) return make_integer(-1);
  return make_integer(std::chrono::round<milliseconds>(stored->end - now_).count());
}

}  // namespace holdfast::memory
