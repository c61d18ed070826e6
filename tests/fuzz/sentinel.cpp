// What sentinels reply and announce, and what their views come to. An input is one sentinel's replies after
// the other's, four of each.

#include <array>
#include <string>

#include "fuzz/fuzz.hpp"
#include "topology/known_master.hpp"
#include "topology/sentinel_view.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;
using topology::sentinel_view;
using topology::tie;

constexpr std::array read_in_order{topology::read_id, topology::read_address, topology::read_master,
                                   topology::read_others};

std::vector<sentinel_view> views_in(std::vector<resp::reply> const& replies) {
  std::vector<sentinel_view> all;
  for (std::size_t i = 0; i != replies.size(); ++i) {
    if (i % read_in_order.size() == 0) all.emplace_back();
    static_cast<void>(read_in_order.at(i % read_in_order.size())(replies[i], all.back()));
    for (auto const& name : topology::read_names(replies[i])) {
      require(!name.empty(), "a master has a name");
      require(topology::is_switch(name + " 10.0.0.1 6379 10.0.0.2 6379", name), "its news are its own");
    }
  }
  return all;
}

void check_verdict(std::span<sentinel_view const* const> views,
                   std::optional<net::server_address> const& last, tie rule) {
  auto const found = topology::verdict_of(views, last, rule, 1);
  auto const names_one = [](sentinel_view const* view) { return view->master.has_value(); };
  require(found.has_value() == std::ranges::any_of(views, names_one),
          "there is a verdict where a view names one");
  if (!found) return;
  auto const backs = [&](sentinel_view const* view) {
    return view->master == found->master && view->epoch == found->age.epoch;
  };
  require(std::ranges::any_of(views, backs), "somebody has seen it so");
  for (auto const* const view : views)
    require(!view->master || view->age() <= found->age, "it is the newest");
  std::vector<sentinel_view const*> const backwards{views.rbegin(), views.rend()};
  auto const other = topology::verdict_of(backwards, last, rule, 1);
  require(other && other->age == found->age && other->settled == found->settled, "order makes no difference");
  require(!found->settled || other->master == found->master, "one master has the majority");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const all = views_in(replies_in(text_of(data, size)));
  topology::known_master known;
  time_point now{std::chrono::hours{1}};
  std::optional<net::server_address> last;
  std::vector<sentinel_view const*> views;
  for (auto const& view : all) {
    views.push_back(&view);
    for (auto const rule : {tie::leave, tie::stay}) check_verdict(views, last, rule);
    if (known.hear(view)) {
      require(known.where() == view.master, "a newer view is believed");
      require(!known.hear(view), "it is news once");
    }
    auto const verdict = topology::verdict_of(views, known.where(), tie::stay);
    if (verdict && known.weigh(*verdict, now)) require(known.where() == verdict->master, "so is a verdict");
    now += std::chrono::seconds{3};
    last = view.master;
  }
  static_cast<void>(topology::disagree(views));
  return 0;
}
