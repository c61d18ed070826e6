#include "simulation/dataset.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "simulation/replies.hpp"

namespace holdfast::simulation {
namespace {

using std::chrono::milliseconds;

std::int64_t number_of(std::string const& words) { return std::strtoll(words.c_str(), nullptr, 10); }

/// As Redis reads the ends of a range of scores.
double score_of(std::string const& words) {
  if (words == "-inf") return -std::numeric_limits<double>::infinity();
  if (words == "+inf" || words == "inf") return std::numeric_limits<double>::infinity();
  return std::strtod(words.c_str(), nullptr);
}

resp::reply score_text(double score) {
  char buffer[40];
  auto const whole = std::abs(score) < 1e17 && score == std::floor(score);
  std::snprintf(buffer, sizeof buffer, whole ? "%.0f" : "%.17g", score);
  return text(buffer);
}

struct bound {
  double value;
  bool exclusive;
};
bound bound_of(std::string const& words) {
  if (words.starts_with("(")) return {score_of(words.substr(1)), true};
  return {score_of(words), false};
}
bool within(double score, bound low, bound high) {
  return (low.exclusive ? score > low.value : score >= low.value) &&
         (high.exclusive ? score < high.value : score <= high.value);
}

/// The positions that [first, last] means in a list of that size, as a half-open range.
std::pair<std::size_t, std::size_t> positions(std::int64_t first, std::int64_t last, std::size_t size) {
  auto const count = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(0, count + first);
  if (last < 0) last = count + last;
  last = std::min(last, count - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

}  // namespace

std::map<std::string, dataset::handler, std::less<>> const& dataset::handlers() {
  static std::map<std::string, handler, std::less<>> const all{
      {"PING", &dataset::ping},         {"TIME", &dataset::time},
      {"PUBLISH", &dataset::publish},   {"SPUBLISH", &dataset::publish},
      {"PUBSUB", &dataset::pubsub},     {"GET", &dataset::get},
      {"SET", &dataset::set},           {"DEL", &dataset::del},
      {"EXISTS", &dataset::exists},     {"TYPE", &dataset::type},
      {"PEXPIRE", &dataset::pexpire},   {"PTTL", &dataset::pttl},
      {"INCRBY", &dataset::incrby},     {"DECRBY", &dataset::decrby},
      {"GETRANGE", &dataset::getrange}, {"HSET", &dataset::hset},
      {"HSETNX", &dataset::hsetnx},     {"HGET", &dataset::hget},
      {"HDEL", &dataset::hdel},         {"HEXISTS", &dataset::hexists},
      {"HLEN", &dataset::hlen},         {"HKEYS", &dataset::hkeys},
      {"HGETALL", &dataset::hgetall},   {"HSTRLEN", &dataset::hstrlen},
      {"HINCRBY", &dataset::hincrby},   {"ZADD", &dataset::zadd},
      {"ZINCRBY", &dataset::zincrby},   {"ZREM", &dataset::zrem},
      {"ZSCORE", &dataset::zscore},     {"ZRANK", &dataset::zrank},
      {"ZCARD", &dataset::zcard},       {"ZCOUNT", &dataset::zcount},
      {"ZRANGE", &dataset::zrange},     {"ZRANGEBYSCORE", &dataset::zrangebyscore},
      {"ZPOPMIN", &dataset::zpopmin},   {"ZREMRANGEBYRANK", &dataset::zremrangebyrank},
      {"RPUSH", &dataset::rpush},       {"LPOP", &dataset::lpop},
      {"LINDEX", &dataset::lindex},     {"LRANGE", &dataset::lrange},
      {"LREM", &dataset::lrem}};
  return all;
}

resp::reply dataset::execute(command const& words, time_point now) {
  now_ = now;
  auto const known = handlers().find(words.front());
  if (known == handlers().end()) return failure("ERR unknown command '" + words.front() + "'");
  try {
    return (this->*known->second)(std::span{words}.subspan(1));
  } catch (wrong_type const&) {
    return failure("WRONGTYPE Operation against a key holding the wrong kind of value");
  }
}

std::string dataset::text_of(std::string const& key, time_point now) {
  now_ = now;
  auto const* const known = find(key);
  auto const* const words = known == nullptr ? nullptr : std::get_if<std::string>(&known->data);
  return words == nullptr ? std::string{} : *words;
}

time_point dataset::end_of(std::string const& key) const {
  auto const known = keys_.find(key);
  return known == keys_.end() ? time_point::max() : known->second.end;
}

std::vector<std::string> dataset::keys(time_point now) {
  std::erase_if(keys_, [now](auto const& entry) { return entry.second.end <= now; });
  std::vector<std::string> all;
  for (auto const& [key, data] : keys_) all.push_back(key);
  return all;
}

dataset::value* dataset::find(std::string const& key) {
  auto const known = keys_.find(key);
  if (known == keys_.end()) return nullptr;
  if (known->second.end <= now_) {
    keys_.erase(known);
    return nullptr;
  }
  return &known->second;
}

template <class T>
T* dataset::find_as(std::string const& key) {
  auto* const known = find(key);
  if (known == nullptr) return nullptr;
  auto* const data = std::get_if<T>(&known->data);
  if (data == nullptr) throw wrong_type{};
  return data;
}

template <class T>
T& dataset::get_or_make(std::string const& key) {
  if (auto* const known = find_as<T>(key); known != nullptr) return *known;
  return std::get<T>((keys_[key] = value{.data = T{}}).data);
}

template <class T>
void dataset::drop_if_empty(std::string const& key) {
  if (auto const* const data = find_as<T>(key); data != nullptr && data->empty()) keys_.erase(key);
}

resp::reply dataset::ping(words) { return text("PONG"); }

resp::reply dataset::time(words) {
  auto const micros = std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()).count();
  return array({text(std::to_string(micros / 1'000'000)), text(std::to_string(micros % 1'000'000))});
}

resp::reply dataset::publish(words args) { return integer(publish_(args[0], args[1])); }

resp::reply dataset::pubsub(words args) {
  std::vector<resp::reply> all;
  for (auto const& channel : args.subspan(1)) {
    all.push_back(text(channel));
    all.push_back(integer(0));
  }
  return array(std::move(all));
}

resp::reply dataset::get(words args) {
  auto const* const known = find_as<std::string>(args[0]);
  return known == nullptr ? nil() : text(*known);
}

resp::reply dataset::set(words args) {
  auto end = time_point::max();
  auto keep_ttl = false;
  auto* const known = find(args[0]);
  for (std::size_t i = 2; i < args.size(); ++i) {
    if (args[i] == "NX" && known != nullptr) return nil();
    if (args[i] == "XX" && known == nullptr) return nil();
    if (args[i] == "KEEPTTL") keep_ttl = true;
    if (args[i] == "PX") end = now_ + milliseconds{number_of(args[i + 1])};
    if (args[i] == "EX") end = now_ + std::chrono::seconds{number_of(args[i + 1])};
  }
  if (keep_ttl && known != nullptr) end = known->end;
  keys_[args[0]] = value{.data = args[1], .end = end};
  return text("OK");
}

resp::reply dataset::del(words args) {
  std::int64_t count = 0;
  for (auto const& key : args) {
    if (find(key) != nullptr) count += static_cast<std::int64_t>(keys_.erase(key));
  }
  return integer(count);
}

resp::reply dataset::exists(words args) {
  return integer(
      std::ranges::count_if(args, [this](std::string const& key) { return find(key) != nullptr; }));
}

resp::reply dataset::type(words args) {
  auto const* const known = find(args[0]);
  if (known == nullptr) return text("none");
  static constexpr char const* names[]{"string", "hash", "zset", "list"};
  return text(names[known->data.index()]);
}

resp::reply dataset::pexpire(words args) {
  auto* const known = find(args[0]);
  if (known == nullptr) return integer(0);
  known->end = now_ + milliseconds{number_of(args[1])};
  (void)find(args[0]);
  return integer(1);
}

resp::reply dataset::pttl(words args) {
  auto const* const known = find(args[0]);
  if (known == nullptr) return integer(-2);
  if (known->end == time_point::max()) return integer(-1);
  return integer(std::chrono::round<milliseconds>(known->end - now_).count());
}

resp::reply dataset::add(std::string const& key, std::int64_t by) {
  auto& number = get_or_make<std::string>(key);
  number = std::to_string(number_of(number) + by);
  return integer(number_of(number));
}

resp::reply dataset::incrby(words args) { return add(args[0], number_of(args[1])); }
resp::reply dataset::decrby(words args) { return add(args[0], -number_of(args[1])); }

resp::reply dataset::getrange(words args) {
  auto const* const known = find_as<std::string>(args[0]);
  if (known == nullptr || known->empty()) return text({});
  auto const size = static_cast<std::int64_t>(known->size());
  auto first = number_of(args[1]);
  auto last = number_of(args[2]);
  if (first < 0 && last < 0 && first > last) return text({});
  if (first < 0) first = std::max<std::int64_t>(0, size + first);
  if (last < 0) last = std::max<std::int64_t>(0, size + last);  // unlike those of lists
  last = std::min(last, size - 1);
  if (first > last) return text({});
  return text(known->substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first) + 1));
}

