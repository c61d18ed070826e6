#include "memory/dataset.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
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

/// Whether the command has written something, as its reply tells. In doubt it hasn't: a WAIT then counts
/// less.
bool writes(std::string_view name, resp::reply const& reply) {
  static std::set<std::string_view> const always{"HSET", "INCR",    "INCRBY", "DECRBY", "APPEND",
                                                 "ZADD", "ZINCRBY", "RPUSH",  "LPUSH"};
  static std::set<std::string_view> const by_reply{"DEL",  "PEXPIRE", "SET",  "HSETNX",  "HDEL",
                                                   "ZREM", "LPOP",    "LREM", "ZPOPMIN", "ZREMRANGEBYRANK"};
  if (reply.is_error()) return false;
  if (always.contains(name)) return true;
  auto const nothing =
      reply.is_nil() || (reply.is_integer() && reply.integer == 0) || (reply.is_array() && reply.size() == 0);
  return by_reply.contains(name) && !nothing;
}

}  // namespace

dataset::handler dataset::handler_of(std::string_view name) noexcept {
  using named = std::pair<std::string_view, handler>;
  static constexpr auto all =
      std::to_array<named>({{"PING", &dataset::ping},       {"TIME", &dataset::time},
                            {"PUBLISH", &dataset::publish}, {"DEL", &dataset::del},
                            {"EXISTS", &dataset::exists},   {"TYPE", &dataset::type},
                            {"PEXPIRE", &dataset::pexpire}, {"PTTL", &dataset::pttl},
                            {"GET", &dataset::get},         {"SET", &dataset::set},
                            {"INCR", &dataset::incr},       {"INCRBY", &dataset::incrby},
                            {"DECRBY", &dataset::decrby},   {"GETRANGE", &dataset::getrange},
                            {"APPEND", &dataset::append},   {"HSET", &dataset::hset},
                            {"HSETNX", &dataset::hsetnx},   {"HGET", &dataset::hget},
                            {"HDEL", &dataset::hdel},       {"HEXISTS", &dataset::hexists},
                            {"HLEN", &dataset::hlen},       {"HKEYS", &dataset::hkeys},
                            {"HGETALL", &dataset::hgetall}, {"HSTRLEN", &dataset::hstrlen},
                            {"HSCAN", &dataset::hscan},     {"LPOS", &dataset::lpos},
                            {"ZADD", &dataset::zadd},       {"ZINCRBY", &dataset::zincrby},
                            {"ZREM", &dataset::zrem},       {"ZSCORE", &dataset::zscore},
                            {"ZRANK", &dataset::zrank},     {"ZCARD", &dataset::zcard},
                            {"ZCOUNT", &dataset::zcount},   {"ZRANGE", &dataset::zrange},
                            {"ZPOPMIN", &dataset::zpopmin}, {"ZRANGEBYSCORE", &dataset::zrangebyscore},
                            {"LPUSH", &dataset::lpush},     {"LLEN", &dataset::llen},
                            {"RPUSH", &dataset::rpush},     {"ZREMRANGEBYRANK", &dataset::zremrangebyrank},
                            {"LPOP", &dataset::lpop},       {"LINDEX", &dataset::lindex},
                            {"LRANGE", &dataset::lrange},   {"LREM", &dataset::lrem}});
  auto const* const found = std::ranges::find(all, name, &named::first);
  return found == all.end() ? nullptr : found->second;
}

