#include "memory/dataset.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "memory/commands.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

using resp::make_array;
using resp::make_error;
using resp::make_integer;
using resp::make_text;

/// Of a reply that tells whether something has changed.
bool tells_a_change(resp::reply const& reply) {
  if (reply.is_integer()) return reply.integer != 0;
  return reply.is_array() ? reply.size() != 0 : !reply.is_nil();
}

/// An order of names in which most are told apart by their length.
constexpr bool goes_before(std::string_view one, std::string_view other) noexcept {
  return one.size() != other.size() ? one.size() < other.size() : one < other;
}

}  // namespace

dataset::known_command const* dataset::find_command(std::string_view name) {
  using enum effect;
  // Not a table that exit() destroys: clients give back afterwards what they hold.
  static constexpr auto all = [] {
    auto table = std::to_array<known_command>(
        {{"PING", &dataset::ping, none},
         {"TIME", &dataset::time, none},
         {"PUBLISH", &dataset::publish, none},
         {"DEL", &dataset::on_keys<commands::del>, write_if_told},
         {"EXISTS", &dataset::on_keys<commands::exists>, none},
         {"TYPE", &dataset::on_keys<commands::type>, none},
         {"PEXPIRE", &dataset::on_keys<commands::pexpire>, write_if_told},
         {"PTTL", &dataset::on_keys<commands::pttl>, none},
         {"GET", &dataset::on_keys<commands::get>, none},
         {"SET", &dataset::on_keys<commands::set>, write_if_told},
         {"INCR", &dataset::on_keys<commands::incr>, write},
         {"INCRBY", &dataset::on_keys<commands::incrby>, write},
         {"DECRBY", &dataset::on_keys<commands::decrby>, write},
         {"GETRANGE", &dataset::on_keys<commands::getrange>, none},
         {"APPEND", &dataset::on_keys<commands::append>, write},
         {"HSET", &dataset::on_keys<commands::hset>, write},
         {"HSETNX", &dataset::on_keys<commands::hsetnx>, write_if_told},
         {"HGET", &dataset::on_keys<commands::hget>, none},
         {"HDEL", &dataset::on_keys<commands::hdel>, write_if_told},
         {"HEXISTS", &dataset::on_keys<commands::hexists>, none},
         {"HLEN", &dataset::on_keys<commands::hlen>, none},
         {"HKEYS", &dataset::on_keys<commands::hkeys>, none},
         {"HGETALL", &dataset::on_keys<commands::hgetall>, none},
         {"HSTRLEN", &dataset::on_keys<commands::hstrlen>, none},
         {"HSCAN", &dataset::on_keys<commands::hscan>, none},
         {"LPOS", &dataset::on_keys<commands::lpos>, none},
         {"ZADD", &dataset::on_keys<commands::zadd>, write},
         {"ZINCRBY", &dataset::on_keys<commands::zincrby>, write},
         {"ZREM", &dataset::on_keys<commands::zrem>, write_if_told},
         {"ZSCORE", &dataset::on_keys<commands::zscore>, none},
         {"ZRANK", &dataset::on_keys<commands::zrank>, none},
         {"ZCARD", &dataset::on_keys<commands::zcard>, none},
         {"ZCOUNT", &dataset::on_keys<commands::zcount>, none},
         {"ZRANGE", &dataset::on_keys<commands::zrange>, none},
         {"ZPOPMIN", &dataset::on_keys<commands::zpopmin>, write_if_told},
         {"ZRANGEBYSCORE", &dataset::on_keys<commands::zrangebyscore>, none},
         {"ZREMRANGEBYRANK", &dataset::on_keys<commands::zremrangebyrank>, write_if_told},
         {"LPUSH", &dataset::on_keys<commands::lpush>, write},
         {"RPUSH", &dataset::on_keys<commands::rpush>, write},
         {"LLEN", &dataset::on_keys<commands::llen>, none},
         {"LPOP", &dataset::on_keys<commands::lpop>, write_if_told},
         {"LINDEX", &dataset::on_keys<commands::lindex>, none},
         {"LRANGE", &dataset::on_keys<commands::lrange>, none},
         {"LREM", &dataset::on_keys<commands::lrem>, write_if_told}});
    std::ranges::sort(table, goes_before, &known_command::name);
    return table;
  }();
  auto const* const found = std::ranges::lower_bound(all, name, goes_before, &known_command::name);
  return found == all.end() || found->name != name ? nullptr : found;
}

resp::reply dataset::execute(command words, time_point now) {
  keys_.go_on_to(now);
  auto const* const known = find_command(words.front());
  if (known == nullptr)
    throw std::logic_error{"the server in memory doesn't have " + std::string{words.front()}};
  try {
    auto reply = (this->*known->carry_out)(words.subspan(1));
    auto const written =
        known->has == effect::write || (known->has == effect::write_if_told && tells_a_change(reply));
    if (count_write_) note_write(written && !reply.is_error());
    return reply;
  } catch (stored_keys::wrong_type const&) {
    return make_error("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
}

void dataset::note_write(bool written) {
  auto fresh = keys_.take_new();
  if (!written) return;
  auto const number = count_write_();
  for (auto& [key, word] : fresh) came_[std::move(key)][std::move(word)] = number;
}

std::uint64_t dataset::came(std::string_view key, std::string_view word) const {
  auto const under_key = came_.find(key);
  if (under_key == came_.end()) return 0;
  auto const found = under_key->second.find(word);
  return found == under_key->second.end() ? 0 : found->second;
}

std::string_view dataset::field_of(std::string_view key, std::string_view field) {
  auto const* const stored = keys_.find(key);
  auto const* const fields = stored == nullptr ? nullptr : std::get_if<stored_keys::hash>(&stored->data);
  if (fields == nullptr) return {};
  auto const found = fields->find(field);
  return found == fields->end() ? std::string_view{} : found->second;
}

sorted_set const* dataset::members_of(std::string_view key) {
  auto const* const stored = keys_.find(key);
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
  auto const* const stored = keys_.find(key);
  if (stored == nullptr) return {};
  std::string all;
  auto const add = [&all](auto const&... words) { (all.append(words), ...).append(" "); };
  if (auto const* const text = std::get_if<std::string>(&stored->data)) all = *text;
  if (auto const* const elements = std::get_if<stored_keys::list>(&stored->data)) {
    for (auto const& element : *elements) add(element);
  }
  if (auto const* const fields = std::get_if<stored_keys::hash>(&stored->data)) {
    for (auto const& [field, text] : *fields) add(field, "=", text);
  }
  if (auto const* const members = std::get_if<sorted_set>(&stored->data)) {
    for (auto const& [score, member] : members->in_order()) add(member);
  }
  return all;
}

time_point dataset::end_of(std::string_view key) {
  auto const* const stored = keys_.find(key);
  return stored == nullptr ? time_point::max() : stored->end;
}

resp::reply dataset::ping(command) { return make_text("PONG"); }

/// No two are the same, as with a real server: a queue's order comes from them, also where a test holds the
/// clock. One that was set back by a second or more is believed.
resp::reply dataset::time(command) {
  constexpr std::int64_t a_second = 1'000'000;
  auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>((keys_.now() + clock_ahead_).time_since_epoch())
          .count();
  if (micros <= last_time_ && last_time_ < micros + a_second) micros = last_time_ + 1;
  last_time_ = micros;
  return make_array(
      {make_text(std::to_string(micros / 1'000'000)), make_text(std::to_string(micros % 1'000'000))});
}

resp::reply dataset::publish(command args) { return make_integer(publish_(args[0], args[1])); }

}  // namespace holdfast::memory
