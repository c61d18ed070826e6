#include "simulation/dataset.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "resp/make_reply.hpp"
#include "simulation/arguments.hpp"

namespace holdfast::simulation {
namespace {

using resp::make_array;
using resp::make_error;
using resp::make_integer;
using resp::make_text;
using std::chrono::milliseconds;

}  // namespace

std::map<std::string, dataset::handler, std::less<>> const& dataset::handlers() {
  static std::map<std::string, handler, std::less<>> const all{
      {"PING", &dataset::ping},         {"TIME", &dataset::time},
      {"PUBLISH", &dataset::publish},   {"DEL", &dataset::del},
      {"EXISTS", &dataset::exists},     {"TYPE", &dataset::type},
      {"PEXPIRE", &dataset::pexpire},   {"PTTL", &dataset::pttl},
      {"GET", &dataset::get},           {"SET", &dataset::set},
      {"INCRBY", &dataset::incrby},     {"DECRBY", &dataset::decrby},
      {"GETRANGE", &dataset::getrange}, {"HSET", &dataset::hset},
      {"HSETNX", &dataset::hsetnx},     {"HGET", &dataset::hget},
      {"HDEL", &dataset::hdel},         {"HEXISTS", &dataset::hexists},
      {"HLEN", &dataset::hlen},         {"HKEYS", &dataset::hkeys},
      {"HGETALL", &dataset::hgetall},   {"HSTRLEN", &dataset::hstrlen},
      {"ZADD", &dataset::zadd},         {"ZINCRBY", &dataset::zincrby},
      {"ZREM", &dataset::zrem},         {"ZSCORE", &dataset::zscore},
      {"ZRANK", &dataset::zrank},       {"ZCARD", &dataset::zcard},
      {"ZCOUNT", &dataset::zcount},     {"ZRANGE", &dataset::zrange},
      {"ZPOPMIN", &dataset::zpopmin},   {"ZRANGEBYSCORE", &dataset::zrangebyscore},
      {"RPUSH", &dataset::rpush},       {"ZREMRANGEBYRANK", &dataset::zremrangebyrank},
      {"LPOP", &dataset::lpop},         {"LINDEX", &dataset::lindex},
      {"LRANGE", &dataset::lrange},     {"LREM", &dataset::lrem}};
  return all;
}

resp::reply dataset::execute(command const& words, time_point now) {
  now_ = now;
  auto const found = handlers().find(words.front());
  if (found == handlers().end()) throw std::logic_error{"not simulated: the command " + words.front()};
  try {
    return (this->*found->second)(std::span{words}.subspan(1));
  } catch (wrong_type const&) {
    return make_error("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
}

std::string dataset::text_of(std::string const& key, time_point now) {
  now_ = now;
  auto const* const stored = find(key);
  auto const* const text = stored == nullptr ? nullptr : std::get_if<std::string>(&stored->data);
  return text == nullptr ? std::string{} : *text;
}

time_point dataset::end_of(std::string const& key) const {
  auto const found = keys_.find(key);
  return found == keys_.end() ? time_point::max() : found->second.end;
}

std::vector<std::string> dataset::keys(time_point now) {
  std::erase_if(keys_, [now](auto const& entry) { return entry.second.end <= now; });
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

resp::reply dataset::time(arguments) {
  auto const micros = std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()).count();
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

}  // namespace holdfast::simulation