resp::reply dataset::hset(words args) {
  auto& fields = get_or_make<hash>(args[0]);
  std::int64_t added = 0;
  for (std::size_t i = 1; i + 1 < args.size(); i += 2)
    added += fields.insert_or_assign(args[i], args[i + 1]).second ? 1 : 0;
  return integer(added);
}

resp::reply dataset::hsetnx(words args) {
  return integer(get_or_make<hash>(args[0]).try_emplace(args[1], args[2]).second ? 1 : 0);
}

resp::reply dataset::hget(words args) {
  auto const* const fields = find_as<hash>(args[0]);
  if (fields == nullptr) return nil();
  auto const known = fields->find(args[1]);
  return known == fields->end() ? nil() : text(known->second);
}

resp::reply dataset::hdel(words args) {
  auto* const fields = find_as<hash>(args[0]);
  if (fields == nullptr) return integer(0);
  std::int64_t count = 0;
  for (auto const& field : args.subspan(1)) count += static_cast<std::int64_t>(fields->erase(field));
  drop_if_empty<hash>(args[0]);
  return integer(count);
}

resp::reply dataset::hexists(words args) {
  auto const* const fields = find_as<hash>(args[0]);
  return integer(fields != nullptr && fields->contains(args[1]) ? 1 : 0);
}

