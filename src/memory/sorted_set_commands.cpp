// Commands about sorted sets.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/whole_number.hpp"
#include "memory/commands.hpp"
#include "memory/numbers.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory::commands {
namespace {

using resp::make_array;
using resp::make_integer;
using resp::make_text;

double score_of(std::string_view argument) {
  if (argument == "-inf") return -std::numeric_limits<double>::infinity();
  if (argument == "+inf" || argument == "inf") return std::numeric_limits<double>::infinity();
  double score = 0;
  std::from_chars(argument.data(), argument.data() + argument.size(), score);
  return score;
}

resp::reply score_reply(double score) { return make_text(std::string{number_text{score, 1e17}.view()}); }

/// One end of a range of scores.
struct score_bound {
  double score;
  bool exclusive;
};

score_bound bound_of(std::string_view argument) {
  if (argument.starts_with('(')) return {score_of(argument.substr(1)), true};
  return {score_of(argument), false};
}

bool within(double score, score_bound low, score_bound high) {
  return (low.exclusive ? score > low.score : score >= low.score) &&
         (high.exclusive ? score < high.score : score <= high.score);
}

/// Members of a set, in order.
using entries = std::vector<sorted_set::entry>;

entries all_of(sorted_set const* members) {
  if (members == nullptr) return {};
  return {members->in_order().begin(), members->in_order().end()};
}

resp::reply slice(entries const& all, std::int64_t first, std::int64_t last, bool scores) {
  auto const [from, to] = positions(first, last, all.size());
  std::vector<resp::reply> result;
  result.reserve((to - from) * (scores ? 2 : 1));
  for (auto i = from; i != to; ++i) {
    result.push_back(make_text(std::string{all[i].second}));
    if (scores) result.push_back(score_reply(all[i].first));
  }
  return make_array(std::move(result));
}

}  // namespace

resp::reply zadd(stored_keys& keys, command args) {
  if (args[1] == "INCR") return zincrby(keys, std::array{args[0], args[2], args[3]});
  auto& members = keys.get_or_make<sorted_set>(args[0]);
  auto const only_new = args[1] == "NX";
  auto const only_known = args[1] == "XX";
  std::int64_t added = 0;
  for (std::size_t i = only_new || only_known ? 2 : 1; i + 1 < args.size(); i += 2) {
    auto const known = members.score_of(args[i + 1]).has_value();
    if ((only_new && known) || (only_known && !known)) continue;
    members.put(args[i + 1], score_of(args[i]));
    if (!known) keys.note_new(args[0], args[i + 1]);
    added += known ? 0 : 1;
  }
  keys.drop_if_empty<sorted_set>(args[0]);
  return make_integer(added);
}

resp::reply zincrby(stored_keys& keys, command args) {
  auto& members = keys.get_or_make<sorted_set>(args[0]);
  auto const score = members.score_of(args[2]).value_or(0) + score_of(args[1]);
  members.put(args[2], score);
  return score_reply(score);
}

resp::reply zrem(stored_keys& keys, command args) {
  auto* const members = keys.find_as<sorted_set>(args[0]);
  if (members == nullptr) return make_integer(0);
  std::int64_t count = 0;
  for (auto const member : args.subspan(1)) count += members->erase(member) ? 1 : 0;
  keys.drop_if_empty<sorted_set>(args[0]);
  return make_integer(count);
}

resp::reply zscore(stored_keys& keys, command args) {
  auto const* const members = keys.find_as<sorted_set>(args[0]);
  auto const score = members == nullptr ? std::nullopt : members->score_of(args[1]);
  return score ? score_reply(*score) : resp::reply{};
}

resp::reply zrank(stored_keys& keys, command args) {
  auto const* const members = keys.find_as<sorted_set>(args[0]);
  if (members == nullptr) return {};
  auto const& all = members->in_order();
  auto const found = std::ranges::find(all, args[1], &sorted_set::entry::second);
  return found == all.end() ? resp::reply{} : make_integer(std::distance(all.begin(), found));
}

resp::reply zcard(stored_keys& keys, command args) {
  auto const* const members = keys.find_as<sorted_set>(args[0]);
  return make_integer(members == nullptr ? 0 : static_cast<std::int64_t>(members->size()));
}

resp::reply zcount(stored_keys& keys, command args) {
  auto const* const members = keys.find_as<sorted_set>(args[0]);
  if (members == nullptr) return make_integer(0);
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  return make_integer(std::ranges::count_if(
      members->in_order(), [&](sorted_set::entry const& entry) { return within(entry.first, low, high); }));
}

resp::reply zrange(stored_keys& keys, command args) {
  return slice(all_of(keys.find_as<sorted_set>(args[0])), leading_number(args[1]), leading_number(args[2]),
               args.size() > 3 && args[3] == "WITHSCORES");
}

resp::reply zrangebyscore(stored_keys& keys, command args) {
  auto const low = bound_of(args[1]);
  auto const high = bound_of(args[2]);
  auto all = all_of(keys.find_as<sorted_set>(args[0]));
  std::erase_if(all, [&](auto const& entry) { return !within(entry.first, low, high); });
  auto scores = false;
  std::int64_t first = 0;
  std::int64_t last = -1;
  for (std::size_t i = 3; i < args.size(); ++i) {
    if (args[i] == "WITHSCORES") scores = true;
    if (args[i] == "LIMIT") {
      first = leading_number(args[i + 1]);
      auto const count = leading_number(args[i + 2]);
      last = count < 0 ? -1 : first + count - 1;
    }
  }
  return slice(all, first, last, scores);
}

resp::reply zpopmin(stored_keys& keys, command args) {
  auto* const members = keys.find_as<sorted_set>(args[0]);
  if (members == nullptr) return make_array({});
  auto const first = *members->in_order().begin();
  auto result = slice({first}, 0, 0, true);
  members->erase(first.second);
  keys.drop_if_empty<sorted_set>(args[0]);
  return result;
}

resp::reply zremrangebyrank(stored_keys& keys, command args) {
  auto* const members = keys.find_as<sorted_set>(args[0]);
  auto const all = all_of(members);
  auto const [from, to] = positions(leading_number(args[1]), leading_number(args[2]), all.size());
  for (auto i = from; i != to; ++i) members->erase(all[i].second);
  keys.drop_if_empty<sorted_set>(args[0]);
  return make_integer(static_cast<std::int64_t>(to - from));
}

}  // namespace holdfast::memory::commands
