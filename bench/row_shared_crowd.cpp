// S2, S3: the read-write lock and permits among many processes: what a writer's release costs with readers
// waiting, and what a turn costs however many wait.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "process.hpp"
#include "redis.hpp"
#include "rows.hpp"
#include "stats.hpp"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto name = "bench:shared";
constexpr auto queue = "{bench:shared}:holdfast_queue";

std::int64_t nanoseconds_now() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

// S2. Readers of many processes wait for one writer, which lets go.

constexpr std::size_t readers = 64;

/// A writer that has held a free lock for less than half a second looks first whether anybody waits. And
/// after half a second all have said who they are.
constexpr auto longer_hold = 700ms;

struct crowd_of_readers {
  std::atomic<std::size_t> waiting{0};
  std::atomic<std::size_t> in{0};
  std::atomic<bool> holds{false};
  std::atomic<bool> go{false};
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> left_at{0};
  std::array<std::atomic<std::int64_t>, readers> in_at{};

  void enter(std::size_t reader) {
    in_at[reader] = nanoseconds_now();
    ++in;
  }
  [[nodiscard]] double us_to_the_last() const {
    return static_cast<double>(*std::ranges::max_element(in_at) - left_at) / 1'000;
  }
  [[nodiscard]] double us_between_first_and_last() const {
    auto const [first, last] = std::ranges::minmax_element(in_at);
    return static_cast<double>(*last - *first) / 1'000;
  }
};

struct release_of_many {
  double scripts = 0;
  double messages = 0;
  double last_us = 0;    ///< from the release
  double spread_us = 0;  ///< from the first reader to the last
};

/// All wait, and nobody asks any more; then the writer lets go. Soon: a grant is believed for as long as it
/// is sure to last, counted from the last answer.
release_of_many let_go(context const& run, children& all, crowd_of_readers& seen) {
  auto known = run.server.calls();
  wait_until(all, [&] {
    std::this_thread::sleep_for(50ms);
    return requests_between(std::exchange(known, run.server.calls()), known) == 0;
  });
  auto const before = run.server.calls();
  seen.go = true;
  wait_until(all, [&] { return seen.in == readers; });
  auto const after = run.server.calls();
  seen.over = true;
  all.join();
  return {requests_between(before, after), messages_between(before, after), seen.us_to_the_last(),
          seen.us_between_first_and_last()};
}

release_of_many release_with_readers(context const& run) {
  // No re-check and no renewal falls into the measurement.
  client_options const patient{.recheck = 30s};
  shared<crowd_of_readers> seen;
  children all;
  all.start([&] {
    client redis{run.server.url(), patient};
    holdfast::shared_mutex lock{redis, name, {.ttl = 1h}};
    auto writing = lock.acquire();
    seen->holds = true;
    wait_for(seen->go);
    seen->left_at = nanoseconds_now();
    writing.release();
    wait_for(seen->over);
  });
  wait_until(all, [&] { return seen->holds.load(); });
  for (std::size_t reader = 0; reader < readers; ++reader) {
    all.start([&, reader] {
      client redis{run.server.url(), patient};
      holdfast::shared_mutex lock{redis, name, {.ttl = 1h}};
      auto const mine = lock.acquire_shared();
      seen->enter(reader);
      wait_for(seen->over);
    });
  }
  connection redis{run.server.port()};
  wait_until(all, [&] { return redis.ask({"ZCARD", queue}) == std::to_string(readers); });
  std::this_thread::sleep_for(longer_hold);
  return let_go(run, all, *seen);
}

/// The same number of bare clients, each subscribed to a channel, and one that publishes to all of them in
/// one write.
release_of_many publish_to_bare_clients(context const& run) {
  shared<crowd_of_readers> seen;
  children all;
  auto const channel = [](std::size_t reader) { return fmt::format("bench:inbox:{}", reader); };
  for (std::size_t reader = 0; reader < readers; ++reader) {
    all.start([&, reader] {
      connection redis{run.server.port()};
      redis.call({"SUBSCRIBE", channel(reader)});
      ++seen->waiting;
      redis.hear();
      seen->enter(reader);
      wait_for(seen->over);
    });
  }
  wait_until(all, [&] { return seen->waiting == readers; });
  all.start([&] {
    connection redis{run.server.port()};
    std::vector<connection::words> messages;
    for (std::size_t reader = 0; reader < readers; ++reader)
      messages.push_back({"PUBLISH", channel(reader), "granted 1 1732550000000000 1 bench:shared"});
    wait_for(seen->go);
    seen->left_at = nanoseconds_now();
    redis.call(messages);
    wait_for(seen->over);
  });
  return let_go(run, all, *seen);
}

