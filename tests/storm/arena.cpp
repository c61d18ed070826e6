#include "arena.hpp"

#include "crowd.hpp"
#include "deeds.hpp"
#include "schedule.hpp"

#include "judge/judge.hpp"
#include "support/redis_server.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

namespace holdfast::storm {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto calm = 3s;         ///< without faults, at the end
constexpr auto to_be_free = 20s;  ///< after all have ended
constexpr auto step = 20ms;

int somebody(crowd const& people, dice& by) { return static_cast<int>(by.between(0, people.size() - 1)); }

/// Whether each name can be had when all have gone: nothing is left behind.
std::string what_is_left(deployment const& servers, std::string const& kinds) {
  client redis{servers.url(0), {.name = "storm", .log = [](log_level, std::string_view) {}}};
  std::string left;
  for (std::size_t i = 0; i != fenced_kinds.size() * names_of_a_kind; ++i) {
    auto const kind = fenced_kinds.at(i / names_of_a_kind);
    auto const lock = name_of(kind, static_cast<std::int64_t>(i % names_of_a_kind));
    auto const voted = kind == "quorum";
    if (voted != (kinds == "quorum")) continue;
    auto const end = clock::now() + to_be_free;
    std::string why{"it is held"};
    auto free = false;
    while (!free && clock::now() < end) {
      try {
        free = voted ? quorum_mutex{redis, lock}.try_acquire_for(5s).has_value()
                     : mutex{redis, lock}.try_acquire_for(5s).has_value();
      } catch (error const& problem) {
        why = problem.what();
      }
    }
    if (!free) left.append(lock).append(" can't be had when all have gone: ").append(why).append("\n");
  }
  return left;
}

std::string text_of(judging::findings const& all, judging::tables const& known) {
  std::string text;
  all.for_each_promise([&](judging::promise broken, std::size_t count, judging::finding const& shortest) {
    text += std::string{judging::word_of(broken)} + ", " + std::to_string(count) + " times: " + shortest.text;
    for (auto const& at : shortest.excerpt) {
      text += "\n      " + judging::time_text(at.t - shortest.excerpt.front().t) + "  " +
              known.clients[at.client].uuid.substr(0, 8) + "  " + at.text + "  (" +
              std::filesystem::path{known.files[at.file]}.filename().string() + ':' +
              std::to_string(at.line) + ')';
    }
    text += '\n';
  });
  return text;
}

void add_lines(std::vector<std::string>& to, std::string const& text, std::string const& title) {
  if (!text.empty()) to.push_back(title + text.substr(0, text.size() - 1));
}

/// No fault makes a server end that nobody has ended.
void look_at(deployment& servers, std::vector<std::string>& problems) {
  servers.look();
  for (auto* const each : servers.servers()) {
    auto const how = each->unasked_end();
    if (how.empty()) continue;
    problems.push_back("a server broke down: " + how);
    each->start();
  }
}

void judge_into(arena_result& result, crowd const& people, terrain const& where) {
  try {
    judging::judge all{people.histories(), {.slack = std::chrono::nanoseconds{where.slack}.count()}};
    all.run();
    auto const& found = all.result();
    result.lines = all.lines();
    result.leases = found.leases;
    result.waits = found.waits;
    result.violations = found.violations.count();
    result.documented = found.documented.count();
    add_lines(result.problems, text_of(found.violations, all.known()), "violated: ");
    if (where.keeps)
      add_lines(result.problems, text_of(found.documented, all.known()),
                "not kept, though no server lost anything: ");
  } catch (std::exception const& problem) {
    result.problems.push_back(std::string{"the judge can't read a history: "} + problem.what());
  }
}

void count_into(arena_result& result, crowd const& people, bool keeps) {
  auto const& content = people.content();
  for (std::size_t i = 0; i != deed_words.size(); ++i) {
    if (auto const count = content.done.at(i).load(); count != 0)
      result.done[std::string{deed_words.at(i)}] = count;
  }
  result.other = {{"busy", content.busy},         {"refused", content.refused},
                  {"lost", content.lost},         {"fenced writes", content.writes},
                  {"late writes", content.stale}, {"exit()", content.exits},
                  {"fork()", content.forks}};
  if (content.broken != 0) {
    auto const text = std::to_string(content.broken) + " writes of holders with a valid lease were refused";
    if (keeps)
      result.problems.push_back(text);
    else
      result.other["writes refused to valid leases"] = content.broken;
  }
  if (result.done.empty()) result.problems.emplace_back("no lock was acquired at all");
  if (!people.store_refuses_older_tokens())
    result.problems.emplace_back("the store made a write with an older token");
}

}  // namespace

std::vector<terrain> all_terrains() {
  auto all = terrains_of_one_server();
  std::ranges::move(terrains_of_several_servers(), std::back_inserter(all));
  std::ranges::move(terrains_of_etcd(), std::back_inserter(all));
  return all;
}

std::vector<fault> pauses_of(crowd& people) {
  auto const freeze = [&people](dice& by, std::chrono::milliseconds least, std::chrono::milliseconds most) {
    auto const worker = somebody(people, by);
    people.freeze(worker);
    return ending{by.between(least, most), [&people, worker] { people.thaw(worker); }};
  };
  // The judge can't tell a pause of 2.0 to 2.5 s from none.
  return {{"SIGSTOP, short", "clients", [freeze](dice& by) { return freeze(by, 200ms, 1'500ms); }},
          {"SIGSTOP past the ttl", "clients", [freeze](dice& by) { return freeze(by, 3'000ms, 6'000ms); }}};
}

std::vector<fault> faults_of(crowd& people) {
  std::vector<fault> all{{"SIGKILL", "clients", [&people](dice& by) {
                            people.kill(somebody(people, by));
                            return ending{};
                          }}};
  std::ranges::move(pauses_of(people), std::back_inserter(all));
  return all;
}

arena_result run_arena(terrain const& where, std::uint64_t seed, std::chrono::seconds time,
                       std::filesystem::path const& folder) {
  arena_result result{.name = where.name};
  std::filesystem::create_directories(folder);
  dice choices{seed};
  std::vector<std::string> broken;
  try {
    auto const servers = where.make();
    crowd people{
        {.folder = folder, .kinds = where.kinds, .url = [&](int worker) { return servers->url(worker); }},
        dice{choices.seed()}};
    auto faults = servers->faults();
    std::ranges::move(faults_of(people), std::back_inserter(faults));
    schedule weather{std::move(faults), dice{choices.seed()}, folder / "faults"};
    for (auto const end = clock::now() + time; clock::now() < end;) {
      weather.step();
      people.look();
      look_at(*servers, broken);
      std::this_thread::sleep_for(step);
    }
    weather.end_all();
    servers->heal();
    for (auto const end = clock::now() + calm; clock::now() < end; std::this_thread::sleep_for(step)) {
      people.look();
      look_at(*servers, broken);
    }
    people.finish();
    result.faults = weather.counts();
    result.problems = people.problems();
    add_lines(result.problems, what_is_left(*servers, where.kinds), "");
    look_at(*servers, broken);
    std::ranges::move(broken, std::back_inserter(result.problems));
    add_lines(result.problems, servers->left_behind(), "left behind: ");
    count_into(result, people, where.keeps);
    judge_into(result, people, where);
  } catch (std::exception const& problem) {
    result.problems.push_back(std::string{"the arena broke down: "} + problem.what());
  }
  return result;
}

}  // namespace holdfast::storm
