/// Random schedules: the real engine and the real scripts, with simulated time and chance from a seed. No
/// server, no threads, no waiting.
///
/// HOLDFAST_SEED is the first seed, HOLDFAST_SCHEDULES the number of seeds; HOLDFAST_TRACE=1 prints the
/// events.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "simulation/stage.hpp"
#include "support/sanitizers.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::uint64_t setting(char const* name, std::uint64_t fallback) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

/// What goes wrong in one schedule, and how often.
struct disturbances {
  world* shared_world = nullptr;
  int degree = 0;            ///< none, some, much
  bool late_copies = false;  ///< among the rest

  bool happens(int often, int seldom) {
    return degree != 0 && shared_world->once_in(degree == 1 ? seldom : often);
  }
  fate fate_of_next() {
    constexpr fate failures[]{fate::lost,      fate::unanswered, fate::refused,
                              fate::forgotten, fate::delayed,    fate::overtaken};
    return happens(6, 30) ? failures[shared_world->below(late_copies ? 6 : 5)] : fate::answered;
  }
  std::optional<nanoseconds> delay_of_next() {
    if (!happens(4, 20)) return 0ns;
    if (shared_world->once_in(2)) return std::nullopt;
    return shared_world->between(0s, 6s);
  }
};

lock_options any_options(world& chance) {
  return {.ttl = chance.once_in(2) ? 30s : 1500ms,
          .starvation_limit = chance.once_in(2) ? 20ms : 500ms,
          .handoff_limit = chance.once_in(2) ? 2 : 32};
}

lag any_lag(world& chance) {
  return {.most = chance.once_in(2) ? 2ms : 400ms, .absences = chance.once_in(2) ? 0 : 20};
}

/// Their times of day differ, and one of them may be away for a time, or for good, or stand still.
void disturb_masters(stage& scene, int masters) {
  auto& chance = scene.shared_world();
  for (auto i = 0; i < masters; ++i)
    scene.master(static_cast<std::size_t>(i)).data().set_clock_ahead(chance.between(-200ms, 200ms));
  if (chance.once_in(2)) return;
  auto& disturbed = scene.master(static_cast<std::size_t>(chance.below(masters)));
  auto const begin = chance.now() + chance.between(0ms, 300ms);
  if (chance.once_in(3)) {
    chance.at(begin, [&, until = begin + chance.between(0ms, 1500ms)] { disturbed.freeze(until); });
  } else {
    auto const until = chance.once_in(2) ? time_point::max() : begin + chance.between(0s, 3s);
    chance.at(begin, [&, until] { disturbed.vanish(until); });
  }
}

/// Whether requests of broken connections arrive late.
enum class copies { never_late, late };

/// All differences between schedules follow from the seed. Returns the number of leases.
int play(cast const& kinds, std::uint64_t seed, copies late) {
  disturbances wrong;
  stage scene{seed,
              {.breaks_subscriptions = seed % 2 == 0,
               .fate_of = [&] { return wrong.fate_of_next(); },
               .delay_of_message = [&] { return wrong.delay_of_next(); }},
              kinds.masters};
  auto& chance = scene.shared_world();
  wrong = {.shared_world = &chance, .degree = chance.below(3), .late_copies = late == copies::late};
  if (wrong.late_copies) scene.expect_late_copies();
  auto const options = any_options(chance);
  auto const alike = !chance.once_in(4);
  auto const votes = kinds.masters > 1;
  auto const acknowledged = !votes && chance.once_in(3);
  if (votes) disturb_masters(scene, kinds.masters);
  if (acknowledged) {
    for (auto i = 0; i < 2; ++i) scene.replicas().add_replica(any_lag(chance));
    scene.replicas().set_disk(any_lag(chance));
  }
  process* first = nullptr;
  auto const processes = 1 + chance.below(3);
  std::size_t number = 0;
  for (auto i = 0; i < processes; ++i) {
    auto& host = scene.add_process({.recheck = 1s});
    if (first == nullptr) first = &host;
    auto const callers = 1 + chance.below(3);
    for (auto k = 0; k < callers; ++k) {
      habits caller{.wanted = kinds.of(number++),
                    .options = alike ? options : any_options(chance),
                    .most_permits = 2,
                    .keeps = chance.once_in(3) ? 3 : 0,
                    .longest_wait = chance.once_in(3) ? 5ms : 2s};
      // As the classes have it.
      if (caller.wanted.lock->lock_recipe->order == engine::order::strict)
        caller.options.starvation_limit = {};
      if (acknowledged && caller.wanted.lock->leased() && chance.once_in(2)) {
        caller.options.replicas = chance.below(3);
        caller.options.fsynced = chance.once_in(4);
      }
      scene.add_actor(host, caller);
    }
    if (kinds.parts.front().lock->is_latch()) scene.add_keeper(host, {.wanted = kinds.of(0)});
  }
  // A client that ends without a connection releases nothing: its keys stay until their ttl ends.
  if (chance.once_in(3)) {
    auto const exits = chance.once_in(2);
    chance.after(chance.between(0ms, 300ms), [&, exits] {
      auto const before = std::exchange(wrong.degree, 0);
      chance.after(1500ms, [&, exits, before] {
        auto const go_on = [&wrong, before] { wrong.degree = before; };
        if (exits) {
          scene.exit(*first, go_on);
        } else {
          first->when_undisturbed([&, go_on] {
            first->end();
            go_on();
          });
        }
      });
    });
  }
  EXPECT_THAT(scene.play(), ElementsAre()) << "HOLDFAST_SEED=" << seed << " HOLDFAST_SCHEDULES=1";
  return scene.leases();
}

std::int64_t play_all(cast const& kinds, std::uint64_t usual_count, copies late = copies::never_late) {
  constexpr auto slow = test::under_address_sanitizer || test::under_thread_sanitizer;
  auto const count = setting("HOLDFAST_SCHEDULES", slow ? usual_count / 4 : usual_count);
  auto const first = setting("HOLDFAST_SEED", 1);
  std::int64_t leases = 0;
  for (auto seed = first; seed != first + count && !testing::Test::HasFailure(); ++seed)
    leases += play(kinds, seed, late);
  if (count != usual_count) std::cout << leases << " leases judged\n";
  return leases;
}

class schedules : public testing::TestWithParam<std::size_t> {};

TEST_P(schedules, keep_every_promise) {
  auto const& kinds = all_casts()[GetParam()];
  EXPECT_GT(play_all(kinds, kinds.masters > 1 ? 100 : 200), 0);
}

INSTANTIATE_TEST_SUITE_P(of, schedules, testing::Range(std::size_t{0}, all_casts().size()),
                         [](auto const& info) { return std::string{all_casts()[info.param].title}; });

/// A master recognizes them by their numbers. On Redisson's wire, which has no numbers, they may break it.
TEST(late_copies, never_break_the_exclusion_of_a_quorum) {
  auto const& all = all_casts();
  auto const quorum = std::ranges::find(all, std::string_view{"quorum_mutex"}, &cast::title);
  EXPECT_GT(play_all(*quorum, 100, copies::late), 0);
}

}  // namespace
}  // namespace holdfast::simulation