resp::reply dataset::hlen(words args) {
  auto const* const fields = find_as<hash>(args[0]);
  return integer(fields == nullptr ? 0 : static_cast<std::int64_t>(fields->size()));
}

resp::reply dataset::hkeys(words args) {
  std::vector<resp::reply> all;
  if (auto const* const fields = find_as<hash>(args[0]); fields != nullptr) {
    for (auto const& [field, data] : *fields) all.push_back(text(field));
  }
  return array(std::move(all));
}

resp::reply dataset::hgetall(words args) {
  std::vector<resp::reply> all;
  if (auto const* const fields = find_as<hash>(args[0]); fields != nullptr) {
    for (auto const& [field, data] : *fields) {
      all.push_back(text(field));
      all.push_back(text(data));
    }
  }
  return array(std::move(all));
}

resp::reply dataset::hstrlen(words args) {
  auto const data = hget(args);
  return integer(static_cast<std::int64_t>(data.text.size()));
}

resp::reply dataset::hincrby(words args) {
  auto& data = get_or_make<hash>(args[0])[args[1]];
  data = std::to_string(number_of(data) + number_of(args[2]));
  return integer(number_of(data));
}

std::vector<std::pair<double, std::string>> dataset::ranked(std::string const& key) {
  std::vector<std::pair<double, std::string>> all;
  if (auto const* const members = find_as<sorted_set>(key); members != nullptr) {
    for (auto const& [member, score] : *members) all.emplace_back(score, member);
  }
  std::ranges::sort(all);
  return all;
}

resp::reply dataset::slice(std::vector<std::pair<double, std::string>> const& all, std::int64_t first,
                           std::int64_t last, bool scores) {
  auto const [from, to] = positions(first, last, all.size());
  std::vector<resp::reply> result;
  for (auto i = from; i != to; ++i) {
    result.push_back(text(all[i].second));
    if (scores) result.push_back(score_text(all[i].first));
  }
  return array(std::move(result));
}

resp::reply dataset::zadd(words args) {
  auto& members = get_or_make<sorted_set>(args[0]);
  auto const only_new = args[1] == "NX";
  auto const only_known = args[1] == "XX";
  std::int64_t added = 0;
  for (std::size_t i = only_new || only_known ? 2 : 1; i + 1 < args.size(); i += 2) {
    auto const known = members.contains(args[i + 1]);
    if ((only_new && known) || (only_known && !known)) continue;
    members[args[i + 1]] = score_of(args[i]);
    added += known ? 0 : 1;
  }
  drop_if_empty<sorted_set>(args[0]);
  return integer(added);
}

resp::reply dataset::zincrby(words args) {
  auto& score = get_or_make<sorted_set>(args[0])[args[2]];
  score += score_of(args[1]);
  return score_text(score);
}

