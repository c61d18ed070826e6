#include "soak.hpp"

#include "crowd.hpp"
#include "schedule.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto workers = 2;
constexpr auto step = 20ms;
constexpr auto between_samples = 1s;
constexpr auto calm = 3s;  ///< after the last fault
constexpr double most_change = 0.02;
constexpr double kib_in_a_page = 4;
/// For each process: a few pages, and a connection that is being made.
constexpr auto grain_of_memory = workers * 32 * kib_in_a_page;
constexpr double grain_of_descriptors = workers;

struct phase {
  std::vector<sample> samples{};
  std::int64_t acquisitions = 0;
};

struct soak_result {
  phase without_faults{};
  phase with_faults{};
  std::map<std::string, std::int64_t> faults{};
  std::vector<std::string> problems{};
};

/// Empty: one of them hasn't measured itself yet.
std::optional<sample> taken_now(board_content const& content) {
  sample sum;
  for (auto worker = 0; worker != workers; ++worker) {
    auto const& own = content.usages.at(static_cast<std::size_t>(worker));
    if (own.kib == 0) return std::nullopt;
    sum.kib += static_cast<double>(own.kib);
    sum.descriptors += static_cast<double>(own.descriptors);
  }
  return sum;
}

std::int64_t acquisitions(board_content const& content) {
  return std::accumulate(content.done.begin(), content.done.end(), std::int64_t{0},
                         [](std::int64_t sum, auto const& each) { return sum + each.load(); });
}

/// `weather`: null without faults.
phase watch(crowd& people, deployment& servers, schedule* weather, std::chrono::seconds time) {
  phase result;
  auto const before = acquisitions(people.content());
  auto next = clock::now();
  for (auto const end = next + time; clock::now() < end; std::this_thread::sleep_for(step)) {
    if (weather != nullptr) weather->step();
    people.look();
    servers.look();
    if (clock::now() < next) continue;
    next = clock::now() + between_samples;
    if (auto const now = taken_now(people.content())) result.samples.push_back(*now);
  }
  result.acquisitions = acquisitions(people.content()) - before;
  return result;
}

soak_result soak_on(terrain const& where, std::uint64_t seed, std::chrono::seconds half,
                    std::filesystem::path const& folder) {
  soak_result result;
  std::filesystem::create_directories(folder);
  dice choices{seed};
  try {
    auto const servers = where.make();
    crowd people{{.folder = folder,
                  .workers = workers,
                  .kinds = where.kinds,
                  .lasting = true,
                  .url = [&](int worker) { return servers->url(worker); }},
                 dice{choices.seed()}};
    result.without_faults = watch(people, *servers, nullptr, half);
    auto faults = servers->faults();
    std::ranges::move(pauses_of(people), std::back_inserter(faults));
    schedule weather{std::move(faults), dice{choices.seed()}, folder / "faults"};
    result.with_faults = watch(people, *servers, &weather, half);
    weather.end_all();
    servers->heal();
    (void)watch(people, *servers, nullptr, calm);
    people.finish();
    result.faults = weather.counts();
    result.problems = people.problems();
    if (people.content().broken != 0 && where.keeps)
      result.problems.emplace_back("writes of holders with a valid lease were refused");
  } catch (std::exception const& problem) {
    result.problems.push_back(std::string{"the deployment broke down: "} + problem.what());
  }
  return result;
}

std::string cell(course const& of, double grain) {
  return fmt::format("{:>9.0f} {:>9.0f} {:>+6.1f} %{}", of.third, of.last, 100 * of.change(),
                     of.is_flat(grain) ? ' ' : '!');
}

/// One row. Whether both quantities are flat.
bool print(std::string const& name, std::string const& how, phase const& of) {
  if (of.samples.empty() || of.acquisitions == 0) {
    std::cout << fmt::format("{:<32} {:<8} nothing was measured\n", name, how);
    return false;
  }
  auto const memory = course_of(of.samples, &sample::kib);
  auto const files = course_of(of.samples, &sample::descriptors);
  std::cout << fmt::format("{:<32} {:<8} {:>12} {} {}\n", name, how, of.acquisitions,
                           cell(memory, grain_of_memory), cell(files, grain_of_descriptors));
  return memory.is_flat(grain_of_memory) && files.is_flat(grain_of_descriptors);
}

}  // namespace

bool course::is_flat(double grain) const {
  return std::abs(change()) <= most_change || std::abs(last - third) <= grain;
}

course course_of(std::span<sample const> all, double sample::* quantity) {
  auto const mean = [quantity](std::span<sample const> some) {
    double sum = 0;
    for (auto const& each : some) sum += each.*quantity;
    return some.empty() ? 0 : sum / static_cast<double>(some.size());
  };
  auto const half = all.subspan(all.size() / 2);
  return {.third = mean(half.first(half.size() / 2)), .last = mean(half.subspan(half.size() / 2))};
}

int run_soak(std::vector<terrain> const& where, std::uint64_t seed, std::chrono::seconds time,
             std::filesystem::path const& folder) {
  std::cout << fmt::format("=== {} s of soak, seed {}: {} clients in processes that last\n", time.count(),
                           seed, workers);
  std::cout.flush();
  std::vector<soak_result> results(where.size());
  std::vector<std::thread> threads;
  threads.reserve(where.size());
  for (std::size_t i = 0; i != where.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = soak_on(where[i], seed + i, time / 2, folder / where[i].name); });
  }
  for (auto& each : threads) each.join();
  auto passed = 0;
  auto failed = 0;
  std::cout << fmt::format("{:<32} {:<8} {:>12} {:<29} {}\n", "Means of the last two quarters", "faults",
                           "acquisitions", " memory of the clients in KiB", " their descriptors");
  for (std::size_t i = 0; i != where.size(); ++i) {
    auto const& result = results[i];
    std::int64_t faults = 0;
    for (auto const& [name, count] : result.faults) faults += count;
    auto const calm_is_flat = print(where[i].name, "none", result.without_faults);
    auto const storm_is_flat = print(where[i].name, std::to_string(faults), result.with_faults);
    for (auto const& problem : result.problems) std::cout << "  " << problem << '\n';
    ++(calm_is_flat && storm_is_flat && result.problems.empty() ? passed : failed);
  }
  std::cout << fmt::format("! marks what changed by more than {:.0f} %\n{} passed, {} failed\n",
                           100 * most_change, passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace holdfast::storm
