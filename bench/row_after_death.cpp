// S4, E1, E2: how soon the next has what a holder leaves: permits and the lead of one that was killed, and
// the lead of one that resigns.

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <memory>
#include <stdexcept>
#include <thread>

#include "contention.hpp"
#include "process.hpp"
#include "redis.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto name = "bench:left";
constexpr auto ttl = 1s;
constexpr int other_keys = 200'000;

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>{std::chrono::system_clock::now().time_since_epoch()}
      .count();
}

/// They expire one after the other, in the half minute that begins now.
void set_other_keys(redis_server const& server) {
  constexpr int batch = 1'000;
  connection redis{server.port()};
  for (int first = 0; first < other_keys; first += batch) {
    std::vector<connection::words> commands;
    for (int key = first; key < first + batch; ++key)
      commands.push_back(
          {"SET", fmt::format("bench:other:{}", key), "x", "PX", std::to_string(1 + key % 1'000 * 30)});
    redis.call(commands);
  }
}

struct succession {
  std::atomic<bool> held{false};
  std::atomic<bool> waits{false};
  std::atomic<double> next_at{0};  ///< milliseconds since the epoch, as the server has it
};

/// `hold` and `follow` run in processes of their own; that of `hold` is killed. Milliseconds from the end of
/// its ttl, by `ends_at` as the server has it just after, to the moment when the other has it.
template <class Hold, class Follow, class EndsAt>
double follow_the_killed(Hold hold, Follow follow, EndsAt ends_at) {
  shared<succession> seen;
  auto holder = std::make_unique<children>();
  children follower;
  holder->start([&] {
    hold(*seen);
    pause();
  });
  wait_until(*holder, [&] { return seen->held.load(); });
  follower.start([&] { follow(*seen); });
  wait_until(follower, [&] { return seen->waits.load(); });
  std::this_thread::sleep_for(300ms);  // its inbox is open
  holder.reset();
  auto const end = ends_at();
  wait_until(follower, [&] { return seen->next_at != 0; });
  follower.join();
  return seen->next_at - end;
}

/// Tells when somebody waits, from a thread of its own.
std::jthread tell_when_waiting(client& redis, succession& seen) {
  return std::jthread{[&redis, &seen] {
    while (redis.stats().waiting_now == 0) std::this_thread::sleep_for(1ms);
    seen.waits = true;
  }};
}

double permit_of_the_killed(context const& run, bool others) {
  return follow_the_killed(
      [&](succession& seen) {
        client redis{run.server.url()};
        expiring_semaphore permits{redis, name, 1, {.ttl = ttl}};
        auto const held = permits.acquire();
        seen.held = true;
        pause();
      },
      [&](succession& seen) {
        client redis{run.server.url()};
        expiring_semaphore permits{redis, name, 1};
        auto const telling = tell_when_waiting(redis, seen);
        auto const next = permits.acquire();
        seen.next_at = milliseconds_now();
      },
      [&] {
        connection redis{run.server.port()};
        auto const owner = redis.ask({"ZRANGE", name, "1", "1"});
        auto const end = std::stod(redis.ask({"ZSCORE", name, owner}));
        if (others) set_other_keys(run.server);
        return end;
      });
}

double lead_of_the_killed(context const& run, bool others) {
  return follow_the_killed(
      [&](succession& seen) {
        client redis{run.server.url()};
        election scheduler{redis, name, {.ttl = ttl}};
        auto const held = scheduler.campaign("first");
        seen.held = true;
        pause();
      },
      [&](succession& seen) {
        client redis{run.server.url()};
        election scheduler{redis, name};
        auto const telling = tell_when_waiting(redis, seen);
        auto const next = scheduler.campaign("second");
        seen.next_at = milliseconds_now();
      },
      [&] {
        connection redis{run.server.port()};
        auto const end = milliseconds_now() + std::stod(redis.ask({"PTTL", name}));
        if (others) set_other_keys(run.server);
        return end;
      });
}

/// Two processes take turns to lead.
contending_process candidates(redis_server const& server) {
  return [url = server.url()](int process, int /*threads*/, tally& counts) {
    client redis{url};
    redis.connect();
    election scheduler{redis, name};
    counts.wait_for_start();
    while (!counts.stop.load(std::memory_order_relaxed)) {
      auto leading = scheduler.campaign("10.0.0.7:8080");
      counts.visit(process, 0);
      counts.leave();
      leading.release();
    }
  };
}

}  // namespace

std::vector<line> permits_after_death(context const& run) {
  line late{"S4", "permit of a killed holder, 200,000 other keys expire: ms after its end; floor: no others",
            target{target::of::own, target::side::at_most, 20}};
  measure_in_turns(
      run, late, [&] { return permit_of_the_killed(run, false); },
      [&] { return permit_of_the_killed(run, true); });
  return {late};
}

std::vector<line> election_after_death(context const& run) {
  line late{"E1", "leader killed, 200,000 other keys expire: next leader, ms after its ttl; floor: no others",
            target{target::of::own, target::side::at_most, 20}};
  measure_in_turns(
      run, late, [&] { return lead_of_the_killed(run, false); },
      [&] { return lead_of_the_killed(run, true); });
  return {late};
}

std::vector<line> election_resigned(context const& run) {
  line gap{"E2", "leader resigns → the next leads, its value published, p50 µs; floor: PING",
           target{target::of::ratio, target::side::at_most, 2}};
  measure_in_turns(
      run, gap, [&] { return in_child([&] { return ping_us(run.server.port()); }); },
      [&] { return contend(run, 2, 1, candidates(run.server)).gap_us; });
  return {gap};
}

}  // namespace holdfast::bench
