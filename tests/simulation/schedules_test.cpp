/// Random schedules: the real engine and the real scripts, in a world whose time and chance come from a seed.
/// No server, no threads, no waiting.
///
/// HOLDFAST_SEED and HOLDFAST_SCHEDULES say which seeds and how many; HOLDFAST_TRACE=1 prints what happens.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "simulation/stage.hpp"
#include "support/sanitizers.hpp"
#include "sync/exclusive.hpp"
#include "sync/fair.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::uint64_t setting(char const* name, std::uint64_t otherwise) {
  auto const* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// All that is different between two schedules follows from the seed. The number of leases.
int play(engine::recipe const& protocol, std::uint64_t seed) {
  world* chance = nullptr;
  auto trouble = 0;  // none, some, much
  auto const happens = [&](int often, int seldom) {
    return trouble != 0 && chance->once_in(trouble == 1 ? seldom : often);
  };
  stage scene{seed,
              {.fate_of =
                   [&](std::uint64_t) {
                     constexpr fate all[]{fate::lost, fate::unanswered, fate::refused, fate::forgotten,
                                          fate::delayed};
                     return happens(6, 30) ? all[chance->below(5)] : fate::answered;
                   },
               .delay_of_message = [&]() -> std::optional<nanoseconds> {
                 if (!happens(4, 20)) return 0ns;
                 if (chance->once_in(2)) return std::nullopt;
                 return chance->between(0s, 4s);
               }}};
  auto& time = scene.time();
  chance = &time;
  trouble = time.below(3);
  lock_options const options{.ttl = time.once_in(2) ? 30s : 1500ms,
                             .starvation_limit = time.once_in(2) ? 20ms : 500ms,
                             .handoff_limit = time.once_in(2) ? 2 : 32};
  process* first = nullptr;
  auto const processes = 1 + time.below(3);
  for (auto i = 0; i < processes; ++i) {
    auto& in = scene.add_process({.recheck = 1s});
    if (first == nullptr) first = &in;
    auto const callers = 1 + time.below(3);
    for (auto k = 0; k < callers; ++k)
      scene.add_actor(in, {.protocol = &protocol, .options = options, .keeps = time.once_in(3) ? 3 : 0});
  }
  // Without a connection a client that ends gives nothing back: that is left to the ttl.
  if (time.once_in(4)) {
    time.after(time.between(0ms, 300ms), [&] {
      auto const before = std::exchange(trouble, 0);
      time.after(1500ms, [&, before] {
        first->end();
        trouble = before;
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
  return info.param == &sync::exclusive ? "mutex" : "fair_mutex";
}

INSTANTIATE_TEST_SUITE_P(of, schedules, testing::Values(&sync::exclusive, &sync::fair), name_of);

}  // namespace
}  // namespace holdfast::simulation