// S3. What a turn costs however many processes want one.

struct turn_count {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> turns{0};
};

using turn_taker = void (*)(client& redis, int process, turn_count& counts);

template <class Turn>
void take_turns(turn_count& counts, Turn turn) {
  ++counts.ready;
  wait_for(counts.go);
  while (!counts.stop) {
    turn();
    ++counts.turns;
  }
}

/// Half of the processes read.
void read_or_write(client& redis, int process, turn_count& counts) {
  holdfast::shared_mutex lock{redis, name};
  take_turns(counts, [&] { auto const mine = process % 2 == 0 ? lock.acquire_shared() : lock.acquire(); });
}

void take_a_permit(client& redis, int /*process*/, turn_count& counts) {
  expiring_semaphore permits{redis, name, 1};
  take_turns(counts, [&] { auto const mine = permits.acquire(); });
}

double requests_per_turn(context const& run, int processes, turn_taker taker) {
  shared<turn_count> counts;
  children all;
  for (int process = 0; process < processes; ++process) {
    all.start([&, process] {
      client redis{run.server.url()};
      redis.connect();
      taker(redis, process, *counts);
    });
  }
  wait_until(all, [&] { return counts->ready == processes; });
  counts->go = true;
  wait_until(all, [&] { return counts->turns >= 4 * processes; });
  auto const before = run.server.calls();
  auto const turns_before = counts->turns.load();
  std::this_thread::sleep_for(run.measured_time());
  auto const after = run.server.calls();
  auto const turns = counts->turns - turns_before;
  counts->stop = true;
  all.join();
  if (turns == 0) throw std::runtime_error{"nobody had a turn"};
  return requests_between(before, after) / static_cast<double>(turns);
}

}  // namespace

std::vector<line> shared_release(context const& run) {
  auto const round_trip = in_child([&] { return ping_us(run.server.port()); });
  line scripts{"S2", fmt::format("a writer lets go, {} reader processes wait: requests", readers),
               target{target::of::own, target::side::at_most, 1}};
  line messages{"S2", "… messages", target{target::of::own, target::side::at_most, readers}};
  line last{"S2", "… until the last is in, RTT; floor: as many PUBLISH to bare clients"};
  line spread{"S2", "… from the first to the last, RTT",
              target{target::of::ratio, target::side::at_most, 1.5}};
  measure_in_turns(
      run, last,
      [&] {
        auto const found = publish_to_bare_clients(run);
        spread.floor.push_back(found.spread_us / round_trip);
        return found.last_us / round_trip;
      },
      [&] {
        auto const found = release_with_readers(run);
        scripts.own.push_back(found.scripts);
        messages.own.push_back(found.messages);
        spread.own.push_back(found.spread_us / round_trip);
        return found.last_us / round_trip;
      });
  return {scripts, messages, last, spread};
}

std::vector<line> shared_turns(context const& run) {
  if (run.options.measured == sides::floor) return {};
  constexpr int most_processes = 128;
  struct kind {
    char const* title;
    turn_taker taker;
  };
  std::vector<line> lines;
  for (auto const& [title, taker] : {kind{"shared_mutex, half of them read", read_or_write},
                                     kind{"expiring_semaphore of 1", take_a_permit}}) {
    std::vector<line> requests;
    for (int processes = 2; processes <= std::min(most_processes, run.options.processes); processes *= 4) {
      requests.push_back({"S3", fmt::format("{}: {} processes, requests per turn", title, processes)});
      measure_in_turns(run, requests.back(), nullptr,
                       [&] { return requests_per_turn(run, processes, taker); });
    }
    lines.push_back({"S3",
                     fmt::format("{}: farthest from the middle, %", title),
                     target{target::of::own, target::side::at_most, 10},
                     {},
                     {unevenness(requests)}});
    lines.insert(lines.end(), requests.begin(), requests.end());
  }
  return lines;
}

}  // namespace holdfast::bench
