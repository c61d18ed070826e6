/// The storm: random locks in many processes, on all kinds of deployments, under random faults. The judge
/// reads what the clients have written (docs/reliability.md).
#include "arena.hpp"
#include "soak.hpp"
#include "worker.hpp"

#include "judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;

constexpr auto usage = R"(storm [--seconds N] [--seed S] [--only TEXT] [--folder FOLDER] [--list] [--soak]
  --seconds N   how long (default: 90); in rounds of 120 s at most. Round r has the seed S + r
  --seed S      of all choices (default: a random one, which is printed)
  --only TEXT   only deployments whose name has TEXT in it
  --folder F    for the histories (default: a new one in /tmp); those of a round that passed are removed
  --list        the deployments, and what can't be had here
  --soak        clients that last, for half of the time (default: 3600) without faults, for half with: what
                they take of memory and descriptors has to stay what it is
Prints counts, and what was broken. The last line is "N passed, N failed": deployments, in each round.)";
constexpr auto longest_round = 120s;
constexpr std::chrono::seconds usual_storm = 90s;
constexpr std::chrono::seconds shortest_storm = 5s;
constexpr std::chrono::seconds usual_soak = 1h;
constexpr std::chrono::seconds shortest_soak = 20s;

struct options {
  std::optional<std::chrono::seconds> time{};
  std::uint64_t seed = std::random_device{}();
  std::string only{};
  std::filesystem::path folder{};
  bool list = false;
  bool soak = false;
};

/// The words can't be understood.
class misused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class Number>
Number number_of(std::string_view option, std::string_view text) {
  Number result{};
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (problem != std::errc{} || end != text.data() + text.size())
    throw misused{fmt::format("{}: \"{}\" is not such a number", option, text)};
  return result;
}

options read(std::vector<std::string> const& words) {
  options result;
  for (std::size_t i = 0; i != words.size(); ++i) {
    auto const& option = words[i];
    if (option == "--list" || option == "--soak") {
      (option == "--list" ? result.list : result.soak) = true;
      continue;
    }
    if (option != "--seconds" && option != "--seed" && option != "--only" && option != "--folder")
      throw misused{fmt::format("there is no option {}", option)};
    if (++i == words.size()) throw misused{option + " lacks its value"};
    auto const& value = words[i];
    if (option == "--seconds") result.time = std::chrono::seconds{number_of<std::int64_t>(option, value)};
    if (option == "--seed") result.seed = number_of<std::uint64_t>(option, value);
    if (option == "--only") result.only = value;
    if (option == "--folder") result.folder = value;
  }
  if (!result.time) result.time = result.soak ? usual_soak : usual_storm;
  auto const shortest = result.soak ? shortest_soak : shortest_storm;
  if (*result.time < shortest)
    throw misused{
        fmt::format("--seconds: {} are too few, at least {}", result.time->count(), shortest.count())};
  return result;
}

std::string counts_text(std::map<std::string, std::int64_t> const& counts) {
  std::string text;
  for (auto const& [name, count] : counts)
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, count);
  return text;
}

void print(arena_result const& result) {
  std::cout << fmt::format(
                   "\n{}: {}\n  judged: {} acquisitions, {} waits, {} lines; documented {}; violations {}\n",
                   result.name, result.problems.empty() ? "all was kept" : "FAILED", result.leases,
                   result.waits, result.lines, result.documented, result.violations)
            << "  used: " << counts_text(result.done) << "\n  also: " << counts_text(result.other)
            << "\n  faults: " << counts_text(result.faults) << '\n';
  for (auto const& problem : result.problems) std::cout << "  " << problem << '\n';
  std::cout.flush();
}

struct totals {
  int passed = 0;
  int failed = 0;
  std::size_t leases = 0;
  std::size_t waits = 0;
  std::size_t documented = 0;
  std::int64_t faults = 0;
};

