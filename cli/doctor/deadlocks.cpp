#include "doctor/deadlocks.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "server/choice.hpp"
#include "show/json.hpp"
#include "show/lock_json.hpp"

#include <holdfast/client.hpp>
#include <holdfast/deadlock.hpp>

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

json circle_json(deadlock_info const& found) {
  auto circle = json::list();
  for (auto const& waiting : found.circle) {
    json each;
    each.set("waiter", to_json(waiting.process));
    each.set("waited_ms", std::chrono::duration_cast<std::chrono::milliseconds>(waiting.waited).count());
    each.set("name", waiting.name).set("holder", to_json(waiting.holder));
    circle.add(std::move(each));
  }
  return circle;
}

}  // namespace

std::string deadlocks_json(std::string_view const server, std::vector<deadlock_info> const& all) {
  auto list = json::list();
  for (auto const& found : all) list.add(circle_json(found));
  return json{}.set("server", server).set("deadlocks", std::move(list)).line();
}

int report_deadlocks(common_options const& common, bool const json_wanted) {
  client redis{find_locks_server(common), {.name = "holdfast-doctor", .log = output::hook()}};
  auto const all = find_deadlocks(redis);
  if (json_wanted) {
    print_line(deadlocks_json(redis.url(), all));
  } else {
    for (auto const& found : all) print_line(fmt::format("deadlock: {}", found.to_string()));
    if (all.empty()) print_line("no deadlock among the threads that look for one");
  }
  return all.empty() ? ok : unfit;
}

}  // namespace holdfast::cli
