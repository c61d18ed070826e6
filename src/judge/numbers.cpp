#include "judge/numbers.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::judging {
namespace {

using history::event;
using history::kind;

/// Of a barrier: older ones are over.
constexpr std::size_t most_generations = 64;

/// Of a client that only gives back: more are counted together.
constexpr std::size_t most_returns = 64;

}  // namespace

void numbers::changed(record const& line) {
  auto const name = state_.parts_of(line.lock).parts.front().name;
  switch (line.of) {
    case kind::latch:
      set_latch(latches_[name], line);
      return;
    case kind::semaphore:
      set_permits(permits_[name], line, name);
      return;
    case kind::permits: {
      auto& limit = state_.names[name].permits;
      if (line.event == event::setting) limit.setting(line.client, line.n);
      if (line.event == event::set) limit.set(line.client, line.n);
      if (line.event == event::added) limit.add(line.n);
      return;
    }
    default:
      return;
  }
}

void numbers::set_latch(latch& to, record const& line) {
  switch (line.event) {
    case event::setting:
      to.counted[line.client] = 0;
      return;
    case event::set:
      to.left = sum(line.n, -to.counted[line.client]);
      to.counted.erase(line.client);
      to.known = to.left > 0;
      to.set = place_of(line);
      to.set_by = line.client;
      return;
    case event::counted:
      for (auto& [client, counted] : to.counted) counted = sum(counted, line.n);
      to.left = sum(to.left, -line.n);
      to.known = to.known && to.left > 0;
      return;
    case event::opened:
      to.known = false;
      return;
    default:
      return;
  }
}

void numbers::set_permits(permits& to, record const& line, std::uint32_t name) {
  switch (line.event) {
    case event::setting:
      to.out_since = to.most_since = 0;
      to.on_their_way_since = 0;
      for (auto const& [client, of] : to.of_client)
        to.on_their_way_since = sum(to.on_their_way_since, of.all());
      return;
    case event::set:  // there was none: what was out before is void
      to.out = to.out_since;
      to.most = to.most_since;
      to.on_their_way = to.on_their_way_since;
      to.known = true;
      to.number = line.n;
      to.set = place_of(line);
      to.set_by = line.client;
      check_permits(to, name, line.client, place_of(line));
      return;
    case event::added:
      to.out = sum(to.out, -line.n);
      to.out_since = sum(to.out_since, -line.n);
      to.of_client[line.client].add(line.t, line.n);
      return;
    default:
      return;
  }
}

void numbers::returns::add(instant at, std::int64_t number) {
  if (number <= 0) return;
  open_.push_back({.at = at, .number = number});
  if (open_.size() <= most_returns) return;
  open_[1].number = sum(open_[0].number, open_[1].number);
  open_.pop_front();
}

void numbers::returns::answered(instant asked) {
  while (!open_.empty() && open_.front().at < asked) open_.pop_front();
}

std::int64_t numbers::returns::all() const noexcept {
  std::int64_t result = 0;
  for (auto const& each : open_) result = sum(result, each.number);
  return result;
}

void numbers::check_permits(permits const& of, std::uint32_t name, std::uint32_t client, place const& at) {
  if (of.most <= of.number) return;
  // A server that has forgotten the semaphore counts what comes back as new ones.
  auto const returned = of.most <= sum(of.number, of.on_their_way);
  add(std::to_string(of.most) + " permits of " + state_.name_text(name) + " are out, of " +
          std::to_string(of.number),
      of.set.t, of.set_by, of.set, nullptr, client, at, "acquired, one too many", returned);
}

void numbers::asked(wait_state const& wait, std::int64_t parties) {
  auto const& of = state_.parts_of(wait.lock);
  if (of.of != kind::barrier) return;
  auto& known = barriers_[of.parts.front().name];
  ++known.asked;
  known.parties = parties;
}

void numbers::taken(wait_state const& wait, record const& line) {
  auto const& of = state_.parts_of(wait.lock);
  auto const name = of.parts.front().name;
  switch (of.of) {
    case kind::latch:
      pass_latch(latches_[name], name, wait, line);
      return;
    case kind::barrier:
      pass_barrier(barriers_[name], name, wait, line);
      return;
    case kind::semaphore: {
      auto& counted = permits_[name];
      counted.of_client[line.client].answered(wait.asked.t);
      counted.out_since = sum(counted.out_since, wait.amount);
      counted.most_since = std::max(counted.most_since, counted.out_since);
      counted.out = sum(counted.out, wait.amount);
      if (counted.out <= counted.most) return;
      counted.most = counted.out;
      if (counted.known) check_permits(counted, name, line.client, place_of(line));
      return;
    }
    default:
      return;
  }
}

/// From the setting on, each later caller had to wait for the last count.
void numbers::pass_latch(latch const& of, std::uint32_t name, wait_state const& wait, record const& line) {
  if (!of.known || wait.asked.t - of.set.t <= state_.doubt(of.set_by, wait.client)) return;
  add("the latch " + state_.name_text(name) + " was passed, though " + std::to_string(of.left) +
          " were still to be counted down",
      of.set.t, of.set_by, of.set, &wait, line.client, place_of(line), "passed");
}

void numbers::pass_barrier(barrier& of, std::uint32_t name, wait_state const& wait, record const& line) {
  auto const parties = of.parties;
  auto const title = "generation " + std::to_string(line.token) + " of the barrier " + state_.name_text(name);
  auto& generation = of.of_generation[line.token];
  auto const passed = ++generation.passed;
  if (passed == 1) generation.since = wait.asked.t;
  if (parties > 0 && passed > parties)
    add(title + " was passed by " + std::to_string(passed) + ", more than its " + std::to_string(parties) +
            " parties",
        generation.since, 0, {}, &wait, line.client, place_of(line), "passed");
  else
    ++of.passed;
  if (passed == 1 && parties > 0 && of.asked - of.passed + 1 < parties)
    add(title + " opened with " + std::to_string(of.asked - of.passed + 1) + " of its " +
            std::to_string(parties) + " parties",
        generation.since, 0, {}, &wait, line.client, place_of(line), "passed");
  while (of.of_generation.size() > most_generations) of.of_generation.erase(of.of_generation.begin());
}

void numbers::add(std::string text, instant since, std::uint32_t set_by, place const& set,
                  wait_state const* wait, std::uint32_t client, place const& at, std::string_view problem,
                  bool explained) {
  finding found{.broken = promise::arithmetic, .text = std::move(text)};
  state::tell(found, set_by, set, "set");
  if (wait != nullptr) state::tell(found, wait->client, wait->asked, "asked");
  state::tell(found, client, at, std::string{problem});
  auto const excused = explained || state_.trouble_within(since, at.t);
  auto& to = excused ? state_.result.documented : state_.result.violations;
  to.add(std::move(found));
}

}  // namespace holdfast::judging
