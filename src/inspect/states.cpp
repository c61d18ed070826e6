#include "inspect/states.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "base/ranges.hpp"
#include "base/whole_number.hpp"
#include "engine/record.hpp"
#include "inspect/bounded.hpp"
#include "inspect/redisson_facts.hpp"
#include "script/names.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::inspection {
namespace {

using namespace std::chrono;

/// A longer hold is not believed. The counter of a lock that was taken before counters followed the server's
/// clock is a small number.
constexpr microseconds longest_hold = years{10};

/// A score as Redis writes it.
std::int64_t micros_of(std::string const& score) {
  double value = 0;
  std::from_chars(score.data(), score.data() + score.size(), value);
  return bounded(value);
}

/// The counter is the server's clock at the acquisition, unless it had to run ahead of it.
std::optional<microseconds> hold_time(microseconds now, std::int64_t counter) {
  auto const time = now - microseconds{counter};
  if (time < 0us || time > longest_hold) return std::nullopt;
  return time;
}

/// A waiter that goes first, by its policy or to upgrade its lease, has a ticket from years ago
/// (wire/plain/shared.cpp).
struct place {
  microseconds waited;
  bool goes_first;
};

place place_of(microseconds now, std::string const& ticket) {
  auto time = now - microseconds{micros_of(ticket)};
  bool const goes_first = time > recipes::plain::head_start / 2;
  while (time > recipes::plain::head_start / 2) time -= recipes::plain::head_start;
  return {.waited = std::max(time, 0us), .goes_first = goes_first};
}

/// What ends a reader's owner id in the keys is its side.
hold_side take_side(std::string& owner) {
  auto const side = owner.ends_with(names::reader_suffix)      ? hold_side::read
                    : owner.ends_with(names::upgrade_suffix)   ? hold_side::upgrade
                    : owner.ends_with(names::upgrading_suffix) ? hold_side::write
                                                               : hold_side::exclusive;
  owner.resize(names::without_suffix(owner).size());
  return side;
}

void read_readers(lock_state& state, resp::reply const& list) {
  state.kind = lock_kind::read_write;
  state.holding = list[0].integer;
  for (std::size_t i = 1; i + 1 < list.size(); i += 2) {
    hold_info hold{.process = {.owner = list[i].text}, .ttl_left = bounded_ms(list[i + 1].integer)};
    hold.side = take_side(hold.process.owner);
    state.holders.push_back(std::move(hold));
  }
  if (!state.holders.empty()) state.holder.owner = state.holders.front().process.owner;
}

void read_permits(lock_state& state, resp::reply const& list) {
  state.kind = lock_kind::permits;
  state.permits = bounded(list[0].integer);
  state.available = *state.permits - bounded(list[1].integer);
  state.holding = list[2].integer;
  for (std::size_t i = 3; i + 2 < list.size(); i += 3) {
    state.holders.push_back({.process = {.owner = list[i].text},
                             .side = hold_side::permit,
                             .count = list[i + 2].integer,
                             .ttl_left = ranges::left_of_lease(bounded_ms(list[i + 1].integer))});
  }
  if (state.ttl_left) state.ttl_left = ranges::left_of_lease(*state.ttl_left);
  if (!state.holders.empty()) state.holder.owner = state.holders.front().process.owner;
}

/// Takes the number up to the next space, or end of line, off the front.
std::int64_t take_number(std::string_view& text) {
  auto const size = std::min(text.find_first_of(" \n"), text.size());
  auto const digits = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return bounded(leading_number(digits));
}

/// A latch with those that have counted, or a barrier with those that have arrived.
void read_members(lock_state& state, resp::reply const& list, microseconds now) {
  constexpr std::string_view of_latch{"holdfast_latch "};
  constexpr std::string_view of_barrier{"holdfast_barrier "};
  auto const now_ms = duration_cast<milliseconds>(now);
  std::string_view text = list[0].text;
  auto const latch = text.starts_with(of_latch);
  text.remove_prefix(std::min(latch ? of_latch.size() : of_barrier.size(), text.size()));
  state.kind = latch ? lock_kind::latch : lock_kind::barrier;
  state.holding = bounded(list[1].integer);
  auto const first = take_number(text);
  state.permits = latch ? take_number(text) : first;
  state.available = latch ? first : first - state.holding;
  if (!latch) state.generation = take_number(text);
  if (latch) {  // its key stays for longer than its time
    auto const ends = bounded_ms(take_number(text));
    state.ttl_left.reset();
    if (ends.count() > 0) state.ttl_left = std::max(ends - now_ms, 0ms);
  }
  for (std::size_t i = 2; i + 1 < list.size(); i += 2) {
    auto const& member = list[i].text;
    hold_info hold{.process = {.owner = latch ? member : member.substr(0, member.find(' '))},
                   .side = hold_side::arrived};
    if (!latch) hold.ttl_left = bounded_ms(micros_of(list[i + 1].text)) - now_ms;
    state.holders.push_back(std::move(hold));
  }
  if (!state.holders.empty()) state.holder.owner = state.holders.front().process.owner;
}

/// {owner, ticket...} of a queue; of permits {owner, ticket, how many...}.
void read_queue(lock_state& state, std::span<resp::reply const> queue, bool of_permits, microseconds now) {
  std::size_t const fields = of_permits ? 3 : 2;
  for (std::size_t i = 0; i + fields <= queue.size(); i += fields) {
    auto const place = place_of(now, queue[i + 1].text);
    waiter_info waiter{.process = {.owner = queue[i].text}, .waited = place.waited};
    waiter.side = of_permits ? hold_side::permit : take_side(waiter.process.owner);
    waiter.preferred =
        place.goes_first && (waiter.side == hold_side::exclusive || waiter.side == hold_side::read);
    if (of_permits) waiter.count = queue[i + 2].integer;
    state.queue.push_back(std::move(waiter));
  }
}

lock_kind kind_of(std::string_view type, std::string_view owner) {
  if (type == "none") return lock_kind::free;
  if (type != "string") return lock_kind::other;
  return engine::uuid_of(owner).empty() ? lock_kind::foreign : lock_kind::exclusive;
}

}  // namespace

