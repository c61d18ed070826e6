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
#include <utility>

#include "simulation/stage.hpp"
#include "support/sanitizers.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::uint64_t setting(char const* name, std::uint64_t fallback) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

/// All differences between schedules follow from the seed. Returns the number of leases.
int play(engine::recipe const& protocol, std::uint64_t seed) {
  world* shared_world = nullptr;
  auto disturbance = 0;  // none, some, much
  auto const happens = [&](int often, int seldom) {
    return disturbance != 0 && shared_world->once_in(disturbance == 1 ? seldom : often);
  };
  stage scene{seed,
              {.fate_of =
                   [&] {
                     constexpr fate failures[]{fate::lost, fate::unanswered, fate::refused, fate::forgotten,
                                               fate::delayed};
                     return happens(6, 30) ? failures[shared_world->below(5)] : fate::answered;
                   },
               .delay_of_message = [&]() -> std::optional<nanoseconds> {
                 if (!happens(4, 20)) return 0ns;
                 if (shared_world->once_in(2)) return std::nullopt;
                 return shared_world->between(0s, 4s);
               }}};
  shared_world = &scene.shared_world();
  disturbance = shared_world->below(3);
  lock_options const options{.ttl = shared_world->once_in(2) ? 30s : 1500ms,
                             .starvation_limit = shared_world->once_in(2) ? 20ms : 500ms,
                             .handoff_limit = shared_world->once_in(2) ? 2 : 32};
  process* first = nullptr;
  auto const processes = 1 + shared_world->below(3);
  for (auto i = 0; i < processes; ++i) {
    auto& host = scene.add_process({.recheck = 1s});
    if (first == nullptr) first = &host;
    auto const callers = 1 + shared_world->below(3);
    for (auto k = 0; k < callers; ++k) {
      scene.add_actor(host,
                      {.protocol = &protocol, .options = options, .keeps = shared_world->once_in(3) ? 3 : 0});
    }
  }
  // A client that ends without a connection releases nothing: its keys stay until their ttl ends.
  if (shared_world->once_in(4)) {
    shared_world->after(shared_world->between(0ms, 300ms), [&] {
      auto const before = std::exchange(disturbance, 0);
      shared_world->after(1500ms, [&, before] {
        first->end();
        disturbance = before;
      });
    });
  }
  EXPECT_THAT(scene.play(), ElementsAre()) << "HOLDFAST_SEED=" << seed << " HOLDFAST_SCHEDULES=1";
  return scene.leases();
}

class schedules : public testing::TestWithParam<engine::recipe const*> {};

TEST_P(schedules, keep_every_promise) {
  constexpr auto slow = test::under_address_sanitizer || test::under_thread_sanitizer;
  auto const count = setting("HOLDFAST_SCHEDULES", slow ? 100 : 1000);
  auto const first = setting("HOLDFAST_SEED", 1);
  auto leases = 0;
  for (auto seed = first; seed != first + count && !HasFailure(); ++seed) leases += play(*GetParam(), seed);
  EXPECT_GT(leases, 0);
}

std::string name_of(testing::TestParamInfo<engine::recipe const*> const& info) {
  return info.param == &recipes::plain::exclusive ? "mutex" : "fair_mutex";
}

INSTANTIATE_TEST_SUITE_P(of, schedules, testing::Values(&recipes::plain::exclusive, &recipes::plain::fair),
                         name_of);

}  // namespace
}  // namespace holdfast::simulation
