#include "simulation/conversations.hpp"

#include <algorithm>

namespace holdfast::simulation {
namespace {

using namespace std::chrono_literals;

constexpr int never = 0;
constexpr int always = 1;

/// Callers without a time limit.
habits patient(part const& wanted) {
  return {.wanted = wanted, .most_permits = 2, .rounds = 2, .tries = never, .timed = never, .cancels = never};
}

/// Changes the habits of one caller; both numbers count from 0, and `caller` through all processes.
using adjustment = void (*)(habits& behaviour, int process, int caller);

struct crew {
  int processes = 1;
  int callers = 1;  ///< of each process
};

/// Adds processes of patient callers, and of a latch a keeper in each. Returns the first one.
process& add_processes(
    stage& scene, cast const& kinds, crew numbers, adjustment adjust = [](habits&, int, int) {}) {
  process* first = nullptr;
  auto caller = 0;
  for (auto i = 0; i < numbers.processes; ++i) {
    auto& host = scene.add_process();
    if (first == nullptr) first = &host;
    for (auto k = 0; k < numbers.callers; ++k) {
      auto behaviour = patient(kinds.of(static_cast<std::size_t>(caller)));
      adjust(behaviour, i, caller++);
      scene.add_actor(host, behaviour);
    }
    if (kinds.parts.front().lock->is_latch()) {
      auto behaviour = patient(kinds.of(0));
      adjust(behaviour, i, caller);
      scene.add_keeper(host, behaviour);
    }
  }
  return *first;
}

void add_replicas(stage& scene, int number, lag behaviour) {
  for (auto i = 0; i < number; ++i) scene.replicas().add_replica(behaviour);
}

bool all_leased(cast const& kinds) {
  return std::ranges::all_of(kinds.parts, [](part const& each) { return each.lock->leased(); });
}

bool have_replicas(cast const& kinds) { return kinds.masters == 1 && all_leased(kinds); }

/// A client that ends without a connection releases nothing: its keys stay until their ttl ends.
void end_in_calm(stage& scene, std::function<void()> end) {
  scene.shared_world().after(500ms, [&scene] { scene.calm(); });
  scene.shared_world().after(2s, std::move(end));
}

}  // namespace

std::vector<conversation> const& all_conversations() {
  static std::vector<conversation> const all{
      {"of_one_caller", [](stage& scene, cast const& kinds) { add_processes(scene, kinds, {}); }, nullptr},
      {"of_callers_of_one_process",
       [](stage& scene, cast const& kinds) { add_processes(scene, kinds, {.callers = 3}); }, nullptr},
      {"of_two_processes",
       [](stage& scene, cast const& kinds) { add_processes(scene, kinds, {.processes = 2}); }, nullptr},
      {"of_a_grant_to_who_waits_long",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3},
                       [](habits& caller, int, int) { caller.options.starvation_limit = 1ms; });
       },
       nullptr},
      {"of_handing_over",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 2, .callers = 2}, [](habits& caller, int, int) {
           caller.longest_hold = 2ms;
           caller.longest_pause = 1ms;
         });
       },
       nullptr},
      {"of_handing_over_and_passing_on",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 2, .callers = 2},
                       [](habits& caller, int, int) { caller.options.handoff_limit = 2; });
       },
       nullptr},
      {"of_callers_that_go_early",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int process, int) {
           caller.timed = process == 0 ? never : always;
           caller.longest_wait = 150ms;
         });
       },
       nullptr},
      {"of_callers_that_wait_for_less_than_a_recheck",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int, int) {
           caller.rounds = 4;
           caller.timed = always;
           caller.longest_wait = 1s;
           caller.longest_pause = 5ms;
         });
       },
       nullptr},
      {"of_callers_that_are_cancelled",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int process, int) {
           caller.cancels = process == 0 ? never : always;
           caller.longest_wait = 150ms;
         });
       },
       nullptr},
      {"of_callers_that_try",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int, int) {
           caller.tries = always;
           caller.rounds = 4;
         });
       },
       nullptr},
      {"of_requests_that_others_take_over",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 2, .callers = 3}, [](habits& caller, int, int number) {
           caller.cancels = number % 2 == 0 ? always : never;
           caller.longest_wait = 20ms;
           caller.longest_pause = 10ms;
           if (number % 2 != 0) caller.options.ttl = 1500ms;
         });
       },
       nullptr},
      {"of_leases_that_are_renewed",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 2}, [](habits& caller, int, int) {
           caller.options.ttl = 1500ms;
           caller.longest_hold = 3s;
         });
       },
       all_leased},
      {"of_leases_that_are_kept",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int process, int) {
           caller.options.ttl = 3s;
           caller.keeps = process == 0 ? never : always;
         });
       },
       all_leased},
      {"of_leases_that_are_kept_at_once",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int, int) {
           caller.options = {.ttl = 4s, .starvation_limit = 1ms};
           caller.keeps = 2;
           caller.longest_hold = 1ms;
         });
       },
       all_leased},
      {"of_a_client_that_ends_among_its_waiters",
       [](stage& scene, cast const& kinds) {
         auto& ending = add_processes(scene, kinds, {.processes = 2, .callers = 3},
                                      [](habits& caller, int, int) { caller.longest_hold = 1s; });
         end_in_calm(scene, [&ending] { ending.when_undisturbed([&ending] { ending.end(); }); });
       },
       nullptr},
      {"of_a_process_that_exits_among_its_waiters",
       [](stage& scene, cast const& kinds) {
         auto& ending = add_processes(scene, kinds, {.processes = 2, .callers = 3},
                                      [](habits& caller, int, int) { caller.longest_hold = 1s; });
         end_in_calm(scene, [&scene, &ending] { scene.exit(ending); });
       },
       nullptr},
      {"of_acknowledged_callers",
       [](stage& scene, cast const& kinds) {
         add_replicas(scene, 2, {.most = 150ms});
         add_processes(scene, kinds, {.processes = 2, .callers = 2},
                       [](habits& caller, int, int) { caller.options.replicas = 1; });
       },
       have_replicas},
      {"of_acknowledged_callers_that_go_early",
       [](stage& scene, cast const& kinds) {
         // Behind by more than an outage: what is counted behind one isn't there.
         add_replicas(scene, 2, {.least = 400ms, .most = 600ms});
         add_processes(scene, kinds, {.processes = 3}, [](habits& caller, int, int) {
           caller.rounds = 4;
           caller.options.replicas = 1;
           caller.timed = always;
           caller.longest_wait = 1s;
         });
       },
       have_replicas},
      {"of_callers_whose_locks_are_on_disk",
       [](stage& scene, cast const& kinds) {
         add_replicas(scene, 1, {});
         scene.replicas().set_disk({.most = 500ms});
         add_processes(scene, kinds, {.processes = 2}, [](habits& caller, int, int) {
           caller.options.fsynced = true;
           caller.options.replicas = 1;
         });
       },
       have_replicas},
      {"of_acknowledgements_that_do_not_come",
       [](stage& scene, cast const& kinds) {
         add_replicas(scene, 2, {.absences = 4});
         add_processes(scene, kinds, {.processes = 2, .callers = 2},
                       [](habits& caller, int, int) { caller.options.replicas = 2; });
       },
       have_replicas},
      {"of_acknowledgements_of_another_callers_request",
       [](stage& scene, cast const& kinds) {
         add_replicas(scene, 2, {.least = 20ms, .most = 200ms});
         add_processes(scene, kinds, {.processes = 2, .callers = 3}, [](habits& caller, int, int number) {
           caller.rounds = 1;
           caller.options.replicas = number % 3;
           caller.options.handoff_limit = 2;
           if (number % 3 == 0) caller.cancels = always;
           caller.longest_wait = 5ms;
           caller.longest_hold = 20ms;
           caller.longest_pause = 10ms;
         });
       },
       have_replicas},
      {"of_a_client_that_ends_while_its_lock_is_not_on_disk",
       [](stage& scene, cast const& kinds) {
         scene.replicas().set_disk({.least = 3s, .most = 3s});  // longer than WAITAOF waits
         auto& ending = add_processes(scene, kinds, {.callers = 2}, [](habits& caller, int, int) {
           caller.rounds = 4;
           caller.options.fsynced = true;
           caller.first_pause = 300ms;  // the second one has just begun to wait when the client ends
           caller.longest_pause = 1ms;
         });
         end_in_calm(scene, [&ending] { ending.when_undisturbed([&ending] { ending.end(); }); });
       },
       have_replicas},
      {"of_polling",
       [](stage& scene, cast const& kinds) {
         add_processes(scene, kinds, {.processes = 2}, [](habits& caller, int, int) {
           caller.options.wake = wake::poll;
           caller.options.poll_floor = 20ms;
         });
       },
       nullptr},
  };
  return all;
}

}  // namespace holdfast::simulation
