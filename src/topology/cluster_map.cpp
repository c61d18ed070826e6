// The nodes of a cluster, the slots that they serve, and what a change means for requests.

#include <algorithm>
#include <utility>

#include "topology/cluster.hpp"

namespace holdfast::topology {
namespace {

/// With so many reachable masters, replicas and the URL's hosts aren't asked for the slots.
constexpr std::ptrdiff_t masters_enough = 6;

}  // namespace

cluster_node& cluster::node_at(net::endpoint endpoint, std::string advice) {
  auto const name = net::host_and_port(endpoint.host, endpoint.port);
  auto const known = nodes_.find(name);
  if (known != nodes_.end()) return *known->second;
  auto config = config_;
  config.server = std::move(endpoint);
  config.advice = std::move(advice);
  auto made = std::make_unique<cluster_node>(loop_, std::move(config), counts_, name, node_events_);
  return *nodes_.emplace(name, std::move(made)).first->second;
}

/// The node that `source` announces. An empty host means the host of `source`.
cluster_node& cluster::announced(node_address const& address, cluster_node const& source) {
  auto const& host = address.host.empty() ? source.endpoint().host : address.host;
  auto const name = net::host_and_port(host, address.port);
  auto& node = node_at(url_.announced(host, address.port),
                       "; the cluster announces this node as " + name +
                           ": where it has another address for clients, say so in the URL with nat=" + name +
                           "/host:port");
  node.expect();
  return node;
}

/// Records the slot's new owner, named by the node that gave the slot away.
void cluster::learn(std::uint16_t slot, cluster_node& owner) {
  if ((*owners_)[slot] == &owner) return;
  if (std::ranges::find(masters_, &owner) == masters_.end()) masters_.push_back(&owner);
  (*owners_)[slot] = &owner;
  refresh_.look_at(owner);
}

/// The nodes to ask for the slots: first the reachable masters, in random order, then all others.
std::vector<cluster_node*> cluster::candidates() {
  auto result = masters_;
  std::ranges::shuffle(result, random_);
  auto const ill = std::ranges::partition(result, [](auto const* node) { return !node->missed(); });
  if (ill.begin() - result.begin() >= masters_enough) return result;
  auto const add = [&result](cluster_node& node) {
    if (std::ranges::find(result, &node) == result.end()) result.push_back(&node);
  };
  if (!masters_.empty()) {
    for (auto const& replica : replicas_) add(announced(replica, *masters_.front()));
  }
  for (auto const& host : url_.hosts) add(node_at(host, {}));
  return result;
}

void cluster::on_unknown(std::shared_ptr<error const> const& reason) noexcept {
  if (shut_reason_) return;
  if (reason) unknown_reason_ = reason;
  if (reason && !mapped_) fail_waiting(reason);
  check();
}

void cluster::on_found(cluster_node& source, topology_refresh::findings const& findings) {
  if (shut_reason_) return;
  auto const gone = replace_owners(source, findings);
  if (findings.sharded) sharded_ = *findings.sharded;
  health_ = findings.health;
  gap_ = first_unserved(findings.slots);
  unknown_reason_.reset();
  mapped_ = true;

  // From here on nothing throws: a step without memory is done later.
  batch stranded;
  for (auto* const node : gone) take_from(*node, stranded);
  resend(std::move(stranded));
  redirects_.hurry([this](std::uint16_t slot) { return (*owners_)[slot] != nullptr; });
  try_or_tick([this] {
    for (auto const slot : redirects_.due(boot_clock::now())) advance(slot);
  });
  try_or_tick([this] { channels_.place_all(); });
  send_unrouted();
  auto const lost = std::ranges::find_if(
      gone, [this](auto* node) { return std::ranges::find(masters_, node) == masters_.end(); });
  if (lost != gone.end()) {
    try {
      events_.moved("other nodes than " + (*lost)->name());
    } catch (std::exception const&) {
      loop_.torn();
    }
  }
  try_or_tick([this] { retire_unused(); });
  check();
}

/// Returns the nodes whose unanswered requests have to go to others: nodes that are no longer masters, and
/// unreachable nodes that have lost slots.
std::vector<cluster_node*> cluster::replace_owners(cluster_node const& source,
                                                   topology_refresh::findings const& findings) {
  auto new_owners = std::make_unique<owners>();
  std::vector<cluster_node*> masters;
  std::vector<node_address> replicas;
  for (auto const& range : findings.slots) {
    auto& master = announced(range.master, source);
    std::fill(new_owners->begin() + range.first, new_owners->begin() + range.last + 1, &master);
    if (std::ranges::find(masters, &master) == masters.end()) masters.push_back(&master);
    for (auto const& replica : range.replicas) {
      if (std::ranges::find(replicas, replica) == replicas.end()) replicas.push_back(replica);
    }
  }
  std::vector<cluster_node*> gone;
  for (auto* const node : masters_) {
    auto const still = std::ranges::find(masters, node) != masters.end();
    auto lost = !still;
    if (still && node->missed()) {
      for (std::size_t slot = 0; slot != hash_slots && !lost; ++slot) {
        lost = (*owners_)[slot] == node && (*new_owners)[slot] != node;
      }
    }
    if (lost) gone.push_back(node);
  }
  owners_.swap(new_owners);
  masters_.swap(masters);
  replicas_.swap(replicas);
  return gone;
}

void cluster::take_from(cluster_node& node, batch& requests) noexcept {
  redirects_.forget(node);
  requests.splice(requests.end(), node.take_all());
}

/// Sends the requests in flight to lost nodes elsewhere, in order. Requests with `stays` fail last: a barrier
/// among them opens slots.
void cluster::resend(batch stranded) noexcept {
  batch staying;
  while (!stranded.empty()) {
    auto first = first_of(stranded);
    auto& entry = first.front();
    auto const slot = slot_for(entry.request);
    if (entry.request.stays) {
      staying.splice(staying.end(), first);
    } else if (slot && redirects_.closed(*slot)) {
      entry.request.kept_for = refusal::kind::other;
      entry.request.ask_at = nullptr;
      note_kept(entry);
      wake_by(limit_of(entry));
      redirects_.redirect(*slot, std::move(first));  // can't throw: a closed slot has its place in the map
    } else {
      dispatch_or_fail(first);
    }
  }
  if (staying.empty()) return;
  fail(std::move(staying), reason_from([this] {
         return std::make_shared<error const>(
             errc::unreachable, config_.server.display + ": the node that was asked is no master any more");
       }));
}

/// Closes the connections to nodes that are no masters, are idle, and aren't about to be asked. Nodes that
/// are mentioned nowhere are removed, but destroyed a little later: one of them may be the caller.
void cluster::retire_unused() {
  std::vector<std::string> mentioned;
  mentioned.reserve(url_.hosts.size() + replicas_.size());
  for (auto const& host : url_.hosts) mentioned.push_back(net::host_and_port(host.host, host.port));
  for (auto const& replica : replicas_) {
    auto const endpoint = url_.announced(replica.host, replica.port);
    mentioned.push_back(net::host_and_port(endpoint.host, endpoint.port));
  }
  for (auto next = nodes_.begin(); next != nodes_.end();) {
    auto const here = next++;
    auto& node = *here->second;
    auto const needed =
        std::ranges::find(masters_, &node) != masters_.end() || !node.idle() || refresh_.needs(node);
    if (needed) continue;
    redirects_.forget(node);
    channels_.leave(node);
    (void)node.rest();
    if (std::ranges::find(mentioned, here->first) != mentioned.end()) continue;
    retired_.reserve(retired_.size() + 1);
    retired_.push_back(std::move(here->second));
    retired_at_ = boot_clock::now();
    nodes_.erase(here);
  }
}

}  // namespace holdfast::topology
