#include "topology/cluster.hpp"

#include <algorithm>
#include <utility>

#include "base/ids.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

/// After so many redirections in a row the nodes disagree: the request pauses instead.
constexpr std::uint16_t most_redirects = 16;

/// The pause before another try, with jitter. Doubles with each try, up to eight times as long.
constexpr std::chrono::milliseconds shortest_pause{10};
constexpr unsigned most_doublings = 3;

/// The pause before an unassigned channel is assigned again: limits the load while nodes disagree.
constexpr std::chrono::milliseconds placing_pause{20};

}  // namespace

std::optional<std::uint16_t> cluster::slot_for(net::request const& request) noexcept {
  if (request.slot) return request.slot;
  if (request.key.size == 0) return std::nullopt;
  return hash_slot(request.key_text());
}

cluster::cluster(reactor::loop& loop, net::deployment_url const& url, net::settings const& config,
                 client_stats& counts, events handlers)
    : loop_{loop},
      config_{config},
      counts_{counts},
      events_{std::move(handlers)},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      nodes_{loop,
             url,
             config,
             counts,
             {.refused = [this](cluster_node& node, net::connection_role role,
                                batch& requests) { return on_refused(node, role, requests); },
              .troubled = [this](cluster_node&) { on_troubled(); },
              .broken = events_.broken,
              .drained =
                  [this](std::uint16_t slot) {
                    redirects_.open(slot);
                    advance(slot);
                  },
              .late = [this](cluster_node& node) { failovers_.doubt(node); }}},
      out_of_memory_{std::make_shared<error const>(std::errc::not_enough_memory,
                                                   config_.server.display + ": out of memory")},
      channels_{{.server_of = [this](std::uint16_t slot) { return nodes_.owner_of(slot); },
                 .any = [this](cluster_node* current,
                               cluster_node* avoided) { return nodes_.any(current, avoided); },
                 .sharded = [this] { return sharded_; },
                 .displaced =
                     [this](cluster_node& node, refusal const& refusal) {
                       if (refusal.type == refusal::kind::moved) {
                         try_or_retry([&] {
                           learn(refusal.slot, nodes_.announced({refusal.host, refusal.port}, node));
                         });
                       } else {
                         refresh_.look();
                       }
                       wake_by(boot_clock::now() + placing_pause);
                     }}},
      refresh_{loop,
               {.candidates = [this] { return nodes_.candidates(random_); },
                .found = [this](cluster_node& source,
                                topology_refresh::findings const& findings) { on_found(source, findings); },
                .failed = [this](std::shared_ptr<error const> const& reason) { on_unknown(reason); }}},
      failovers_{loop,
                 {.at_stake = events_.at_stake,
                  .masters =
                      [this] {
                        return std::vector<cluster_node*>{nodes_.masters().begin(), nodes_.masters().end()};
                      },
                  .is_new = [this](std::uint64_t epoch) { return refresh_.is_new(epoch); },
                  .look = [this] { refresh_.look(); },
                  .confirmed = [](cluster_node& node) { node.believe(); }}},
      retry_timer_{[this] { retry_waiting(); }} {}

cluster::~cluster() = default;

void cluster::send(net::request&& request) {
  failovers_.begin();
  if (auto const slot = slot_for(request)) {
    auto* const owner = nodes_.owner_of(*slot);
    if (owner != nullptr && (redirects_.empty() || !redirects_.closed(*slot))) {
      owner->over(request.role).send(std::move(request));
      return;
    }
  }
  batch requests;
  requests.emplace_back().request = std::move(request);
  dispatch(requests);
  if (!shut_reason_) ++counts_.commands;
}

cluster::batch cluster::first_of(batch& requests) noexcept {
  batch first;
  first.splice(first.begin(), requests, requests.begin());
  return first;
}

void cluster::dispatch(batch& requests) {
  if (shut_reason_) {
    fail(std::move(requests), shut_reason_);
    return;
  }
  auto& entry = requests.front();
  auto const slot = slot_for(entry.request);
  auto* const any = !slot && mapped_ && health_.ok ? nodes_.any(nullptr, nullptr) : nullptr;
  entry.request.kept_for = slot ? refusal::kind::other : refusal::kind::unserved;
  entry.request.ask_at = nullptr;
  if (any != nullptr) {
    any->over(entry.request.role).send(std::move(requests));
  } else if (slot && !redirects_.closed(*slot)) {
    forward(*slot, requests);
  } else {
    note_kept(entry);
    wake_by(fails_at(entry));
    if (slot) {
      redirects_.add(*slot, std::move(requests));
    } else {
      unrouted_.splice(unrouted_.end(), requests);
      refresh_.look();
    }
  }
}

/// For a request that was accepted before: it fails if there is no memory.
void cluster::dispatch_or_fail(batch& requests) noexcept {
  try {
    dispatch(requests);
  } catch (std::exception const&) {
    fail(std::move(requests), out_of_memory_);
  }
}

