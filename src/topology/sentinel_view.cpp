#include "topology/sentinel_view.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/whole_number.hpp"

namespace holdfast::topology {
namespace {

std::optional<net::server_address> to_address(std::string_view host, std::string_view port) {
  auto const number = whole_number<std::uint16_t>(port);
  if (host.empty() || !number || *number == 0) return std::nullopt;
  return net::server_address{.host = std::string{host}, .port = *number};
}

/// From a flat list of names and values; empty when the name is missing.
std::string_view field(resp::reply const& list, std::string_view name) {
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i].is_text(name) && list[i + 1].is_text()) return list[i + 1].text;
  }
  return {};
}

/// A sentinel has one vote, however many addresses it was asked under.
std::size_t votes_for(net::server_address const& master, std::int64_t epoch,
                      std::span<sentinel_view const* const> views) {
  std::set<std::string_view> known;
  std::size_t unknown = 0;
  for (auto const* const view : views) {
    if (view->master != master || view->epoch != epoch) continue;
    if (view->id.empty()) {
      ++unknown;
    } else {
      known.insert(view->id);
    }
  }
  return known.size() + unknown;
}

}  // namespace

bool read_id(resp::reply const& reply, sentinel_view& view) {
  view.id = reply.is_text() ? reply.text : std::string{};
  return true;  // the id is optional
}

bool read_address(resp::reply const& reply, sentinel_view& view) {
  view.master.reset();
  if (reply.is_nil()) return true;
  if (!reply.is_array() || reply.size() != 2) return false;
  view.master = to_address(reply[0].text, reply[1].text);
  return view.master.has_value();
}

bool read_master(resp::reply const& reply, sentinel_view& view) {
  view.epoch = 0;
  view.watched.reset();
  if (!reply.is_array()) return reply.is_error();  // it knows no such master, or lacks the permission
  view.epoch = whole_number<std::int64_t>(field(reply, "config-epoch")).value_or(0);
  view.watched = to_address(field(reply, "ip"), field(reply, "port"));
  return true;
}

bool read_others(resp::reply const& reply, sentinel_view& view) {
  view.others.clear();
  if (!reply.is_array()) return reply.is_error();
  for (auto const& peer : reply.elements) {
    auto endpoint = to_address(field(peer, "ip"), field(peer, "port"));
    if (endpoint)
      view.others.push_back({.id = std::string{field(peer, "runid")}, .at = std::move(*endpoint)});
  }
  return true;
}

std::vector<std::string> read_names(resp::reply const& masters) {
  std::vector<std::string> names;
  for (auto const& master : masters.elements) {
    if (auto const name = field(master, "name"); !name.empty()) names.emplace_back(name);
  }
  return names;
}

// "<name> <old host> <old port> <new host> <new port>"
bool is_switch(std::string_view message, std::string_view name) {
  return message.size() > name.size() && message.starts_with(name) && message[name.size()] == ' ';
}

// "slave <name of the replica> <its host> <its port> @ <name> <old host> <old port>"
bool is_promotion(std::string_view message, std::string_view name) {
  constexpr std::string_view of_master = " @ ";
  auto const found = message.find(of_master);
  return found != std::string_view::npos && is_switch(message.substr(found + of_master.size()), name);
}

std::optional<sentinel_verdict> verdict_of(std::span<sentinel_view const* const> views,
                                           std::optional<net::server_address> const& last, tie tie_rule,
                                           std::size_t unanswered) {
  sentinel_view const* best = nullptr;
  std::size_t best_votes = 0;
  std::size_t all = views.size() + unanswered;
  for (auto const* const view : views) {
    if (!view->master) continue;
    all = std::max(all, view->others.size() + 1);
    auto const votes = votes_for(*view->master, view->epoch, views);
    auto const rank = [&](sentinel_view const& candidate, std::size_t count) {
      return std::tuple{candidate.age(), count, (candidate.master == last) == (tie_rule == tie::stay)};
    };
    if (best != nullptr && rank(*view, votes) <= rank(*best, best_votes)) continue;
    best = view;
    best_votes = votes;
  }
  if (best == nullptr) return std::nullopt;
  return sentinel_verdict{.master = *best->master, .age = best->age(), .settled = best_votes > all / 2};
}

bool disagree(std::span<sentinel_view const* const> views) {
  std::optional<net::server_address> first;
  return std::ranges::any_of(views, [&first](sentinel_view const* view) {
    if (!view->master) return false;
    if (!first) first = view->master;
    return *first != *view->master;
  });
}

}  // namespace holdfast::topology