/// The same on each machine (FNV-1a).
std::uint64_t seed_of(std::uint64_t seed, std::string_view name) {
  auto result = 0xcbf29ce484222325U ^ seed;
  for (auto const c : name) result = (result ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return result;
}

/// All deployments at once, each in a thread: its servers and workers end with it.
void run_round(std::vector<terrain> const& where, std::uint64_t seed, std::chrono::seconds time,
               std::filesystem::path const& folder, totals& sum) {
  std::cout << fmt::format("\n=== {} s of storm, seed {}\n", time.count(), seed);
  std::cout.flush();
  std::vector<arena_result> results(where.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != where.size(); ++i) {
    // By the name, so that --only doesn't change what its seed means.
    auto const own_seed = seed_of(seed, where[i].name);
    threads.emplace_back(
        [&, i, own_seed] { results[i] = run_arena(where[i], own_seed, time, folder / where[i].name); });
  }
  for (auto& each : threads) each.join();
  for (std::size_t i = 0; i != where.size(); ++i) {
    auto const& result = results[i];
    print(result);
    auto const fine = result.problems.empty();
    ++(fine ? sum.passed : sum.failed);
    if (fine)
      std::filesystem::remove_all(folder / result.name);
    else
      std::cout << fmt::format(
          "  the histories are in {}; again: ./check {}storm --seconds {} --seed {} --only '{}'\n",
          (folder / result.name).string(), where[i].kinds == "etcd" ? "etcd " : "", time.count(), seed,
          result.name);
    sum.leases += result.leases;
    sum.waits += result.waits;
    sum.documented += result.documented;
    for (auto const& [name, count] : result.faults) sum.faults += count;
  }
}

std::filesystem::path folder_for_histories() {
  std::string pattern{"/tmp/holdfast-storm-XXXXXX"};
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no folder can be made in /tmp"};
  return pattern;
}

int run(options how) {
  auto where = all_terrains();
  std::erase_if(where, [&how](terrain const& each) { return each.name.find(how.only) == std::string::npos; });
  for (auto const& each : where) {
    if (!each.lacking.empty())
      std::cout << fmt::format("left out: {}, since {}\n", each.name, each.lacking);
    else if (how.list)
      std::cout << each.name << '\n';
  }
  std::erase_if(where, [](terrain const& each) { return !each.lacking.empty(); });
  if (how.list) return 0;
  if (where.empty()) {
    std::cout << "no deployment has that name; --list shows them\n0 passed, 1 failed\n";
    return 1;
  }
  auto const own_folder = how.folder.empty();
  if (own_folder) how.folder = folder_for_histories();
  if (how.soak) {
    auto const code = run_soak(where, how.seed, *how.time, how.folder);
    if (own_folder) std::filesystem::remove_all(how.folder);
    return code;
  }
  totals sum;
  auto round = std::uint64_t{0};
  for (auto left = *how.time; left > 0s; ++round) {
    auto const time = std::min<std::chrono::seconds>(left, longest_round);
    run_round(where, how.seed + round, time, how.folder / std::to_string(how.seed + round), sum);
    std::error_code ignored;
    std::filesystem::remove(how.folder / std::to_string(how.seed + round), ignored);  // if it is empty
    left -= time;
  }
  if (own_folder && sum.failed == 0) std::filesystem::remove_all(how.folder);
  std::cout << fmt::format(
      "\nseeds {} to {}: {} acquisitions and {} waits judged, {} faults, {} documented\n"
      "{} passed, {} failed\n",
      how.seed, how.seed + round - 1, sum.leases, sum.waits, sum.faults, sum.documented, sum.passed,
      sum.failed);
  return sum.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::storm

int main(int argc, char** argv) {
  holdfast::storm::run_worker_if_requested(argc, argv);
  ::signal(SIGPIPE, SIG_IGN);
  holdfast::judging::allow_many_files();
  try {
    return holdfast::storm::run(holdfast::storm::read({argv + 1, argv + argc}));
  } catch (holdfast::storm::misused const& problem) {
    std::cerr << "storm: " << problem.what() << '\n' << holdfast::storm::usage << '\n';
    return 64;
  } catch (std::exception const& problem) {
    std::cout << problem.what() << "\n0 passed, 1 failed\n";
    return 1;
  }
}
