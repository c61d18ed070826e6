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
void cluster::note_kept(parcel& one) noexcept {
  auto& what = one.what.what;
  auto const put_off = one.why == refusal::kind::not_yet && what.while_down == net::patience::steady;
  if (what.kept_since == time_point{} || put_off) what.kept_since = boot_clock::now();
}

void cluster::wake_by(time_point when) {
  if (when == time_point::max() || (tick_.armed() && tick_.when() <= when)) return;
  on_.arm(tick_, std::max(when, boot_clock::now() + grain));
}

void cluster::tick() {
  if (shut_because_) return;
  auto const now = boot_clock::now();
  fail_expired(now);
  for (auto const slot : detours_.due(now)) advance(slot);
  channels_.place_all();
  if (!retired_.empty() && retired_at_ + retirement <= now) retired_.clear();
  check();
}

/// Whatever has changed: sees to it that somebody looks when something is amiss, and when there is something
/// to do.
void cluster::check() {
  if (shut_because_) return;
  if (unsettled()) {
    scout_.look();
  } else {
    scout_.settled();
  }
  auto when = detours_.next([this](parcel const& one) { return limit_of(one); });
  for (auto const& one : lobby_) when = std::min(when, limit_of(one));
  if (!retired_.empty()) when = std::min(when, retired_at_ + retirement);
  wake_by(when);
}

bool cluster::unsettled() const noexcept {
  return !lobby_.empty() || detours_.any_unserved() || channels_.any_unplaced() ||
         std::ranges::any_of(masters_, [](auto const* one) { return one->missed(); });
}

void cluster::on_troubled() {
  if (shut_because_) return;
  scout_.look();
  on_.arm(tick_, boot_clock::now());  // channels that are heard anywhere go elsewhere
}

/// As for a single server: until it couldn't be reached for so long, or as long as it says that it will serve
/// us later.
time_point cluster::limit_of(parcel const& one) const noexcept {
  auto const& what = one.what.what;
  switch (what.while_down) {
    case net::patience::little:
      return what.kept_since + how_.connect_timeout;
    case net::patience::steady:
      return one.why == refusal::kind::not_yet ? time_point::max() : what.kept_since + how_.connect_timeout;
    case net::patience::endless:
      break;
  }
  return what.give_up;
}

void cluster::fail_expired(time_point now) {
  auto const limit = [this](parcel const& one) { return limit_of(one); };
  for (auto& [slot, one] : detours_.take_expired(now, limit)) {
    auto why = why_unserved(slot, one);
    fail(std::move(one.what), std::move(why));
  }
  std::deque<parcel> rest;
  for (auto& one : std::exchange(lobby_, {})) {
    if (limit_of(one) <= now) {
      fail(std::move(one.what), why_no_node());
    } else {
      rest.push_back(std::move(one));
    }
  }
  std::ranges::move(lobby_, std::back_inserter(rest));  // who was told may have sent more
  lobby_ = std::move(rest);
}

/// Null: its answer is what the server said.
void cluster::fail(finished what, std::shared_ptr<error const> why) {
  what.how.failure = std::move(why);
  if (what.what.done) what.what.done(std::move(what.how));
}

/// Nobody can tell the slots, and none ever could: as when a single server can't be reached.
void cluster::fail_waiting(std::shared_ptr<error const> const& why) {
  auto const all = why->code() == errc::unauthorized;
  auto const hopeless = [all](parcel const& one) {
    return all || one.what.what.while_down != net::patience::endless ? time_point::min() : time_point::max();
  };
  auto lobby = std::exchange(lobby_, {});
  auto those = detours_.take_expired(boot_clock::now(), hopeless);
  for (auto& one : those) fail(std::move(one.what.what), why);
  for (auto& one : lobby) {
    if (hopeless(one) == time_point::min()) {
      fail(std::move(one.what), why);
    } else {
      lobby_.push_back(std::move(one));
    }
  }
}

std::shared_ptr<error const> cluster::why_unserved(std::uint16_t slot, parcel const& one) const {
  if (one.why == refusal::kind::not_yet) return nullptr;
  auto const& server = how_.server.display;
  auto const of_slot = "the hash slot " + std::to_string(slot);
  auto const& said = one.what.how.reply;
  auto const words = said.is_error() ? " (" + said.text + ")" : std::string{};
  if (one.why == refusal::kind::unserved) {
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
  auto const& server = how_.server.display;
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
  if (lobby_.empty() && !detours_.any_unserved()) return nullptr;
  return why_no_node();
}

void cluster::shut(std::shared_ptr<error const> const& why) {
  shut_because_ = why;
  tick_.disarm();
  auto const never = [](parcel const&) { return time_point::min(); };
  auto waiting = detours_.take_expired(boot_clock::now(), never);
  auto lobby = std::exchange(lobby_, {});
  for (auto& [name, one] : nodes_) one->shut(why);
  channels_.shut();
  for (auto& one : waiting) fail(std::move(one.what.what), why);
  for (auto& one : lobby) fail(std::move(one.what), why);
}

}  // namespace holdfast::topology
