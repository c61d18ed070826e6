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

cluster::cluster(reactor::loop& on, net::place const& where, net::settings const& how, client_stats& counts,
                 events tell)
    : on_{on},
      where_{where},
      how_{how},
      counts_{counts},
      tell_{std::move(tell)},
      node_events_{.refused = [this](cluster_node& by, net::lane over,
                                     finished& what) { return on_refused(by, over, what); },
                   .troubled = [this](cluster_node&) { on_troubled(); },
                   .broken = tell_.broken,
                   .drained =
                       [this](std::uint16_t slot) {
                         detours_.open(slot);
                         advance(slot);
                       }},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      channels_{{.server_of = [this](std::uint16_t slot) { return (*owners_)[slot]; },
                 .any = [this](cluster_node* before, cluster_node* last) { return any_node(before, last); },
                 .sharded = [this] { return sharded_; },
                 .displaced =
                     [this](cluster_node& by, refusal const& why) {
                       if (why.what == refusal::kind::moved) {
                         learn(why.slot, announced({why.host, why.port}, by));
                       } else {
                         scout_.look();
                       }
                       wake_by(boot_clock::now() + placing_pause);
                     }}},
      scout_{on,
             {.candidates = [this] { return candidates(); },
              .found = [this](cluster_node& by, scout::findings const& what) { on_found(by, what); },
              .failed = [this](std::shared_ptr<error const> const& why) { on_unknown(why); }}},
      tick_{[this] { tick(); }} {}

cluster::~cluster() = default;

void cluster::send(net::request what) {
  if (auto const slot = slot_for(what)) {
    auto* const owner = (*owners_)[*slot];
    if (owner != nullptr && (detours_.empty() || !detours_.closed(*slot))) {
      owner->over(what.over).send(std::move(what));
      return;
    }
  }
  if (!shut_because_) ++counts_.commands;
  dispatch({.what = std::move(what), .how = {}});
}

void cluster::dispatch(finished what) {
  if (shut_because_) {
    fail(std::move(what), shut_because_);
    return;
  }
  auto const slot = slot_for(what.what);
  auto* const any = !slot && mapped_ && health_.ok ? any_node(nullptr, nullptr) : nullptr;
  parcel one{.what = std::move(what), .why = slot ? refusal::kind::other : refusal::kind::unserved};
  if (any != nullptr) {
    any->over(one.what.what.over).send(std::move(one.what));
  } else if (slot && !detours_.closed(*slot)) {
    forward(*slot, std::move(one));
  } else {
    note_kept(one);
    wake_by(limit_of(one));
    if (slot) {
      detours_.add(*slot, std::move(one));
    } else {
      lobby_.push_back(std::move(one));
      scout_.look();
    }
  }
}

/// On its way to the node that it is for; kept when there is none.
void cluster::forward(std::uint16_t slot, parcel what) {
  auto* const to = what.to != nullptr ? what.to : (*owners_)[slot];
  if (to == nullptr) {
    what.why = refusal::kind::unserved;
    keep(slot, std::move(what));
    return;
  }
  auto& line = to->over(what.what.what.over);
  if (what.to != nullptr) {
    // Counts for the request right behind it, and has to give up with it.
    net::request asking;
    resp::append_command(asking.bytes, {"ASKING"});
    asking.while_down = what.what.what.while_down;
    asking.give_up = what.what.what.give_up;
    asking.stays = true;
    line.send(std::move(asking));
  }
  line.send(std::move(what.what));
}

/// A slot is open, or some of its requests are due.
void cluster::advance(std::uint16_t slot) {
  if (shut_because_) return;
  for (auto& one : detours_.take(slot, boot_clock::now())) forward(slot, std::move(one));
}

/// What a node refuses it hasn't done, as a rule: whether an earlier copy was carried out is as unknown as
/// before.
bool cluster::on_refused(cluster_node& by, net::lane over, finished& what) {
  auto const slot = slot_for(what.what);
  if (shut_because_ || what.what.stays || !slot) return false;
  if (what.what.divisible && what.how.reply.is_error("TRYAGAIN")) return false;
  auto const said = read_refusal(what.how.reply.text);
  auto const elsewhere = said.what == refusal::kind::moved || said.what == refusal::kind::ask;
  if (said.what == refusal::kind::other || (elsewhere && said.slot != *slot)) return false;

  if (!said.halfway) what.how.sent = what.how.resent;
  parcel one{.what = std::move(what), .why = said.what};
  note_kept(one);
  cluster_node* to = nullptr;
  if (elsewhere) to = &announced({said.host, said.port}, by);
  if (said.what == refusal::kind::moved) learn(*slot, *to);
  // WAIT counts what its own connection has written, and has no part in asking.
  auto const later = said.what == refusal::kind::ask && over == net::lane::acknowledged;
  if (!elsewhere || later || ++one.what.what.redirects > most_redirects) {
    if (later) one.why = refusal::kind::not_yet;  // nodes that disagree may do so for ever
    keep(*slot, std::move(one));
    return true;
  }
  if (said.what == refusal::kind::ask) one.to = to;
  if (by.drain(*slot, over)) detours_.close(*slot);
  wake_by(limit_of(one));
  detours_.redirect(*slot, std::move(one));
  return true;
}

void cluster::keep(std::uint16_t slot, parcel one) {
  note_kept(one);
  auto& what = one.what.what;
  what.redirects = 0;
  one.to = nullptr;
  auto const longest = shortest_pause * (2U << std::min<unsigned>(what.pauses, most_doublings));
  if (what.pauses != 0xffff) ++what.pauses;
  std::uniform_int_distribution<std::chrono::nanoseconds::rep> pause{
      std::chrono::nanoseconds{shortest_pause}.count(), std::chrono::nanoseconds{longest}.count()};
  auto const retry = boot_clock::now() + std::chrono::nanoseconds{pause(random_)};
  wake_by(std::min(retry, limit_of(one)));
  if (one.why == refusal::kind::unserved) scout_.look();
  detours_.keep(slot, std::move(one), retry);
}

void cluster::empty_lobby() {
  auto all = std::exchange(lobby_, {});
  for (auto& one : all) dispatch(std::move(one.what));
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
    fail({.what = std::move(what), .how = {}},
         std::make_shared<error const>(errc::unreachable,
                                       how_.server.display + ": " + master + " serves no keys any more"));
    return;
  }
  what.stays = true;
  known->second->over(what.over).send(std::move(what));
}

bool cluster::idle() const noexcept {
  return lobby_.empty() && detours_.empty() &&
         std::ranges::all_of(nodes_, [](auto const& one) { return one.second->idle(); });
}

bool cluster::up() const noexcept {
  return std::ranges::any_of(masters_, [](auto const* one) { return one->up(); });
}

void cluster::listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) {
  if (shut_because_) return;
  if (channels_.listen(channel, whose, who)) return;
  scout_.look();
  wake_by(boot_clock::now() + placing_pause);
}

}  // namespace holdfast::topology
