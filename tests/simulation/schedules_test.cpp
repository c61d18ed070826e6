/// Random schedules: the real engine and the real scripts, with simulated time and chance from a seed. No
/// server, no threads, no waiting.
///
/// HOLDFAST_SEED is the first seed, HOLDFAST_SCHEDULES the number of seeds; HOLDFAST_TRACE=1 prints the
/// events.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
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
  int degree = 0;  ///< none, some, much

  bool happens(int often, int seldom) {
    return degree != 0 && shared_world->once_in(degree == 1 ? seldom : often);
  }
  fate fate_of_next() {
    constexpr fate failures[]{fate::lost, fate::unanswered, fate::refused, fate::forgotten, fate::delayed};
    return happens(6, 30) ? failures[shared_world->below(5)] : fate::answered;
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

/// All differences between schedules follow from the seed. Returns the number of leases.
int play(cast const& kinds, std::uint64_t seed) {
  disturbances wrong;
  stage scene{seed,
              {.breaks_subscriptions = seed % 2 == 0,
               .fate_of = [&] { return wrong.fate_of_next(); },
               .delay_of_message = [&] { return wrong.delay_of_next(); }}};
  auto& chance = scene.shared_world();
  wrong = {.shared_world = &chance, .degree = chance.below(3)};
  auto const options = any_options(chance);
  auto const alike = !chance.once_in(4);
  auto const acknowledged = chance.once_in(3);
  if (acknowledged) {
    for (auto i = 0; i < 2; ++i) scene.copies().add_replica(any_lag(chance));
    scene.copies().set_disk(any_lag(chance));
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
      if (acknowledged && caller.wanted.lock->leased() && chance.once_in(2)) {
        caller.options.replicas = chance.below(3);
        caller.options.fsynced = chance.once_in(4);
      }
      scene.add_actor(host, caller);
    }
  }
  // A client that ends without a connection releases nothing: its keys stay until their ttl ends.
  if (chance.once_in(3)) {
    auto const exits = chance.once_in(2);
    chance.after(chance.between(0ms, 300ms), [&, exits] {
      auto const before = std::exchange(wrong.degree, 0);
      chance.after(1500ms, [&, exits, before] {
        if (exits) {
          scene.exit(*first);
        } else {
          first->when_undisturbed([&] { first->end(); });
        }
        wrong.degree = before;
      });
    });
  }
  EXPECT_THAT(scene.play(), ElementsAre()) << "HOLDFAST_SEED=" << seed << " HOLDFAST_SCHEDULES=1";
  return scene.leases();
}

class schedules : public testing::TestWithParam<std::size_t> {};

TEST_P(schedules, keep_every_promise) {
  constexpr auto slow = test::under_address_sanitizer || test::under_thread_sanitizer;
  auto const count = setting("HOLDFAST_SCHEDULES", slow ? 50 : 200);
  auto const first = setting("HOLDFAST_SEED", 1);
  auto leases = 0;
  for (auto seed = first; seed != first + count && !HasFailure(); ++seed)
    leases += play(all_casts()[GetParam()], seed);
  EXPECT_GT(leases, 0);
}

INSTANTIATE_TEST_SUITE_P(of, schedules, testing::Range(std::size_t{0}, all_casts().size()),
                         [](auto const& info) { return std::string{all_casts()[info.param].title}; });

}  // namespace
}  // namespace holdfast::simulation
