/// Each conversation with the server, with something wrong at each of its requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "simulation/stage.hpp"
#include "sync/exclusive.hpp"
#include "sync/fair.hpp"

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct conversation {
  char const* title;
  std::function<void(stage&, engine::recipe const&)> begin;
};

constexpr int never = 0;
constexpr int always = 1;

/// Callers that wait as long as it takes.
habits patient(engine::recipe const& protocol) {
  return {.protocol = &protocol, .tries = never, .timed = never, .cancels = never};
}

std::vector<conversation> const all{
    {"of_one_caller", [](stage& s, engine::recipe const& p) { s.add_actor(s.add_process(), patient(p)); }},
    {"of_callers_of_one_process",
     [](stage& s, engine::recipe const& p) {
       auto& in = s.add_process();
       for (auto i = 0; i < 3; ++i) s.add_actor(in, patient(p));
     }},
    {"of_two_processes",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 2; ++i) s.add_actor(s.add_process(), patient(p));
     }},
    {"of_a_grant_to_who_waits_long",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.options.starvation_limit = 1ms;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_handing_over_and_passing_on",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 2; ++i) {
         auto& in = s.add_process();
         for (auto k = 0; k < 2; ++k) {
           auto how = patient(p);
           how.options.handoff_limit = 2;
           s.add_actor(in, how);
         }
       }
     }},
    {"of_callers_that_go_early",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.timed = i == 0 ? never : always;
         how.longest_wait = 150ms;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_callers_that_are_cancelled",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.cancels = i == 0 ? never : always;
         how.longest_wait = 150ms;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_callers_that_try",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.tries = always;
         how.rounds = 6;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_leases_that_are_renewed",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 2; ++i) {
         auto how = patient(p);
         how.options.ttl = 1500ms;
         how.rounds = 2;
         how.longest_hold = 3s;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_leases_that_are_kept",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.options.ttl = 3s;
         how.keeps = i == 0 ? never : always;
         s.add_actor(s.add_process(), how);
       }
     }},
    {"of_a_client_that_ends_among_its_waiters",
     [](stage& s, engine::recipe const& p) {
       auto& ends = s.add_process();
       auto how = patient(p);
       how.longest_hold = 1s;
       for (auto i = 0; i < 3; ++i) s.add_actor(ends, how);
       s.add_actor(s.add_process(), how);
       // Without a connection it gives nothing back: that is left to the ttl.
       s.time().after(500ms, [&s] { s.calm(); });
       s.time().after(2s, [&ends] { ends.end(); });
     }},
    {"of_polling",
     [](stage& s, engine::recipe const& p) {
       for (auto i = 0; i < 3; ++i) {
         auto how = patient(p);
         how.options.wake = wake::poll;
         s.add_actor(s.add_process(), how);
       }
     }},
};

class conversations : public testing::TestWithParam<std::tuple<std::size_t, engine::recipe const*>> {
 protected:
  static constexpr int seeds = 1;

  /// How many requests it has taken.
  static std::uint64_t play(std::uint64_t seed, network how, std::string const& what_is_wrong) {
    auto const& [which, protocol] = GetParam();
    stage scene{seed, std::move(how)};
    all[which].begin(scene, *protocol);
    EXPECT_THAT(scene.play(), ElementsAre()) << "seed " << seed << ", " << what_is_wrong;
    return scene.requests();
  }
};

TEST_P(conversations, bear_what_goes_wrong_at_each_request) {
  static constexpr std::pair<fate, char const*> wrong[]{{fate::lost, "lost"},
                                                        {fate::unanswered, "unanswered"},
                                                        {fate::refused, "refused"},
                                                        {fate::forgotten, "forgotten"},
                                                        {fate::delayed, "delayed"}};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    auto const requests = play(seed, {}, "all is well");
    for (std::uint64_t at = 0; at != requests && !HasFailure(); ++at) {
      for (auto const& [what, name] : wrong) {
        (void)play(seed,
                   {.fate_of = [&](std::uint64_t number) { return number == at ? what : fate::answered; }},
                   std::string{"request "} + std::to_string(at) + " is " + name);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(each, conversations,
                         testing::Combine(testing::Range(std::size_t{0}, all.size()),
                                          testing::Values(&sync::exclusive, &sync::fair)),
                         [](auto const& info) {
                           return std::string{all[std::get<0>(info.param)].title} +
                                  (std::get<1>(info.param) == &sync::exclusive ? "_mutex" : "_fair_mutex");
                         });

}  // namespace
}  // namespace holdfast::simulation