resp::reply dataset::zrem(words args) {
  auto* const members = find_as<sorted_set>(args[0]);
  if (members == nullptr) return integer(0);
  std::int64_t count = 0;
  for (auto const& member : args.subspan(1)) count += static_cast<std::int64_t>(members->erase(member));
  drop_if_empty<sorted_set>(args[0]);
  return integer(count);
}

resp::reply dataset::zscore(words args) {
  auto const* const members = find_as<sorted_set>(args[0]);
  if (members == nullptr) return nil();
  auto const known = members->find(args[1]);
  return known == members->end() ? nil() : score_text(known->second);
}

resp::reply dataset::zrank(words args) {
  auto const all = ranked(args[0]);
  auto const known = std::ranges::find(all, args[1], &std::pair<double, std::string>::second);
  return known == all.end() ? nil() : integer(known - all.begin());
}

resp::reply dataset::zcard(words args) { return integer(static_cast<std::int64_t>(ranked(args[0]).size())); }

resp::reply dataset::zcount(words args) {
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  return integer(
      std::ranges::count_if(ranked(args[0]), [&](auto const& one) { return within(one.first, low, high); }));
}

resp::reply dataset::zrange(words args) {
  return slice(ranked(args[0]), number_of(args[1]), number_of(args[2]),
               args.size() > 3 && args[3] == "WITHSCORES");
}

resp::reply dataset::zrangebyscore(words args) {
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  auto all = ranked(args[0]);
  std::erase_if(all, [&](auto const& one) { return !within(one.first, low, high); });
  auto scores = false;
  std::int64_t first = 0;
  std::int64_t last = -1;
  for (std::size_t i = 3; i < args.size(); ++i) {
    if (args[i] == "WITHSCORES") scores = true;
    if (args[i] == "LIMIT") {
      first = number_of(args[i + 1]);
      auto const count = number_of(args[i + 2]);
      last = count < 0 ? -1 : first + count - 1;
    }
  }
  return slice(all, first, last, scores);
}

resp::reply dataset::zpopmin(words args) {
  auto const all = ranked(args[0]);
  if (all.empty()) return array({});
  auto const result = slice(all, 0, 0, true);
  (void)zrem(std::vector<std::string>{args[0], all.front().second});
  return result;
}

resp::reply dataset::zremrangebyrank(words args) {
  auto const all = ranked(args[0]);
  auto const [from, to] = positions(number_of(args[1]), number_of(args[2]), all.size());
  for (auto i = from; i != to; ++i) (void)zrem(std::vector<std::string>{args[0], all[i].second});
  return integer(static_cast<std::int64_t>(to - from));
}

resp::reply dataset::rpush(words args) {
  auto& elements = get_or_make<list>(args[0]);
  elements.insert(elements.end(), args.begin() + 1, args.end());
  return integer(static_cast<std::int64_t>(elements.size()));
}

resp::reply dataset::lpop(words args) {
  auto* const elements = find_as<list>(args[0]);
  if (elements == nullptr) return nil();
  auto first = text(elements->front());
  elements->erase(elements->begin());
  drop_if_empty<list>(args[0]);
  return first;
}

resp::reply dataset::lindex(words args) {
  auto const* const elements = find_as<list>(args[0]);
  if (elements == nullptr) return nil();
  auto const [from, to] = positions(number_of(args[1]), number_of(args[1]), elements->size());
  return from == to ? nil() : text((*elements)[from]);
}

resp::reply dataset::lrange(words args) {
  auto const* const elements = find_as<list>(args[0]);
  std::vector<resp::reply> result;
  if (elements != nullptr) {
    auto const [from, to] = positions(number_of(args[1]), number_of(args[2]), elements->size());
    for (auto i = from; i != to; ++i) result.push_back(text((*elements)[i]));
  }
  return array(std::move(result));
}

resp::reply dataset::lrem(words args) {
  auto* const elements = find_as<list>(args[0]);
  if (elements == nullptr) return integer(0);
  auto left = number_of(args[1]) == 0 ? static_cast<std::int64_t>(elements->size()) : number_of(args[1]);
  std::int64_t count = 0;
  for (auto next = elements->begin(); next != elements->end() && left > 0;) {
    if (*next != args[2]) {
      ++next;
      continue;
    }
    next = elements->erase(next);
    --left;
    ++count;
  }
  drop_if_empty<list>(args[0]);
  return integer(count);
}

}  // namespace holdfast::simulation
