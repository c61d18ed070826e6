// R1 to R4: Redisson's wire, against a bare pipelined client that sends its scripts, and against Redisson.

#include <fmt/format.h>

#include <holdfast/shared_mutex.hpp>
#include <memory>
#include <utility>

#include "contention.hpp"
#include "cycles.hpp"
#include "peer_load.hpp"
#include "pipelined_floor.hpp"
#include "process.hpp"
#include "rows.hpp"

namespace holdfast::bench {
namespace {

constexpr int at_once = 256;
constexpr int threads = 16;

lock_options on_redissons_wire() {
  lock_options options;
  options.wire = wire::redisson;
  return options;
}

std::function<acquirer(client&, int)> readers_of_one_name() {
  return [](client& redis, int) -> acquirer {
    auto lock = std::make_shared<shared_mutex>(redis, "bench:read");
    return [lock](exclusive_lock::acquire_handler done) { lock->async_acquire_shared(std::move(done)); };
  };
}

/// Redisson under that load, and warm; nothing when only our side is measured.
class warm_redisson {
 public:
  /// `names`: "one" name, or "different" ones.
  warm_redisson(context const& run, char const* names) : run_{run}, names_{names} {
    if (run.options.measured == sides::own) return;
    auto const command = redisson_program::command(run.options.redisson, run.server.port());
    java_ = std::make_unique<peer_load>(command);
    std::ignore = java_->run(names, threads, std::chrono::duration<double>{run.options.warm_up});
  }

  [[nodiscard]] peer_rates measure() { return java_->run(names_, threads, run_.measured_time()); }

 private:
  context const& run_;
  char const* names_;
  std::unique_ptr<peer_load> java_;
};

/// The rows that need Redisson say why when it isn't there.
bool left_out(context const& run) {
  return run.options.measured != sides::own && !redisson_program::is_in(run.options.redisson);
}

std::vector<line> reason(context const& run, std::string row) {
  return {{std::move(row),
           fmt::format("left out: no Redisson in {}; see tools/prepare-peers", run.options.redisson)}};
}

}  // namespace

std::vector<line> redisson_many_asynchronous(context const& run) {
  line rate{"R1", "Redisson's wire, 256 asynchronous at once, cycles/s",
            target{target::of::ratio, target::side::at_least, 0.90}};
  line requests{"R1", "… requests per cycle", target{target::of::own, target::side::at_most, 2.01}};
  measure_in_turns(
      run, rate,
      [&] {
        return in_child([&] {
          return pipelined_cycles_per_second(run.server.port(), redisson_commands, at_once,
                                             run.measured_time());
        });
      },
      [&] {
        auto const found = outstanding(run, at_once, mutexes(on_redissons_wire()));
        requests.own.push_back(found.requests);
        return found.per_second;
      });
  return {rate, requests};
}

std::vector<line> redisson_different_names(context const& run) {
  if (left_out(run)) return reason(run, "R2");
  line rate{"R2", "16 threads, different names, cycles/s; floor: Redisson",
            target{target::of::ratio, target::side::at_least, 5}};
  line cpu{"R2", "… client CPU, µs a cycle", target{target::of::ratio, target::side::at_most, 0.20}};
  warm_redisson java{run, "different"};
  measure_in_turns(
      run, rate,
      [&] {
        auto const found = java.measure();
        cpu.floor.push_back(found.cpu_us);
        return found.cycles;
      },
      [&] {
        auto const found = of_threads(run, threads, on_redissons_wire());
        cpu.own.push_back(found.cpu_us);
        return found.per_second;
      });
  return {rate, cpu};
}

std::vector<line> redisson_one_name(context const& run) {
  if (left_out(run)) return reason(run, "R3");
  line rate{"R3", "16 threads of 1 process, 1 name, handoffs/s; floor: Redisson",
            target{target::of::ratio, target::side::at_least, 10}};
  warm_redisson java{run, "one"};
  measure_in_turns(
      run, rate, [&] { return java.measure().handoffs; },
      [&] {
        return contend(run, 1, threads, holdfast_contenders(run.server, on_redissons_wire())).handoffs;
      });
  return {rate};
}

std::vector<line> redisson_readers(context const& run) {
  line rate{"R4", "256 readers of 1 name at once, cycles/s; floor: R1's",
            target{target::of::ratio, target::side::at_least, 0.80}};
  line requests{"R4", "… requests per cycle"};
  measure_in_turns(
      run, rate, [&] { return outstanding(run, at_once, mutexes(on_redissons_wire())).per_second; },
      [&] {
        auto const found = outstanding(run, at_once, readers_of_one_name());
        requests.own.push_back(found.requests);
        return found.per_second;
      });
  return {rate, requests};
}

}  // namespace holdfast::bench
