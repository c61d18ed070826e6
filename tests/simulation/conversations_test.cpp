/// Each conversation with the server, with something wrong at each of its requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulation/stage.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr int never = 0;
constexpr int always = 1;

/// Callers without a time limit.
habits patient(engine::recipe const& protocol) {
  return {.protocol = &protocol, .tries = never, .timed = never, .cancels = never};
}

/// Changes the habits of the callers of one process; `index`: the number of the process, from 0.
using adjustment = void (*)(habits& caller, int index);

void unchanged(habits&, int) {}

struct crew {
  int processes = 1;
  int callers = 1;  ///< of each process
};

/// Adds processes of patient callers.
void add_processes(stage& scene, engine::recipe const& protocol, crew numbers,
                   adjustment adjust = unchanged) {
  for (auto i = 0; i < numbers.processes; ++i) {
    auto& host = scene.add_process();
    auto caller = patient(protocol);
    adjust(caller, i);
    for (auto k = 0; k < numbers.callers; ++k) scene.add_actor(host, caller);
  }
}

struct conversation {
  char const* title;
  void (*begin)(stage& scene, engine::recipe const& protocol);
};

std::vector<conversation> const all{
    {"of_one_caller",
     [](stage& scene, engine::recipe const& protocol) { add_processes(scene, protocol, {}); }},
    {"of_callers_of_one_process",
     [](stage& scene, engine::recipe const& protocol) { add_processes(scene, protocol, {.callers = 3}); }},
    {"of_two_processes",
     [](stage& scene, engine::recipe const& protocol) { add_processes(scene, protocol, {.processes = 2}); }},
    {"of_a_grant_to_who_waits_long",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3},
                     [](habits& caller, int) { caller.options.starvation_limit = 1ms; });
     }},
    {"of_handing_over_and_passing_on",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 2, .callers = 2},
                     [](habits& caller, int) { caller.options.handoff_limit = 2; });
     }},
    {"of_callers_that_go_early",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3}, [](habits& caller, int index) {
         caller.timed = index == 0 ? never : always;
         caller.longest_wait = 150ms;
       });
     }},
    {"of_callers_that_are_cancelled",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3}, [](habits& caller, int index) {
         caller.cancels = index == 0 ? never : always;
         caller.longest_wait = 150ms;
       });
     }},
    {"of_callers_that_try",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3}, [](habits& caller, int) {
         caller.tries = always;
         caller.rounds = 6;
       });
     }},
    {"of_leases_that_are_renewed",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 2}, [](habits& caller, int) {
         caller.options.ttl = 1500ms;
         caller.rounds = 2;
         caller.longest_hold = 3s;
       });
     }},
    {"of_leases_that_are_kept",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3}, [](habits& caller, int index) {
         caller.options.ttl = 3s;
         caller.keeps = index == 0 ? never : always;
       });
     }},
    {"of_a_client_that_ends_among_its_waiters",
     [](stage& scene, engine::recipe const& protocol) {
       auto& ending = scene.add_process();
       auto caller = patient(protocol);
       caller.longest_hold = 1s;
       for (auto i = 0; i < 3; ++i) scene.add_actor(ending, caller);
       scene.add_actor(scene.add_process(), caller);
       // A client that ends without a connection releases nothing: its keys stay until their ttl ends.
       scene.shared_world().after(500ms, [&scene] { scene.calm(); });
       scene.shared_world().after(2s, [&ending] { ending.end(); });
     }},
    {"of_polling",
     [](stage& scene, engine::recipe const& protocol) {
       add_processes(scene, protocol, {.processes = 3},
                     [](habits& caller, int) { caller.options.wake = wake::poll; });
     }},
};

class conversations : public testing::TestWithParam<std::tuple<std::size_t, engine::recipe const*>> {
 protected:
  /// Returns the number of requests.
  static std::uint64_t play(network conditions, std::string const& disturbance) {
    auto const& [index, protocol] = GetParam();
    stage scene{1, std::move(conditions)};
    all[index].begin(scene, *protocol);
    EXPECT_THAT(scene.play(), ElementsAre()) << disturbance;
    return scene.requests();
  }
};

TEST_P(conversations, bear_what_goes_wrong_at_each_request) {
  static constexpr std::pair<fate, char const*> disturbances[]{{fate::lost, "lost"},
                                                               {fate::unanswered, "unanswered"},
                                                               {fate::refused, "refused"},
                                                               {fate::forgotten, "forgotten"},
                                                               {fate::delayed, "delayed"}};
  auto const requests = play({}, "all is well");
  for (std::uint64_t disturbed = 0; disturbed != requests && !HasFailure(); ++disturbed) {
    for (auto const& [outcome, name] : disturbances) {
      (void)play({.fate_of =
                      [&, number = std::uint64_t{0}]() mutable {
                        return number++ == disturbed ? outcome : fate::answered;
                      }},
                 "request " + std::to_string(disturbed) + " is " + name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(each, conversations,
                         testing::Combine(testing::Range(std::size_t{0}, all.size()),
                                          testing::Values(&recipes::plain::exclusive, &recipes::plain::fair)),
                         [](auto const& info) {
                           return std::string{all[std::get<0>(info.param)].title} +
                                  (std::get<1>(info.param) == &recipes::plain::exclusive ? "_mutex"
                                                                                         : "_fair_mutex");
                         });

}  // namespace
}  // namespace holdfast::simulation