lock_on_wires read_states(std::string_view name, resp::reply const& reply) {
  lock_on_wires all;
  all.plain.name = all.redisson.name = name;
  if (reply.size() < 7) return all;
  auto& plain = all.plain;
  auto& other = all.redisson;
  plain.type = other.type = reply[0].text;
  plain.token = bounded(reply[3].integer);
  plain.waiting = reply[4].integer;
  microseconds const now{bounded(reply[5].integer)};
  plain.seen = other.seen = run_info::time_point{now};
  bool const of_permits = plain.type != "string" && reply[1].is_array();
  read_queue(plain, reply[6].elements, of_permits, now);
  if (reply.size() > 7) all.unseen = read_facts(other, reply[7], now);
  auto& holding = other.kind == lock_kind::free ? plain : other;
  if (auto const pttl = reply[2].integer; pttl >= 0) holding.ttl_left = bounded_ms(pttl);
  if (&holding == &other) return all;
  if (of_permits && reply[1].size() >= 3) {
    read_permits(plain, reply[1]);
    return all;
  }
  bool const leads = reply[1].size() == 4 && reply[1][1].is_text("leader");
  if (reply[1].size() >= 2 && reply[1][0].is_text() && !leads) {
    read_members(plain, reply[1], now);
    return all;
  }
  if (reply[1].size() >= 1 && !leads) {
    read_readers(plain, reply[1]);
    return all;
  }
  plain.holder.owner = leads ? reply[1][0].text : reply[1].text;
  if (leads) {
    std::string_view digits = reply[1][2].text;
    plain.leads = leadership{.value = reply[1][3].text, .term = take_number(digits)};
  }
  plain.kind = kind_of(plain.type, plain.holder.owner);
  if (plain.kind == lock_kind::exclusive) {
    plain.held_for = hold_time(now, plain.token);
    plain.holding = 1;
    plain.holders.push_back({.process = plain.holder, .ttl_left = plain.ttl_left});
  }
  return all;
}

}  // namespace holdfast::inspection
