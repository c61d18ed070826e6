// Examines several servers in parallel.
#include "doctor/facts.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

namespace holdfast::cli {
namespace {

/// The threads mostly wait; more of them would disturb each other's measurements.
constexpr std::size_t most_threads = 16;

}  // namespace

void at_once(std::size_t const count, std::function<void(std::size_t)> const& task) {
  std::atomic<std::size_t> next{0};
  auto const work = [&] {
    for (auto i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::future<void>> threads;
  threads.reserve(std::min(count, most_threads));
  while (threads.size() != std::min(count, most_threads))
    threads.push_back(std::async(std::launch::async, work));
  for (auto& thread : threads) thread.get();
}

std::vector<examined> examine_all(std::vector<server_to_examine> servers, std::string_view const lock,
                                  probe::deployment_kind const part_of) {
  std::vector<examined> results(servers.size());
  at_once(servers.size(), [&](std::size_t const i) {
    auto& result = results[i];
    result.duty = servers[i].duty;
    result.name = servers[i].name;
    try {
      result.facts = examine(*servers[i].session, lock, part_of);
    } catch (error const& problem) {
      result.failure = problem.what();
      result.failed_with = problem.code();
    }
  });
  return results;
}

}  // namespace holdfast::cli
