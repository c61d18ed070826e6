// Which nodes a cluster has, who serves what, and what becomes of requests when that changes.

#include <algorithm>
#include <utility>

#include "topology/cluster.hpp"

namespace holdfast::topology {
namespace {

/// With so many masters that answer, nobody else needs to be asked for the slots.
constexpr std::ptrdiff_t masters_enough = 6;

}  // namespace

cluster_node& cluster::node_at(net::endpoint where, std::string advice) {
  auto const name = net::host_and_port(where.host, where.port);
  auto const known = nodes_.find(name);
  if (known != nodes_.end()) return *known->second;
  auto how = config_;
  how.server = std::move(where);
  how.advice = std::move(advice);
  auto made = std::make_unique<cluster_node>(on_, std::move(how), counts_, name, node_events_);
  return *nodes_.emplace(name, std::move(made)).first->second;
}

/// One that a node tells of; without a host it is at that node's.
cluster_node& cluster::announced(node_address const& as, cluster_node const& by) {
  auto const& host = as.host.empty() ? by.where().host : as.host;
  auto const name = net::host_and_port(host, as.port);
  auto& one = node_at(url_.announced(host, as.port),
                      "; the cluster announces this node as " + name +
                          ": where it has another address for clients, say so in the URL with nat=" + name +
                          "/host:port");
  one.expect();
  return one;
}

/// From now on, as a node that gave the slot away says.
void cluster::learn(std::uint16_t slot, cluster_node& serves) {
  if ((*owners_)[slot] == &serves) return;
  if (std::ranges::find(masters_, &serves) == masters_.end()) masters_.push_back(&serves);
  (*owners_)[slot] = &serves;
  refresh_.look_at(serves);
}

/// Whom to ask for the slots: masters that are well, one chosen at random first; then all others.
std::vector<cluster_node*> cluster::candidates() {
  auto result = masters_;
  std::ranges::shuffle(result, random_);
  auto const ill = std::ranges::partition(result, [](auto const* one) { return !one->missed(); });
  if (ill.begin() - result.begin() >= masters_enough) return result;
  auto const add = [&result](cluster_node& one) {
    if (std::ranges::find(result, &one) == result.end()) result.push_back(&one);
  };
  if (!masters_.empty()) {
    for (auto const& one : replicas_) add(announced(one, *masters_.front()));
  }
  for (auto const& one : url_.hosts) add(node_at(one, {}));
  return result;
}

void cluster::on_unknown(std::shared_ptr<error const> const& why) noexcept {
  if (shut_because_) return;
  if (why) why_unknown_ = why;
  if (why && !mapped_) fail_waiting(why);
  check();
}

void cluster::on_found(cluster_node& by, topology_refresh::findings const& what) {
  if (shut_because_) return;
  auto const gone = replace_owners(by, what);
  if (what.sharded) sharded_ = *what.sharded;
  health_ = what.health;
  gap_ = first_unserved(what.slots);
  why_unknown_.reset();
  mapped_ = true;

  // From here on all is done that can be, or is done later.
  batch stranded;
  for (auto* const one : gone) take_from(*one, stranded);
  resend(std::move(stranded));
  redirects_.hurry([this](std::uint16_t slot) { return (*owners_)[slot] != nullptr; });
  try_or_tick([this] {
    for (auto const slot : redirects_.due(boot_clock::now())) advance(slot);
  });
  try_or_tick([this] { channels_.place_all(); });
  send_unrouted();
  auto const lost = std::ranges::find_if(
      gone, [this](auto* one) { return std::ranges::find(masters_, one) == masters_.end(); });
  if (lost != gone.end()) {
    try {
      tell_.moved("other nodes than " + (*lost)->name());
    } catch (std::exception const&) {
      on_.torn();
    }
  }
  try_or_tick([this] { retire_unused(); });
  check();
}

/// Those that are no masters any more, or have lost slots while they are out of reach: what they were asked
/// is to be asked of others.
std::vector<cluster_node*> cluster::replace_owners(cluster_node const& by,
                                                   topology_refresh::findings const& what) {
  auto now = std::make_unique<owners>();
  std::vector<cluster_node*> masters;
  std::vector<node_address> replicas;
  for (auto const& range : what.slots) {
    auto& master = announced(range.master, by);
    std::fill(now->begin() + range.first, now->begin() + range.last + 1, &master);
    if (std::ranges::find(masters, &master) == masters.end()) masters.push_back(&master);
    for (auto const& one : range.replicas) {
      if (std::ranges::find(replicas, one) == replicas.end()) replicas.push_back(one);
    }
  }
  std::vector<cluster_node*> gone;
  for (auto* const one : masters_) {
    auto const still = std::ranges::find(masters, one) != masters.end();
    auto lost = !still;
    if (still && one->missed()) {
      for (std::size_t slot = 0; slot != hash_slots && !lost; ++slot) {
        lost = (*owners_)[slot] == one && (*now)[slot] != one;
      }
    }
    if (lost) gone.push_back(one);
  }
  owners_.swap(now);
  masters_.swap(masters);
  replicas_.swap(replicas);
  return gone;
}

void cluster::take_from(cluster_node& one, batch& into) noexcept {
  redirects_.forget(one);
  into.splice(into.end(), one.take_all());
}

/// What was under way to nodes that are gone, in its order. What is behind all that went before (`stays`)
/// comes last: it opens slots.
void cluster::resend(batch stranded) noexcept {
  batch staying;
  while (!stranded.empty()) {
    auto one = first_of(stranded);
    auto& back = one.front();
    auto const slot = slot_for(back.request);
    if (back.request.stays) {
      staying.splice(staying.end(), one);
    } else if (slot && redirects_.closed(*slot)) {
      back.request.kept_for = refusal::kind::other;
      back.request.ask_at = nullptr;
      note_kept(back);
      wake_by(limit_of(back));
      redirects_.redirect(*slot, std::move(one));  // there is room for a slot that is closed
    } else {
      dispatch_or_fail(one);
    }
  }
  if (staying.empty()) return;
  fail(std::move(staying), told([this] {
         return std::make_shared<error const>(
             errc::unreachable, config_.server.display + ": the node that was asked is no master any more");
       }));
}

/// Closes what is open to nodes that are no masters, have nothing to do, and aren't to be asked. Of those
/// that nobody mentions any more nothing stays, but they are destroyed a little later: one of them may be
/// what has brought us here.
void cluster::retire_unused() {
  std::vector<std::string> mentioned;
  mentioned.reserve(url_.hosts.size() + replicas_.size());
  for (auto const& one : url_.hosts) mentioned.push_back(net::host_and_port(one.host, one.port));
  for (auto const& one : replicas_) {
    auto const at = url_.announced(one.host, one.port);
    mentioned.push_back(net::host_and_port(at.host, at.port));
  }
  for (auto next = nodes_.begin(); next != nodes_.end();) {
    auto const here = next++;
    auto& one = *here->second;
    auto const needed =
        std::ranges::find(masters_, &one) != masters_.end() || !one.idle() || refresh_.needs(one);
    if (needed) continue;
    redirects_.forget(one);
    channels_.leave(one);
    (void)one.rest();
    if (std::ranges::find(mentioned, here->first) != mentioned.end()) continue;
    retired_.reserve(retired_.size() + 1);
    retired_.push_back(std::move(here->second));
    retired_at_ = boot_clock::now();
    nodes_.erase(here);
  }
}

}  // namespace holdfast::topology
