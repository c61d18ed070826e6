// Several servers at once.
#include "doctor_facts.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

namespace holdfast::cli {
namespace {

/// Each waits most of its time; more would only disturb each other's measurements.
constexpr std::size_t most_threads = 16;

}  // namespace

void at_once(std::size_t const count, std::function<void(std::size_t)> const& one) {
  std::atomic<std::size_t> next{0};
  auto const work = [&] {
    for (auto i = next++; i < count; i = next++) one(i);
  };
  std::vector<std::future<void>> threads;
  threads.reserve(std::min(count, most_threads));
  while (threads.size() != std::min(count, most_threads))
    threads.push_back(std::async(std::launch::async, work));
  for (auto& one_thread : threads) one_thread.get();
}

std::vector<examined> examine_all(std::vector<server_to_examine> servers, std::string_view const lock,
                                  deployment_kind const part_of) {
  std::vector<examined> results(servers.size());
  at_once(servers.size(), [&](std::size_t const i) {
    auto& to = results[i];
    to.duty = servers[i].duty;
    to.name = servers[i].name;
    try {
      to.facts = examine(*servers[i].session, lock, part_of);
    } catch (error const& problem) {
      to.failure = problem.what();
      to.failed_with = problem.code();
    }
  });
  return results;
}

}  // namespace holdfast::cli
