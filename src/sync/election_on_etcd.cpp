#include "sync/election_on_etcd.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "etcd/viewer.hpp"
#include "sync/options_check.hpp"

namespace holdfast::sync::on_etcd {
namespace {

using etcd::viewer;

constexpr std::size_t most_candidates = 1000;

}  // namespace

leader_look look_at_leader(engine::core& core, std::string const& name) {
  return read_leader(core.requests().ask_viewer<viewer::leading>(
      [&](viewer& view, viewer::handler<viewer::leading> done) { view.read_leader(name, std::move(done)); }));
}

std::vector<process_info> candidates(engine::core& core, std::string const& name) {
  using leases = std::vector<std::string>;
  auto waiters = core.requests().ask_viewer<leases>([&](viewer& view, viewer::handler<leases> done) {
    view.find_waiters(name, most_candidates, std::move(done));
  });
  std::vector<process_info> all;
  all.reserve(waiters.size());
  for (auto& each : waiters) all.push_back({.owner = std::move(each)});
  return all;
}

bool is_next(engine::core& core, std::string const& name, std::string_view candidate) {
  auto const all = candidates(core, name);
  auto const position = std::ranges::find(all, candidate, &process_info::owner);
  if (position == all.end()) return false;
  auto const before = std::distance(all.begin(), position);
  check(before == 0,
        "the lead of \"" + name + "\" can't go to the candidate " + std::string{candidate} + ": " +
            std::to_string(before) +
            " came before it, and on etcd the order is that of arrival; only the next one can be named");
  return true;
}

}  // namespace holdfast::sync::on_etcd
