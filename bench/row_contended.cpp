// B4 to B7: one name that many want: threads of one process, threads of several, many processes.

#include <fmt/format.h>

#include <stdexcept>

#include "contention.hpp"
#include "redis.hpp"

namespace holdfast::bench {
namespace {

double per(double amount, double handoffs) {
  if (handoffs <= 0) throw std::runtime_error{"nothing was handed over"};
  return amount / handoffs;
}

}  // namespace

std::vector<line> one_process(context const& run) {
  constexpr int threads = 16;
  line rate{"B4", "16 threads of 1 process, 1 name, handoffs/s",
            target{target::of::ratio, target::side::at_least, 0.50}};
  line requests{"B4", "… requests per handoff inside the process", std::nullopt};
  measure_in_turns(
      run, rate, [&] { return contend(run, 1, threads, fifo_contenders()).handoffs; },
      [&] {
        auto const found = contend(run, 1, threads, holdfast_contenders(run.server));
        requests.own.push_back(per(found.requests, found.handoffs));
        return found.handoffs;
      });
  return {rate, requests};
}

std::vector<line> four_processes(context const& run) {
  line rate{"B5", "4 processes × 4 threads, 1 name, handoffs/s; floor: BLPOP",
            target{target::of::ratio, target::side::at_least, 3}};
  line between{"B5", "… of these, between processes"};
  line requests{"B5", "… requests per handoff between processes",
                target{target::of::own, target::side::at_most, 2.2}};
  measure_in_turns(
      run, rate,
      [&] {
        auto const found = contend(run, 4, 4, blpop_contenders(run.server));
        between.floor.push_back(found.process_handoffs);
        requests.floor.push_back(per(found.requests, found.process_handoffs));
        return found.handoffs;
      },
      [&] {
        auto const found = contend(run, 4, 4, holdfast_contenders(run.server));
        between.own.push_back(found.process_handoffs);
        requests.own.push_back(per(found.requests, found.process_handoffs));
        return found.handoffs;
      });
  return {rate, between, requests};
}

std::vector<line> fair_processes(context const& run) {
  line gap{"B6", "fair, 2 processes: let go here to held there, p50 µs; floor: PING",
           target{target::of::ratio, target::side::at_most, 1.5}};
  measure_in_turns(
      run, gap, [&] { return in_child([&] { return ping_us(run.server.port()); }); },
      [&] { return contend(run, 2, 1, fair_holdfast_contenders(run.server)).gap_us; });
  std::vector<line> lines{gap};
  if (run.options.measured == sides::floor) return lines;
  for (int const processes : {2, 8, 64}) {
    line requests{"B6", fmt::format("fair, {} processes, requests per handoff", processes),
                  target{target::of::own, target::side::at_most, 2.2}};
    line messages{"B6", fmt::format("fair, {} processes, messages per handoff", processes),
                  target{target::of::own, target::side::at_most, 1.01}};
    line rate{"B6", fmt::format("fair, {} processes, handoffs/s", processes)};
    measure_in_turns(run, rate, nullptr, [&] {
      auto const found = contend(run, processes, 1, fair_holdfast_contenders(run.server));
      requests.own.push_back(per(found.requests, found.process_handoffs));
      messages.own.push_back(per(found.messages, found.process_handoffs));
      return found.process_handoffs;
    });
    lines.insert(lines.end(), {requests, messages, rate});
  }
  return lines;
}

std::vector<line> waiting_processes(context const& run) {
  if (run.options.measured == sides::floor) return {};
  std::vector<line> requests;
  std::vector<line> messages;
  std::vector<line> rates;
  for (int processes = 2; processes <= run.options.processes; processes *= 4) {
    requests.push_back({"B7", fmt::format("{} processes waiting, requests per handoff", processes)});
    messages.push_back({"B7", fmt::format("{} processes waiting, messages per handoff", processes)});
    rates.push_back({"B7", fmt::format("{} processes waiting, handoffs/s", processes)});
    measure_in_turns(run, rates.back(), nullptr, [&] {
      auto const found = contend(run, processes + 1, 1, polite_holdfast_contenders(run.server));
      requests.back().own.push_back(per(found.requests, found.process_handoffs));
      messages.back().own.push_back(per(found.messages, found.process_handoffs));
      return found.process_handoffs;
    });
  }
  target const flat{target::of::own, target::side::at_most, 10};
  line const flat_requests{"B7", "farthest from the middle, requests, %", flat, {}, {unevenness(requests)}};
  line const flat_messages{"B7", "farthest from the middle, messages, %", flat, {}, {unevenness(messages)}};

  std::vector<line> lines{flat_requests, flat_messages};
  for (auto const* group : {&requests, &messages, &rates})
    lines.insert(lines.end(), group->begin(), group->end());
  return lines;
}

}  // namespace holdfast::bench
