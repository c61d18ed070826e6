// What a change of the nodes, or of their slots, means for requests.

#include <algorithm>
#include <utility>

#include "topology/cluster.hpp"

namespace holdfast::topology {

/// Records the slot's new owner, named by the node that gave the slot away.
void cluster::learn(std::uint16_t slot, cluster_node& owner) {
  if (!nodes_.set_owner(slot, owner)) return;
  if (events_.rerouted) events_.rerouted();
  refresh_.look_at(owner);
}

void cluster::on_unknown(std::shared_ptr<error const> const& reason) noexcept {
  if (shut_reason_) return;
  if (reason) unknown_reason_ = reason;
  if (reason && !mapped_) fail_waiting(reason);
  after_change();
}

void cluster::on_found(cluster_node& source, topology_refresh::findings const& findings) {
  if (shut_reason_) return;
  auto const [rerouted, gone] = nodes_.replace_owners(source, findings.slots);
  if (rerouted && events_.rerouted) events_.rerouted();
  if (findings.sharded) sharded_ = *findings.sharded;
  health_ = findings.health;
  gap_ = first_unserved(findings.slots);
  unknown_reason_.reset();
  mapped_ = true;

  // From here on nothing throws: a step without memory is done later.
  batch stranded;
  for (auto* const node : gone) {
    redirects_.forget(*node);
    failovers_.forget(*node);
    stranded.splice(stranded.end(), node->take_all());
  }
  resend(std::move(stranded));
  redirects_.hurry([this](std::uint16_t slot) { return nodes_.owner_of(slot) != nullptr; });
  try_or_retry([this] {
    for (auto const slot : redirects_.due(boot_clock::now())) advance(slot);
  });
  try_or_retry([this] { channels_.assign_all(); });
  send_unrouted();
  failovers_.on_found();
  auto const lost = std::ranges::find_if(gone, [this](auto const* node) { return !nodes_.is_master(*node); });
  if (lost != gone.end()) {
    try {
      events_.moved("other nodes than " + (*lost)->name());
    } catch (std::exception const&) {
      loop_.note_out_of_memory();
    }
  }
  try_or_retry([this] {
    nodes_.retire_unused([this](cluster_node const& node) { return refresh_.needs(node); },
                         [this](cluster_node& node) {
                           redirects_.forget(node);
                           failovers_.forget(node);
                           channels_.leave(node);
                         });
  });
  after_change();
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
      wake_by(fails_at(entry));
      redirects_.redirect(*slot, std::move(first));  // can't throw: a closed slot has its place in the map
    } else {
      dispatch_or_fail(first);
    }
  }
  if (staying.empty()) return;
  fail(std::move(staying), reason_from([this] {
         return std::make_shared<error const>(
             errc::unreachable,
             config_.server.display + ": the node that was asked is not a master any more");
       }));
}

}  // namespace holdfast::topology
