#include <holdfast/deadlock.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "engine/access.hpp"
#include "engine/deadlock/circle.hpp"
#include "inspect/search.hpp"
#include "script/names.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using engine::blocked_hold;
using engine::blocked_holds;
using engine::blocked_wait;
using engine::suspicion;

/// Each wait is said once a second; what isn't sure after so many looks isn't a circle any more.
constexpr auto between_readings = 100ms;
constexpr int most_readings = 150;

/// What the threads wait for that hold these locks, as of one reading of all.
class reading {
 public:
  explicit reading(engine::core& server) : server_{server} {}
  void begin_anew() { known_.clear(); }

  void look_at_all(std::vector<std::string> names) {
    // Of such a name no cluster has a lock, but anybody may say that a thread waits for it.
    if (server_.constants().deployment.slots)
      std::erase_if(names, [](std::string const& name) { return !names::fits_in_a_slot(name); });
    std::vector<call> questions;
    questions.reserve(names.size());
    for (auto const& name : names) questions.push_back(engine::look_at_holders(name));
    if (names.empty()) return;
    auto const replies = inspection::ask_all(server_, questions, names.front());
    for (std::size_t i = 0; i != names.size(); ++i)
      known_[names[i]] = engine::read_blocked_holds(names[i], replies[i]);
  }
  [[nodiscard]] std::map<std::string, blocked_wait> waits() const {
    std::map<std::string, blocked_wait> all;
    for (auto const& [name, found] : known_) {
      for (auto const& hold : found.all) all.emplace(hold.wait.id, hold.wait);
    }
    return all;
  }
  [[nodiscard]] std::vector<blocked_hold> circle_from(blocked_wait const& start) {
    engine::circle_search search{start};
    while (auto const name = search.next()) search.found(at(*name).all);
    return search.circle();
  }
  blocked_holds const& at(std::string const& name) {
    if (!known_.contains(name)) look_at_all({name});
    return known_[name];
  }

 private:
  engine::core& server_;
  std::map<std::string, blocked_holds> known_;
};

/// The locks beside which somebody says for what it waits.
std::vector<std::string> locks_of_waiting_threads(engine::core& server) {
  static constexpr std::string_view mark{":holdfast_blocked:"};
  static constexpr auto kind = mark.substr(0, mark.size() - 1);
  std::set<std::string> names;
  inspection::search::visitor const no_visitor;
  inspection::search query{server, "*", no_visitor};
  query.scan("*" + std::string{mark} + "*", {}, [&names](inspection::search::keys const& page) {
    for (auto const& key : page) {
      auto const at = key.rfind(mark);
      auto name = inspection::lock_of(std::string_view{key}.substr(0, at + kind.size()), kind);
      if (!name.empty()) names.insert(std::move(name));
    }
    return true;
  });
  return {names.begin(), names.end()};
}

bool is_youngest_of(blocked_wait const& wait, std::vector<blocked_hold> const& circle) {
  return std::ranges::none_of(circle,
                              [&wait](blocked_hold const& hold) { return hold.wait.younger_than(wait); });
}

deadlock_info describe(blocked_wait const& first, std::vector<blocked_hold> const& circle, reading& seen) {
  deadlock_info found;
  auto const* waiting = &first;
  for (auto const& hold : circle) {
    found.circle.push_back({.process = {.owner = waiting->id},
                            .name = hold.name,
                            .holder = {.owner = hold.owner},
                            .waited = std::max(seen.at(hold.name).now - waiting->since, 0us)});
    waiting = &hold.wait;
  }
  return found;
}

void name_processes(std::vector<deadlock_info>& all, engine::core& server) {
  std::vector<process_info*> processes;
  for (auto& each : all) {
    for (auto& waiting : each.circle) {
      processes.push_back(&waiting.process);
      processes.push_back(&waiting.holder);
    }
  }
  if (!all.empty()) inspection::directory{server}.complete(processes, all.front().circle.front().name);
}

}  // namespace

std::vector<deadlock_info> find_deadlocks(client& redis) {
  auto const server = engine::access::core_of(redis);
  server->constants().check_kind(engine::deciders::one);
  reading seen{*server};
  seen.look_at_all(locks_of_waiting_threads(*server));
  auto suspects = seen.waits();
  std::erase_if(suspects, [&seen](auto const& each) {
    auto const circle = seen.circle_from(each.second);
    return circle.empty() || !is_youngest_of(each.second, circle);
  });
  std::map<std::string, suspicion> suspicions;
  std::vector<deadlock_info> all;
  for (auto left = most_readings; !suspects.empty() && left > 0; --left) {
    auto again = false;
    std::erase_if(suspects, [&](auto const& each) {
      auto const& [id, wait] = each;
      auto const circle = seen.circle_from(wait);
      switch (suspicions[id].judge(circle, id, suspicion::reader::looks_at_it)) {
        case suspicion::step::certain:
          all.push_back(describe(wait, circle, seen));
          return true;
        case suspicion::step::none:
          return true;
        case suspicion::step::read_again:
          again = true;
          break;
        case suspicion::step::wait:
          break;
      }
      return false;
    });
    if (suspects.empty()) break;
    if (!again) std::this_thread::sleep_for(between_readings);
    seen.begin_anew();
  }
  name_processes(all, *server);
  return all;
}

}  // namespace holdfast
