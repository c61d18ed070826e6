// Requests of a cluster that wait: until when, and what they are told.

#include <algorithm>
#include <utility>

#include "topology/cluster.hpp"

namespace holdfast::topology {
namespace {

/// Things to do that are close to each other in time are done together: thousands of slots may wait.
constexpr std::chrono::milliseconds grain{5};

/// What is left of a connection's last steps is over long before.
constexpr std::chrono::seconds retirement{1};

}  // namespace

/// For who waits as long as the server says "later", the time starts anew each time that it does: the refusal
/// may turn into another one that doesn't pass, or into a detour.
void cluster::note_kept(routed_request& one) noexcept {
  auto& what = one.request;
  auto const put_off =
      what.kept_for == refusal::kind::not_yet && what.while_down == net::retry_policy::steady;
  if (what.kept_since == time_point{} || put_off) what.kept_since = boot_clock::now();
}

void cluster::wake_by(time_point when) noexcept {
  if (when == time_point::max() || (tick_.armed() && tick_.when() <= when)) return;
  on_.arm(tick_, std::max(when, boot_clock::now() + grain));
}

void cluster::tick() noexcept {
  if (shut_because_) return;
  auto const now = boot_clock::now();
  fail_expired(now);
  try_or_tick([this, now] {
    for (auto const slot : redirects_.due(now)) advance(slot);
  });
  try_or_tick([this] { channels_.place_all(); });
  if (!retired_.empty() && retired_at_ + retirement <= now) retired_.clear();
  check();
}

/// Whatever has changed: sees to it that somebody looks when something is amiss, and when there is something
/// to do.
void cluster::check() noexcept {
  if (shut_because_) return;
  if (unsettled()) {
    refresh_.look();
  } else {
    refresh_.settled();
  }
  auto when = redirects_.next([this](routed_request const& one) { return limit_of(one); });
  for (auto const& one : unrouted_) when = std::min(when, limit_of(one));
  if (!retired_.empty()) when = std::min(when, retired_at_ + retirement);
  wake_by(when);
}

bool cluster::unsettled() const noexcept {
  return !unrouted_.empty() || redirects_.any_unserved() || channels_.any_unplaced() ||
         std::ranges::any_of(masters_, [](auto const* one) { return one->missed(); });
}

void cluster::on_troubled() noexcept {
  if (shut_because_) return;
  refresh_.look();
  on_.arm(tick_, boot_clock::now());  // channels that are heard anywhere go elsewhere
}

/// As for a single server: until it couldn't be reached for so long, or as long as it says that it will serve
/// us later.
time_point cluster::limit_of(routed_request const& one) const noexcept {
  auto const& what = one.request;
  switch (what.while_down) {
    case net::retry_policy::little:
      return what.kept_since + config_.connect_timeout;
    case net::retry_policy::steady:
      return what.kept_for == refusal::kind::not_yet ? time_point::max()
                                                     : what.kept_since + config_.connect_timeout;
    case net::retry_policy::endless:
      break;
  }
  return what.give_up;
}

void cluster::fail_expired(time_point now) noexcept {
  for (auto late = redirects_.take_expired(now, [this](routed_request const& one) { return limit_of(one); });
       !late.empty();) {
    auto one = first_of(late);
    auto const why = told([&] { return why_unserved(one.front()); });
    fail(std::move(one), why);
  }
  batch rest;
  for (auto all = std::exchange(unrouted_, {}); !all.empty();) {
    auto one = first_of(all);
    if (limit_of(one.front()) <= now) {
      fail(std::move(one), told([this] { return why_no_node(); }));
    } else {
      rest.splice(rest.end(), one);
    }
  }
  unrouted_.splice(unrouted_.begin(), rest);  // who was told may have sent more
}

/// Null: its answer is what the server said.
void cluster::fail(batch&& those, std::shared_ptr<error const> const& why) noexcept {
  for (auto& one : those) {
    if (!one.request.done) continue;
    one.response.failure = why;
    try {
      one.request.done(std::move(one.response));
    } catch (std::exception const&) {
      on_.torn();
    }
  }
  those.clear();
}

/// Nobody can tell the slots, and none ever could: as when a single server can't be reached.
void cluster::fail_waiting(std::shared_ptr<error const> const& why) noexcept {
  auto const all = why->code() == errc::unauthorized;
  auto const hopeless = [all](routed_request const& one) {
    return all || one.request.while_down != net::retry_policy::endless ? time_point::min()
                                                                       : time_point::max();
  };
  auto lobby = std::exchange(unrouted_, {});
  fail(redirects_.take_expired(boot_clock::now(), hopeless), why);
  while (!lobby.empty()) {
    auto one = first_of(lobby);
    if (hopeless(one.front()) == time_point::min()) {
      fail(std::move(one), why);
    } else {
      unrouted_.splice(unrouted_.end(), one);
    }
  }
}

std::shared_ptr<error const> cluster::why_unserved(routed_request const& one) const {
  auto const why = one.request.kept_for;
  if (why == refusal::kind::not_yet) return nullptr;
  auto const slot = slot_for(one.request).value_or(0);
  auto const& server = config_.server.display;
  auto const of_slot = "the hash slot " + std::to_string(slot);
  auto const& said = one.response.reply;
  auto const words = said.is_error() ? " (" + said.text + ")" : std::string{};
  if (why == refusal::kind::unserved) {
    if (!mapped_) return why_no_node();
    return std::make_shared<error const>(
        errc::refused, server + ": no node serves " + of_slot + words + "; look at CLUSTER INFO");
  }
  if (auto const* const owner = (*owners_)[slot]; owner != nullptr && owner->down_because()) {
    return owner->down_because();
  }
  auto const or_else =
      words.empty() ? words : ", or they don't agree whose it is" + words + "; compare their CLUSTER NODES";
  return std::make_shared<error const>(
      errc::unreachable, server + ": " + of_slot + " is on its way from one node to another" + or_else);
}

/// Why what has no key waits.
std::shared_ptr<error const> cluster::why_no_node() const {
  auto const& server = config_.server.display;
  if (mapped_) {
    auto const which = gap_ ? "no node serves the hash slot " + std::to_string(*gap_)
                            : std::string{"cluster_state isn't ok"};
    return std::make_shared<error const>(
        errc::refused, server + ": the cluster is down: " + which + "; look at CLUSTER INFO");
  }
  if (why_unknown_) return why_unknown_;
  return std::make_shared<error const>(errc::unreachable, "cannot reach " + server + ": no node answers");
}

std::shared_ptr<error const> cluster::down_because() const noexcept {
  for (auto const* const one : masters_) {
    if (one->missed() && one->down_because()) return one->down_because();
  }
  if (unrouted_.empty() && !redirects_.any_unserved()) return nullptr;
  return told([this] { return why_no_node(); });
}

void cluster::shut(std::shared_ptr<error const> const& why) noexcept {
  shut_because_ = why;
  tick_.disarm();
  auto const never = [](routed_request const&) { return time_point::min(); };
  auto waiting = redirects_.take_expired(boot_clock::now(), never);
  waiting.splice(waiting.end(), unrouted_);
  for (auto& [name, one] : nodes_) one->shut(why);
  channels_.shut();
  fail(std::move(waiting), why);
}

}  // namespace holdfast::topology
