#include "topology/cluster.hpp"

#include <algorithm>
#include <utility>

#include "base/ids.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

/// So many in a row, and it is no redirection but nodes that disagree: better wait a little.
constexpr std::uint16_t most_redirects = 16;

/// Before another try: doubles with each up to eight times as long, and jitter.
constexpr std::chrono::milliseconds shortest_pause{10};
constexpr unsigned most_doublings = 3;

/// Until a channel that is nowhere is placed again: nodes that disagree must not be asked all the time.
constexpr std::chrono::milliseconds placing_pause{20};

}  // namespace

std::optional<std::uint16_t> cluster::slot_for(net::request const& what) noexcept {
  if (what.slot) return what.slot;
  if (what.key.size == 0) return std::nullopt;
  return hash_slot(what.key_text());
}

cluster::cluster(reactor::loop& on, net::deployment_url const& where, net::settings const& how,
                 client_stats& counts, events tell)
    : on_{on},
      url_{where},
      config_{how},
      counts_{counts},
      tell_{std::move(tell)},
      node_events_{.refused = [this](cluster_node& by, net::connection_role over,
                                     batch& what) { return on_refused(by, over, what); },
                   .troubled = [this](cluster_node&) { on_troubled(); },
                   .broken = tell_.broken,
                   .drained =
                       [this](std::uint16_t slot) {
                         redirects_.open(slot);
                         advance(slot);
                       }},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      out_of_memory_{std::make_shared<error const>(std::errc::not_enough_memory,
                                                   config_.server.display + ": out of memory")},
      channels_{{.server_of = [this](std::uint16_t slot) { return (*owners_)[slot]; },
                 .any = [this](cluster_node* before, cluster_node* last) { return any_node(before, last); },
                 .sharded = [this] { return sharded_; },
                 .displaced =
                     [this](cluster_node& by, refusal const& why) {
                       if (why.what == refusal::kind::moved) {
                         try_or_tick([&] { learn(why.slot, announced({why.host, why.port}, by)); });
                       } else {
                         refresh_.look();
                       }
                       wake_by(boot_clock::now() + placing_pause);
                     }}},
      refresh_{
          on,
          {.candidates = [this] { return candidates(); },
           .found = [this](cluster_node& by, topology_refresh::findings const& what) { on_found(by, what); },
           .failed = [this](std::shared_ptr<error const> const& why) { on_unknown(why); }}},
      tick_{[this] { tick(); }} {}

cluster::~cluster() = default;

void cluster::send(net::request what) {
  if (auto const slot = slot_for(what)) {
    auto* const owner = (*owners_)[*slot];
    if (owner != nullptr && (redirects_.empty() || !redirects_.closed(*slot))) {
      owner->over(what.role).send(std::move(what));
      return;
    }
  }
  batch one;
  one.emplace_back().request = std::move(what);
  dispatch(one);
  if (!shut_because_) ++counts_.commands;
}

cluster::batch cluster::first_of(batch& those) noexcept {
  batch one;
  one.splice(one.begin(), those, those.begin());
  return one;
}

void cluster::dispatch(batch& what) {
  if (shut_because_) {
    fail(std::move(what), shut_because_);
    return;
  }
  auto& one = what.front();
  auto const slot = slot_for(one.request);
  auto* const any = !slot && mapped_ && health_.ok ? any_node(nullptr, nullptr) : nullptr;
  one.request.kept_for = slot ? refusal::kind::other : refusal::kind::unserved;
  one.request.ask_at = nullptr;
  if (any != nullptr) {
    any->over(one.request.role).send(std::move(what));
  } else if (slot && !redirects_.closed(*slot)) {
    forward(*slot, what);
  } else {
    note_kept(one);
    wake_by(limit_of(one));
    if (slot) {
      redirects_.add(*slot, std::move(what));
    } else {
      unrouted_.splice(unrouted_.end(), what);
      refresh_.look();
    }
  }
}

/// One that was accepted before.
void cluster::dispatch_or_fail(batch& what) noexcept {
  try {
    dispatch(what);
  } catch (std::exception const&) {
    fail(std::move(what), out_of_memory_);
  }
}

/// On its way to the node that it is for; kept when there is none.
void cluster::forward(std::uint16_t slot, batch& what) {
  auto& one = what.front().request;
  auto* const to = one.ask_at != nullptr ? one.ask_at : (*owners_)[slot];
  if (to == nullptr) {
    one.kept_for = refusal::kind::unserved;
    keep(slot, what);
    return;
  }
  auto& line = to->over(one.role);
  if (one.ask_at != nullptr) {
    // Counts for the request right behind it, and has to give up with it.
    net::request asking;
    resp::append_command(asking.bytes, {"ASKING"});
    asking.while_down = one.while_down;
    asking.give_up = one.give_up;
    asking.stays = true;
    line.send(std::move(asking));
    one.ask_at = nullptr;
  }
  line.send(std::move(what));
}

