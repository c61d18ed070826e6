// B1: one thread, one free lock, one cycle after the other.

#include <fmt/format.h>

#include <holdfast/mutex.hpp>

#include "exclusive_commands.hpp"
#include "process.hpp"
#include "redis.hpp"
#include "rows.hpp"
#include "timing.hpp"

namespace holdfast::bench {
namespace {

constexpr auto name = "bench:uncontended";

double bare_us(context const& run, wire_commands wire) {
  connection redis{run.server.port()};
  auto const commands = wire(redis)(name, fmt::format("{:036}:1", 1));
  return median_us(run.measured_time(), [&] {
    redis.call(commands.acquire);
    redis.call(commands.release);
  });
}

double holdfast_us(context const& run) {
  client redis{run.server.url()};
  mutex lock{redis, name};
  return median_us(run.measured_time(), [&] {
    lock.lock();
    lock.unlock();
  });
}

}  // namespace

std::vector<line> uncontended(context const& run) {
  line result{"B1", "lock + unlock, 1 thread, p50 µs",
              target{target::of::ratio, target::side::at_most, 1.05}};
  measure_in_turns(
      run, result, [&] { return in_child([&] { return bare_us(run, naive_commands); }); },
      [&] { return in_child([&] { return holdfast_us(run); }); },
      [&] { return in_child([&] { return bare_us(run, library_commands); }); });
  return {result};
}

}  // namespace holdfast::bench
