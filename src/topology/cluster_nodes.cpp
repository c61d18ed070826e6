#include "topology/cluster_nodes.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::topology {
namespace {

/// With so many reachable masters, replicas and the URL's hosts aren't asked for the slots.
constexpr std::ptrdiff_t masters_enough = 6;

/// Longer than the last handlers of a retired node's connections can take.
constexpr std::chrono::seconds retirement{1};

}  // namespace

cluster_nodes::cluster_nodes(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
                             client_stats& counts, cluster_node::events handlers)
    : loop_{loop}, url_{url}, config_{config}, counts_{counts}, events_{std::move(handlers)} {}

cluster_node& cluster_nodes::at(net::endpoint endpoint, std::string advice) {
  auto const name = net::host_and_port(endpoint.host, endpoint.port);
  if (auto* const known = find(name)) return *known;
  auto config = config_;
  config.server = std::move(endpoint);
  config.advice = std::move(advice);
  auto made = std::make_unique<cluster_node>(loop_, std::move(config), counts_, name, events_);
  return *all_.emplace(name, std::move(made)).first->second;
}

cluster_node& cluster_nodes::announced(net::server_address const& address, cluster_node const& source) {
  auto const& host = address.host.empty() ? source.endpoint().host : address.host;
  auto const name = net::host_and_port(host, address.port);
  auto& node =
      at(url_.announced(host, address.port),
         "; the cluster announces this node as " + name +
             ": where it has another address for clients, say so in the URL with nat=" + name + "/host:port");
  node.expect();
  return node;
}

cluster_node* cluster_nodes::find(std::string const& name) const noexcept {
  auto const known = all_.find(name);
  return known == all_.end() ? nullptr : known->second.get();
}

bool cluster_nodes::set_owner(std::uint16_t slot, cluster_node& owner) {
  if ((*owners_)[slot] == &owner) return false;
  if (!is_master(owner)) masters_.push_back(&owner);
  (*owners_)[slot] = &owner;
  return true;
}

cluster_nodes::changes cluster_nodes::replace_owners(cluster_node const& source,
                                                     std::span<slot_range const> slots) {
  auto new_owners = std::make_unique<owners>();
  std::vector<cluster_node*> masters;
  std::vector<net::server_address> replicas;
  for (auto const& range : slots) {
    auto& master = announced(range.master, source);
    std::fill(new_owners->begin() + range.first, new_owners->begin() + range.last + 1, &master);
    if (std::ranges::find(masters, &master) == masters.end()) masters.push_back(&master);
    for (auto const& replica : range.replicas) {
      if (std::ranges::find(replicas, replica) == replicas.end()) replicas.push_back(replica);
    }
  }
  changes result{.rerouted = *new_owners != *owners_};
  for (auto* const node : masters_) {
    auto const still = std::ranges::find(masters, node) != masters.end();
    auto lost = !still;
    if (still && node->missed()) {
      for (std::size_t slot = 0; slot != hash_slots && !lost; ++slot) {
        lost = (*owners_)[slot] == node && (*new_owners)[slot] != node;
      }
    }
    if (lost) result.gone.push_back(node);
  }
  owners_.swap(new_owners);
  masters_.swap(masters);
  replicas_.swap(replicas);
  return result;
}

bool cluster_nodes::is_master(cluster_node const& node) const noexcept {
  return std::ranges::find(masters_, &node) != masters_.end();
}

cluster_node* cluster_nodes::any(cluster_node* current, cluster_node* avoided) const noexcept {
  auto const rank = [current, avoided](cluster_node const* node) {
    if (node->missed()) return 0;
    if (node == avoided) return 1;
    return node == current ? 5 : !node->up() ? 2 : node->idle() ? 3 : 4;
  };
  auto const best = std::ranges::max_element(masters_, {}, rank);
  return best == masters_.end() ? nullptr : *best;
}

std::vector<cluster_node*> cluster_nodes::candidates(std::minstd_rand& random) {
  auto result = masters_;
  std::ranges::shuffle(result, random);
  auto const ill = std::ranges::partition(result, [](auto const* node) { return !node->missed(); });
  if (ill.begin() - result.begin() >= masters_enough) return result;
  auto const add = [&result](cluster_node& node) {
    if (std::ranges::find(result, &node) == result.end()) result.push_back(&node);
  };
  if (!masters_.empty()) {
    for (auto const& replica : replicas_) add(announced(replica, *masters_.front()));
  }
  for (auto const& host : url_.hosts) add(at(host, {}));
  return result;
}

bool cluster_nodes::idle() const noexcept {
  return std::ranges::all_of(all_, [](auto const& pair) { return pair.second->idle(); });
}

std::vector<std::string> cluster_nodes::names_mentioned() const {
  std::vector<std::string> names;
  names.reserve(url_.hosts.size() + replicas_.size());
  for (auto const& host : url_.hosts) names.push_back(net::host_and_port(host.host, host.port));
  for (auto const& replica : replicas_) {
    auto const endpoint = url_.announced(replica.host, replica.port);
    names.push_back(net::host_and_port(endpoint.host, endpoint.port));
  }
  return names;
}

void cluster_nodes::retire(nodes::iterator position) {
  retired_.reserve(retired_.size() + 1);
  retired_.push_back(std::move(position->second));
  retired_at_ = boot_clock::now();
  all_.erase(position);
}

time_point cluster_nodes::next_destruction() const noexcept {
  return retired_.empty() ? time_point::max() : retired_at_ + retirement;
}

void cluster_nodes::destroy_retired(time_point now) noexcept {
  if (next_destruction() <= now) retired_.clear();
}

void cluster_nodes::shut(std::shared_ptr<error const> const& reason) noexcept {
  for (auto& [name, node] : all_) node->shut(reason);
}

}  // namespace holdfast::topology