/// A slot is open, or some of its requests are due.
void cluster::advance(std::uint16_t slot) noexcept {
  if (shut_because_) return;
  for (auto those = redirects_.take(slot, boot_clock::now()); !those.empty();) {
    auto one = first_of(those);
    try {
      forward(slot, one);
    } catch (std::exception const&) {
      fail(std::move(one), out_of_memory_);
    }
  }
}

/// What a node refuses it hasn't done, as a rule: whether an earlier copy was carried out is as unknown as
/// before.
bool cluster::on_refused(cluster_node& by, net::connection_role over, batch& what) {
  auto& one = what.front();
  auto const slot = slot_for(one.request);
  if (shut_because_ || one.request.stays || !slot) return false;
  if (one.request.divisible && one.response.reply.is_error("TRYAGAIN")) return false;
  auto const said = read_refusal(one.response.reply.text);
  auto const elsewhere = said.what == refusal::kind::moved || said.what == refusal::kind::ask;
  if (said.what == refusal::kind::other || (elsewhere && said.slot != *slot)) return false;

  if (!said.halfway) one.response.sent = one.response.resent;
  one.request.kept_for = said.what;
  one.request.ask_at = nullptr;
  note_kept(one);
  cluster_node* to = nullptr;
  if (elsewhere) to = &announced({said.host, said.port}, by);
  if (said.what == refusal::kind::moved) learn(*slot, *to);
  // WAIT counts what its own connection has written, and has no part in asking.
  auto const later = said.what == refusal::kind::ask && over == net::connection_role::acknowledged;
  if (!elsewhere || later || ++one.request.redirects > most_redirects) {
    if (later) one.request.kept_for = refusal::kind::not_yet;  // nodes that disagree may do so for ever
    keep(*slot, what);
    return true;
  }
  redirects_.close(*slot);
  try {
    if (!by.drain(*slot, over)) redirects_.open(*slot);
  } catch (std::exception const&) {
    redirects_.open(*slot);
    throw;
  }
  if (said.what == refusal::kind::ask) one.request.ask_at = to;
  wake_by(limit_of(one));
  redirects_.redirect(*slot, std::move(what));
  return true;
}

void cluster::keep(std::uint16_t slot, batch& what) {
  auto& one = what.front();
  note_kept(one);
  one.request.redirects = 0;
  one.request.ask_at = nullptr;
  auto const longest = shortest_pause * (2U << std::min<unsigned>(one.request.pauses, most_doublings));
  if (one.request.pauses != 0xffff) ++one.request.pauses;
  std::uniform_int_distribution<std::chrono::nanoseconds::rep> pause{
      std::chrono::nanoseconds{shortest_pause}.count(), std::chrono::nanoseconds{longest}.count()};
  auto const retry = boot_clock::now() + std::chrono::nanoseconds{pause(random_)};
  wake_by(std::min(retry, limit_of(one)));
  if (one.request.kept_for == refusal::kind::unserved) refresh_.look();
  redirects_.keep(slot, std::move(what), retry);
}

void cluster::send_unrouted() noexcept {
  for (auto all = std::exchange(unrouted_, {}); !all.empty();) {
    auto one = first_of(all);
    dispatch_or_fail(one);
  }
}

/// One that is in use already if there is any: its answer tells that what went before is answered, too.
cluster_node* cluster::any_node(cluster_node* before, cluster_node* last) const {
  auto const rank = [before, last](cluster_node const* one) {
    if (one->missed()) return 0;
    if (one == last) return 1;
    return one == before ? 5 : !one->up() ? 2 : one->idle() ? 3 : 4;
  };
  auto const best = std::ranges::max_element(masters_, {}, rank);
  return best == masters_.end() ? nullptr : *best;
}

std::vector<std::string> cluster::masters() const {
  std::vector<std::string> result;
  result.reserve(masters_.size());
  for (auto const* const one : masters_) result.push_back(one->name());
  return result;
}

void cluster::send_to(std::string const& master, net::request what) {
  auto const known = nodes_.find(master);
  if (known == nodes_.end()) {
    auto const why = std::make_shared<error const>(
        errc::unreachable, config_.server.display + ": " + master + " serves no keys any more");
    batch one;
    one.emplace_back().request = std::move(what);
    fail(std::move(one), why);
    return;
  }
  what.stays = true;
  known->second->over(what.role).send(std::move(what));
}

bool cluster::idle() const noexcept {
  return unrouted_.empty() && redirects_.empty() &&
         std::ranges::all_of(nodes_, [](auto const& one) { return one.second->idle(); });
}

bool cluster::up() const noexcept {
  return std::ranges::any_of(masters_, [](auto const* one) { return one->up(); });
}

void cluster::listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) {
  if (shut_because_) return;
  if (channels_.listen(channel, whose, who)) return;
  refresh_.look();
  wake_by(boot_clock::now() + placing_pause);
}

}  // namespace holdfast::topology