/// Sends the request to its node; keeps it when there is none.
void cluster::forward(std::uint16_t slot, batch& requests) {
  auto& request = requests.front().request;
  auto* const node = request.ask_at != nullptr ? request.ask_at : nodes_.owner_of(slot);
  if (node == nullptr) {
    request.kept_for = refusal::kind::unserved;
    hold_back(slot, requests);
    return;
  }
  auto& connection = node->over(request.role);
  request.asked = request.ask_at != nullptr;
  if (request.asked) {
    // ASKING applies to the next request only, so both must give up at the same time.
    net::request asking;
    resp::append_command(asking.bytes, {"ASKING"});
    asking.while_down = request.while_down;
    asking.give_up = request.give_up;
    asking.stays = true;
    connection.send(std::move(asking));
    request.ask_at = nullptr;
  }
  connection.send(std::move(requests));
}

/// Sends the slot's requests that may go now. Called when the slot is open, or some requests are due.
void cluster::advance(std::uint16_t slot) noexcept {
  if (shut_reason_) return;
  for (auto ready = redirects_.take(slot, boot_clock::now()); !ready.empty();) {
    auto first = first_of(ready);
    try {
      forward(slot, first);
    } catch (std::exception const&) {
      fail(std::move(first), out_of_memory_);
    }
  }
}

/// A refused request has normally done nothing. Whether an earlier copy was carried out stays as unknown as
/// before.
bool cluster::on_refused(cluster_node& node, net::connection_role role, batch& requests) {
  auto& entry = requests.front();
  auto const slot = slot_for(entry.request);
  if (shut_reason_ || entry.request.stays || !slot) return false;
  if (entry.request.divisible && entry.response.reply.is_error("TRYAGAIN")) return false;
  auto const refusal = read_refusal(entry.response.reply.text);
  auto const elsewhere = refusal.type == refusal::kind::moved || refusal.type == refusal::kind::ask;
  if (refusal.type == refusal::kind::other || (elsewhere && refusal.slot != *slot)) return false;

  if (!refusal.halfway) entry.response.sent = entry.response.resent;
  entry.request.kept_for = refusal.type;
  entry.request.ask_at = nullptr;
  note_kept(entry);
  cluster_node* target = nullptr;
  if (elsewhere) target = &nodes_.announced({refusal.host, refusal.port}, node);
  if (refusal.type == refusal::kind::moved) learn(*slot, *target);
  // WAIT counts the writes of its own connection, so an acknowledged request can't follow ASK.
  auto const later = refusal.type == refusal::kind::ask && role == net::connection_role::acknowledged;
  if (!elsewhere || later || ++entry.request.redirects > most_redirects) {
    if (later) entry.request.kept_for = refusal::kind::halved;  // nodes that disagree may do so forever
    hold_back(*slot, requests);
    return true;
  }
  redirects_.close(*slot);
  try {
    if (!node.drain(*slot, role)) redirects_.open(*slot);
  } catch (std::exception const&) {
    redirects_.open(*slot);
    throw;
  }
  if (refusal.type == refusal::kind::ask) entry.request.ask_at = target;
  wake_by(fails_at(entry));
  redirects_.redirect(*slot, std::move(requests));
  return true;
}

void cluster::hold_back(std::uint16_t slot, batch& requests) {
  auto& entry = requests.front();
  note_kept(entry);
  entry.request.redirects = 0;
  entry.request.ask_at = nullptr;
  auto const longest = shortest_pause * (2U << std::min<unsigned>(entry.request.pauses, most_doublings));
  if (entry.request.pauses != 0xffff) ++entry.request.pauses;
  std::uniform_int_distribution<std::chrono::nanoseconds::rep> pause{
      std::chrono::nanoseconds{shortest_pause}.count(), std::chrono::nanoseconds{longest}.count()};
  auto const retry_at = boot_clock::now() + std::chrono::nanoseconds{pause(random_)};
  wake_by(std::min(retry_at, fails_at(entry)));
  if (entry.request.kept_for == refusal::kind::unserved) refresh_.look();
  redirects_.hold_back(slot, std::move(requests), retry_at);
}

void cluster::send_unrouted() noexcept {
  for (auto all = std::exchange(unrouted_, {}); !all.empty();) {
    auto first = first_of(all);
    dispatch_or_fail(first);
  }
}

std::vector<std::string> cluster::masters() const {
  std::vector<std::string> result;
  result.reserve(nodes_.masters().size());
  for (auto const* const master : nodes_.masters()) result.push_back(master->name());
  return result;
}

void cluster::send_to(std::string const& master, net::request request) {
  auto* const known = nodes_.find(master);
  if (known == nullptr) {
    auto const reason = std::make_shared<error const>(
        errc::unreachable, config_.server.display + ": " + master + " serves no keys any more");
    batch requests;
    requests.emplace_back().request = std::move(request);
    fail(std::move(requests), reason);
    return;
  }
  request.stays = true;
  known->over(request.role).send(std::move(request));
}

bool cluster::idle() const noexcept { return unrouted_.empty() && redirects_.empty() && nodes_.idle(); }

bool cluster::up() const noexcept {
  return std::ranges::any_of(nodes_.masters(), [](auto const* master) { return master->up(); });
}

void cluster::listen(std::string const& channel, channel_of scope, net::subscriber::listener& listener) {
  if (shut_reason_) return;
  if (channels_.listen(channel, scope, listener)) return;
  refresh_.look();
  wake_by(boot_clock::now() + placing_pause);
}

}  // namespace holdfast::topology
