// Commands about sorted sets.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "memory/arguments.hpp"
#include "memory/dataset.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

using resp::make_array;
using resp::make_integer;
using resp::make_text;

double score_of(std::string const& argument) {
  if (argument == "-inf") return -std::numeric_limits<double>::infinity();
  if (argument == "+inf" || argument == "inf") return std::numeric_limits<double>::infinity();
  return std::strtod(argument.c_str(), nullptr);
}

resp::reply score_reply(double score) {
  char buffer[40];
  auto const whole = std::abs(score) < 1e17 && score == std::floor(score);
  std::snprintf(buffer, sizeof buffer, whole ? "%.0f" : "%.17g", score);
  return make_text(buffer);
}

/// One end of a range of scores.
struct score_bound {
  double score;
  bool exclusive;
};

score_bound bound_of(std::string const& argument) {
  if (argument.starts_with("(")) return {score_of(argument.substr(1)), true};
  return {score_of(argument), false};
}

bool within(double score, score_bound low, score_bound high) {
  return (low.exclusive ? score > low.score : score >= low.score) &&
         (high.exclusive ? score < high.score : score <= high.score);
}

resp::reply slice(std::vector<std::pair<double, std::string>> const& all, std::int64_t first,
                  std::int64_t last, bool scores) {
  auto const [from, to] = positions(first, last, all.size());
  std::vector<resp::reply> result;
  for (auto i = from; i != to; ++i) {
    result.push_back(make_text(all[i].second));
    if (scores) result.push_back(score_reply(all[i].first));
  }
  return make_array(std::move(result));
}

}  // namespace

dataset::ranking dataset::ranked(std::string const& key) {
  ranking all;
  if (auto const* const members = find_as<sorted_set>(key); members != nullptr) {
    for (auto const& [member, score] : *members) all.emplace_back(score, member);
  }
  std::ranges::sort(all);
  return all;
}

resp::reply dataset::zadd(arguments args) {
  if (args[1] == "INCR") {
    std::vector<std::string> const words{args[0], args[2], args[3]};
    return zincrby(words);
  }
  auto& members = get_or_make<sorted_set>(args[0]);
  auto const only_new = args[1] == "NX";
  auto const only_known = args[1] == "XX";
  std::int64_t added = 0;
  for (std::size_t i = only_new || only_known ? 2 : 1; i + 1 < args.size(); i += 2) {
    auto const known = members.contains(args[i + 1]);
    if ((only_new && known) || (only_known && !known)) continue;
    members[args[i + 1]] = score_of(args[i]);
    if (!known) note_new(args[0], args[i + 1]);
    added += known ? 0 : 1;
  }
  drop_if_empty<sorted_set>(args[0]);
  return make_integer(added);
}

resp::reply dataset::zincrby(arguments args) {
  auto& score = get_or_make<sorted_set>(args[0])[args[2]];
  score += score_of(args[1]);
  return score_reply(score);
}

resp::reply dataset::zrem(arguments args) {
  auto* const members = find_as<sorted_set>(args[0]);
  if (members == nullptr) return make_integer(0);
  std::int64_t count = 0;
  for (auto const& member : args.subspan(1)) count += static_cast<std::int64_t>(members->erase(member));
  drop_if_empty<sorted_set>(args[0]);
  return make_integer(count);
}

resp::reply dataset::zscore(arguments args) {
  auto const* const members = find_as<sorted_set>(args[0]);
  if (members == nullptr) return {};
  auto const found = members->find(args[1]);
  return found == members->end() ? resp::reply{} : score_reply(found->second);
}

resp::reply dataset::zrank(arguments args) {
  auto const all = ranked(args[0]);
  auto const found = std::ranges::find(all, args[1], &ranking::value_type::second);
  return found == all.end() ? resp::reply{} : make_integer(found - all.begin());
}

resp::reply dataset::zcard(arguments args) {
  return make_integer(static_cast<std::int64_t>(ranked(args[0]).size()));
}

resp::reply dataset::zcount(arguments args) {
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  return make_integer(std::ranges::count_if(
      ranked(args[0]), [&](auto const& entry) { return within(entry.first, low, high); }));
}

resp::reply dataset::zrange(arguments args) {
  return slice(ranked(args[0]), number_of(args[1]), number_of(args[2]),
               args.size() > 3 && args[3] == "WITHSCORES");
}

resp::reply dataset::zrangebyscore(arguments args) {
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  auto all = ranked(args[0]);
  std::erase_if(all, [&](auto const& entry) { return !within(entry.first, low, high); });
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

resp::reply dataset::zpopmin(arguments args) {
  auto const all = ranked(args[0]);
  if (all.empty()) return make_array({});
  auto const result = slice(all, 0, 0, true);
  (void)zrem(std::vector<std::string>{args[0], all.front().second});
  return result;
}

resp::reply dataset::zremrangebyrank(arguments args) {
  auto const all = ranked(args[0]);
  auto const [from, to] = positions(number_of(args[1]), number_of(args[2]), all.size());
  for (auto i = from; i != to; ++i) (void)zrem(std::vector<std::string>{args[0], all[i].second});
  return make_integer(static_cast<std::int64_t>(to - from));
}

}  // namespace holdfast::memory