resp::reply dataset::execute(command const& words, time_point now) {
  now_ = now;
  auto const carry_out = handler_of(words.front());
  if (carry_out == nullptr) throw std::logic_error{"the server in memory doesn't have " + words.front()};
  try {
    auto reply = (this->*carry_out)(std::span{words}.subspan(1));
    if (count_write_ && writes(words.front(), reply)) note_write();
    new_.clear();
    return reply;
  } catch (wrong_type const&) {
    return make_error("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
}

void dataset::note_write() {
  auto const number = count_write_();
  for (auto& word : new_) came_[std::move(word)] = number;
}

std::uint64_t dataset::came(std::string const& key, std::string const& word) const {
  auto const found = came_.find({key, word});
  return found == came_.end() ? 0 : found->second;
}

std::string dataset::text_of(std::string const& key) {
  auto const* const stored = find(key);
  auto const* const text = stored == nullptr ? nullptr : std::get_if<std::string>(&stored->data);
  return text == nullptr ? std::string{} : *text;
}

std::string dataset::field_of(std::string const& key, std::string const& field) {
  auto const* const stored = find(key);
  auto const* const fields = stored == nullptr ? nullptr : std::get_if<hash>(&stored->data);
  auto const found = fields == nullptr ? hash::const_iterator{} : fields->find(field);
  return fields == nullptr || found == fields->end() ? std::string{} : found->second;
}

std::optional<double> dataset::score_in(std::string const& key, std::string const& member) {
  auto const* const stored = find(key);
  auto const* const members = stored == nullptr ? nullptr : std::get_if<sorted_set>(&stored->data);
  if (members == nullptr || !members->contains(member)) return std::nullopt;
  return members->at(member);
}

std::optional<double> dataset::lowest_score(std::string const& key) {
  auto const all = ranked(key);
  return all.empty() ? std::nullopt : std::optional{all.front().first};
}

bool dataset::all_scores_below(std::string const& key, double bound) {
  auto const* const stored = find(key);
  auto const* const members = stored == nullptr ? nullptr : std::get_if<sorted_set>(&stored->data);
  return members != nullptr &&
         std::ranges::all_of(*members, [bound](auto const& member) { return member.second < bound; });
}

std::string dataset::contents_of(std::string const& key) {
  auto const* const stored = find(key);
  if (stored == nullptr) return {};
  std::string all;
  if (auto const* const text = std::get_if<std::string>(&stored->data)) all = *text;
  if (auto const* const elements = std::get_if<list>(&stored->data)) {
    for (auto const& element : *elements) all += element + ' ';
  }
  if (auto const* const fields = std::get_if<hash>(&stored->data)) {
    for (auto const& [field, text] : *fields) all += field + '=' + text + ' ';
  }
  if (auto const* const members = std::get_if<sorted_set>(&stored->data)) {
    for (auto const& [member, score] : *members) all += member + ' ';
  }
  return all;
}

time_point dataset::end_of(std::string const& key) {
  auto const* const stored = find(key);
  return stored == nullptr ? time_point::max() : stored->end;
}

std::vector<std::string> dataset::keys() {
  std::erase_if(keys_, [this](auto const& entry) { return entry.second.end <= now_; });
  std::vector<std::string> all;
  for (auto const& [key, stored] : keys_) all.push_back(key);
  return all;
}

dataset::value* dataset::find(std::string const& key) {
  auto const found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  if (found->second.end <= now_) {
    keys_.erase(found);
    return nullptr;
  }
  return &found->second;
}

resp::reply dataset::ping(arguments) { return make_text("PONG"); }

/// No two are the same, as with a real server: a queue's order comes from them, also where a test holds the
/// clock. One that was set back by a second or more is believed.
resp::reply dataset::time(arguments) {
  constexpr std::int64_t a_second = 1'000'000;
  auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>((now_ + clock_ahead_).time_since_epoch()).count();
  if (micros <= last_time_ && last_time_ < micros + a_second) micros = last_time_ + 1;
  last_time_ = micros;
  return make_array(
      {make_text(std::to_string(micros / 1'000'000)), make_text(std::to_string(micros % 1'000'000))});
}

resp::reply dataset::publish(arguments args) { return make_integer(publish_(args[0], args[1])); }

resp::reply dataset::del(arguments args) {
  std::int64_t count = 0;
  for (auto const& key : args) {
    if (find(key) != nullptr) count += static_cast<std::int64_t>(keys_.erase(key));
  }
  return make_integer(count);
}

resp::reply dataset::exists(arguments args) {
  return make_integer(
      std::ranges::count_if(args, [this](std::string const& key) { return find(key) != nullptr; }));
}

resp::reply dataset::type(arguments args) {
  auto const* const stored = find(args[0]);
  if (stored == nullptr) return make_text("none");
  static constexpr char const* names[]{"string", "hash", "zset", "list"};
  return make_text(names[stored->data.index()]);
}

resp::reply dataset::pexpire(arguments args) {
  auto* const stored = find(args[0]);
  if (stored == nullptr) return make_integer(0);
  stored->end = now_ + milliseconds{number_of(args[1])};
  (void)find(args[0]);  // deletes the key if the ttl isn't positive
  return make_integer(1);
}

resp::reply dataset::pttl(arguments args) {
  auto const* const stored = find(args[0]);
  if (stored == nullptr) return make_integer(-2);
  if (stored->end == time_point::max()) return make_integer(-1);
  return make_integer(std::chrono::round<milliseconds>(stored->end - now_).count());
}

}  // namespace holdfast::memory
