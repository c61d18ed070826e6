#include "doctor/cluster_facts.hpp"

#include "base/whole_number.hpp"
#include "doctor/facts.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace holdfast::cli {
namespace {

/// Takes the addresses for clients, which may differ from those that nodes use among themselves, by node id.
void take_announced(probe::reply const& slots, probe::server_address const& asked,
                    std::vector<cluster_node>& nodes) {
  constexpr std::size_t first_node = 2;
  for (auto const& range : slots.parts) {
    for (std::size_t i = first_node; i < range.parts.size(); ++i) {
      auto const& announced = range.parts[i].parts;
      if (announced.size() < 3) continue;
      auto const node = std::ranges::find(nodes, announced[2].text, &cluster_node::id);
      auto const port = whole_number(announced[1].text);
      if (node == nodes.end() || !port) continue;
      // An empty host stands for the node that was asked.
      node->name = {announced[0].text.empty() ? asked.host : announced[0].text,
                    static_cast<std::uint16_t>(*port)};
    }
  }
}

void ask(cluster_view& view, probe::server_session& session) {
  auto const info = session.ask({"CLUSTER", "INFO"});
  if (info.refused) {
    view.in_cluster = info.text.find("cluster support disabled") == std::string::npos &&
                      info.text.find("unknown command") == std::string::npos;
    view.failure = refusal_of("CLUSTER INFO", info);
    return;
  }
  view.state = info_text{info.text}.text("cluster_state");
  auto const nodes = session.ask({"CLUSTER", "NODES"});
  auto const slots = session.ask({"CLUSTER", "SLOTS"});
  if (nodes.refused || slots.refused) {
    view.failure = nodes.refused ? refusal_of("CLUSTER NODES", nodes) : refusal_of("CLUSTER SLOTS", slots);
    return;
  }
  view.nodes = read_nodes(nodes.text);
  for (auto& node : view.nodes) {
    if (node.name.host.empty() && node.asked_here)
      node.name.host = view.name.host;  // the node does not know its own address
  }
  take_announced(slots, view.name, view.nodes);
}

std::vector<cluster_view> ask_all(std::vector<probe::server_address> const& names,
                                  std::vector<std::unique_ptr<probe::server_session>> const& sessions) {
  std::vector<cluster_view> views(names.size());
  at_once(names.size(), [&](std::size_t const i) {
    views[i].name = names[i];
    try {
      ask(views[i], *sessions[i]);
    } catch (error const& problem) {
      views[i].failure = problem.what();
      views[i].failed_with = problem.code();
    }
  });
  return views;
}

/// The most complete view: a node that is cut off from the others knows less.
std::vector<cluster_node> best_list_of(std::vector<cluster_view> const& views) {
  std::vector<cluster_node> best;
  for (auto const& view : views) {
    if (view.state == "ok") return view.nodes;
    if (view.nodes.size() > best.size()) best = view.nodes;
  }
  return best;
}

server_duty duty_of(cluster_node const& node) {
  if (!node.is_master) return server_duty::stand_by;
  return node.slots.empty() ? server_duty::spare : server_duty::serving;
}

}  // namespace

cluster_facts examine_cluster(probe::named_servers const& deployment, std::string_view const lock) {
  std::vector<std::unique_ptr<probe::server_session>> to_hosts;
  to_hosts.reserve(deployment.hosts().size());
  for (std::size_t i = 0; i < deployment.hosts().size(); ++i) to_hosts.push_back(deployment.to_host(i));
  cluster_facts facts{.hosts = ask_all(deployment.hosts(), to_hosts)};
  facts.nodes = best_list_of(facts.hosts);

  std::vector<probe::server_address> names;
  std::vector<std::unique_ptr<probe::server_session>> sessions;
  std::vector<server_duty> duties;
  for (auto const& node : facts.nodes) {
    if (node.condition == cluster_node::health::failed ||
        node.condition == cluster_node::health::without_address)
      continue;
    names.push_back(node.name);
    sessions.push_back(deployment.to_announced(node.name));
    sessions.back()->use_slots(node.slots);
    duties.push_back(duty_of(node));
  }
  facts.views = ask_all(names, sessions);
  std::vector<server_to_examine> servers;
  servers.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    servers.push_back({duties[i], names[i], std::move(sessions[i])});
  }
  facts.servers = examine_all(std::move(servers), lock, probe::deployment_kind::cluster);
  return facts;
}

}  // namespace holdfast::cli
