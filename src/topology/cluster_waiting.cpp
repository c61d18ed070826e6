// Waiting requests of a cluster: their deadlines and their errors.

#include <algorithm>
#include <utility>

#include "topology/cluster.hpp"

namespace holdfast::topology {
namespace {

/// Steps that are due within this time are done together: thousands of slots may wait.
constexpr std::chrono::milliseconds timer_grain{5};

/// Whether it has no deadline as long as it is refused for this reason.
bool is_waited_out(net::request const& request) noexcept {
  using net::retry_policy;
  auto const moves = request.kept_for == refusal::kind::halved;
  auto const comes = moves || request.kept_for == refusal::kind::not_yet;
  return (comes && request.while_down == retry_policy::steady) ||
         (moves && request.while_down == retry_policy::moving);
}

}  // namespace

/// The deadline restarts on each reply that says to wait: a permanent refusal or a redirection may follow.
void cluster::note_kept(routed_request& entry) noexcept {
  auto& request = entry.request;
  if (request.kept_since == time_point{} || is_waited_out(request)) request.kept_since = boot_clock::now();
}

void cluster::wake_by(time_point when) noexcept {
  if (when == time_point::max() || (retry_timer_.armed() && retry_timer_.when() <= when)) return;
  loop_.arm(retry_timer_, std::max(when, boot_clock::now() + timer_grain));
}

void cluster::retry_waiting() noexcept {
  if (shut_reason_) return;
  auto const now = boot_clock::now();
  fail_expired(now);
  try_or_retry([this, now] {
    for (auto const slot : redirects_.due(now)) advance(slot);
  });
  try_or_retry([this] { channels_.assign_all(); });
  nodes_.destroy_retired(now);
  after_change();
}

/// Called after every change: starts a refresh if anything is amiss, and sets the timer.
void cluster::after_change() noexcept {
  if (shut_reason_) return;
  if (unsettled()) {
    refresh_.look();
  } else {
    refresh_.reset_pause();
  }
  auto when = redirects_.next([this](routed_request const& entry) { return fails_at(entry); });
  for (auto const& entry : unrouted_) when = std::min(when, fails_at(entry));
  wake_by(std::min(when, nodes_.next_destruction()));
}

bool cluster::unsettled() const noexcept {
  return !unrouted_.empty() || redirects_.any_unserved() || channels_.any_unassigned() ||
         std::ranges::any_of(nodes_.masters(), [](auto const* master) { return master->missed(); });
}

void cluster::on_troubled() noexcept {
  if (shut_reason_) return;
  refresh_.look();
  loop_.arm(retry_timer_, boot_clock::now());  // plain channels move to another node
}

/// The deadline, as for a single server: connect_timeout while no server can be reached.
time_point cluster::fails_at(routed_request const& entry) const noexcept {
  auto const& request = entry.request;
  if (request.while_down == net::retry_policy::endless) return request.give_up;
  return is_waited_out(request) ? time_point::max() : request.kept_since + config_.connect_timeout;
}

void cluster::fail_expired(time_point now) noexcept {
  for (auto late =
           redirects_.take_expired(now, [this](routed_request const& entry) { return fails_at(entry); });
       !late.empty();) {
    auto first = first_of(late);
    auto const reason = reason_from([&] { return unserved_reason(first.front()); });
    fail(std::move(first), reason);
  }
  batch rest;
  for (auto all = std::exchange(unrouted_, {}); !all.empty();) {
    auto first = first_of(all);
    if (fails_at(first.front()) <= now) {
      fail(std::move(first), reason_from([this] { return no_node_reason(); }));
    } else {
      rest.splice(rest.end(), first);
    }
  }
  unrouted_.splice(unrouted_.begin(), rest);  // the callbacks of failed requests may have sent more
}

/// `reason` null: the response keeps the server's reply.
void cluster::fail(batch&& requests, std::shared_ptr<error const> const& reason) noexcept {
  for (auto& entry : requests) {
    if (!entry.request.done) continue;
    entry.response.failure = reason;
    try {
      entry.request.done(std::move(entry.response));
    } catch (std::exception const&) {
      loop_.note_out_of_memory();
    }
  }
  requests.clear();
}

/// No node has ever reported the slots: fails requests as when a single server can't be reached.
void cluster::fail_waiting(std::shared_ptr<error const> const& reason) noexcept {
  auto const all = reason->code() != errc::unreachable && reason->code() != errc::refused;
  auto const hopeless = [all](routed_request const& entry) {
    return all || entry.request.while_down != net::retry_policy::endless ? time_point::min()
                                                                         : time_point::max();
  };
  auto unrouted = std::exchange(unrouted_, {});
  fail(redirects_.take_expired(boot_clock::now(), hopeless), reason);
  while (!unrouted.empty()) {
    auto first = first_of(unrouted);
    if (hopeless(first.front()) == time_point::min()) {
      fail(std::move(first), reason);
    } else {
      unrouted_.splice(unrouted_.end(), first);
    }
  }
}

std::shared_ptr<error const> cluster::unserved_reason(routed_request const& entry) const {
  auto const kind = entry.request.kept_for;
  if (kind == refusal::kind::not_yet || kind == refusal::kind::halved) return nullptr;
  auto const slot = slot_for(entry.request).value_or(0);
  auto const& server = config_.server.display;
  auto const of_slot = "the hash slot " + std::to_string(slot);
  auto const& reply = entry.response.reply;
  auto const text = reply.is_error() ? " (" + reply.text + ")" : std::string{};
  if (kind == refusal::kind::unserved) {
    if (!mapped_) return no_node_reason();
    return std::make_shared<error const>(
        errc::refused, server + ": no node serves " + of_slot + text + "; look at CLUSTER INFO");
  }
  if (auto const* const owner = nodes_.owner_of(slot); owner != nullptr && owner->down_because()) {
    return owner->down_because();
  }
  auto const or_else =
      text.empty() ? text : ", or they don't agree whose it is" + text + "; compare their CLUSTER NODES";
  return std::make_shared<error const>(
      errc::unreachable, server + ": " + of_slot + " is on its way from one node to another" + or_else);
}

/// Why a request without a key waits.
std::shared_ptr<error const> cluster::no_node_reason() const {
  auto const& server = config_.server.display;
  if (mapped_) {
    auto const cause = gap_ ? "no node serves the hash slot " + std::to_string(*gap_)
                            : std::string{"cluster_state isn't ok"};
    return std::make_shared<error const>(
        errc::refused, server + ": the cluster is down: " + cause + "; look at CLUSTER INFO");
  }
  if (unknown_reason_) return unknown_reason_;
  return std::make_shared<error const>(errc::unreachable, "cannot reach " + server + ": no node answers");
}

std::shared_ptr<error const> cluster::down_because() const noexcept {
  for (auto const* const master : nodes_.masters()) {
    if (master->missed() && master->down_because()) return master->down_because();
  }
  if (unrouted_.empty() && !redirects_.any_unserved()) return nullptr;
  return reason_from([this] { return no_node_reason(); });
}

void cluster::shut(std::shared_ptr<error const> const& reason) noexcept {
  shut_reason_ = reason;
  failovers_.stop();
  refresh_.stop();
  auto const never = [](routed_request const&) { return time_point::min(); };
  auto waiting = redirects_.take_expired(boot_clock::now(), never);
  waiting.splice(waiting.end(), unrouted_);
  nodes_.shut(reason);
  channels_.shut();
  fail(std::move(waiting), reason);
  retry_timer_.disarm();
}

}  // namespace holdfast::topology
