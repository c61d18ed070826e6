#include "topology/slot_map.hpp"

#include <algorithm>

#include "base/hash_slot.hpp"
#include "base/whole_number.hpp"

namespace holdfast::topology {
namespace {

bool is_slot(resp::reply const& reply) {
  return reply.is_integer() && reply.integer >= 0 && reply.integer < hash_slots;
}

std::optional<net::server_address> read_node(resp::reply const& reply, std::string const& asked) {
  if (!reply.is_array() || reply.size() < 2 || !reply[1].is_integer()) return std::nullopt;
  auto const port = reply[1].integer;
  if (port < 1 || port > 65535 || !(reply[0].is_text() || reply[0].is_nil())) return std::nullopt;
  auto const unsaid = reply[0].is_nil() || reply[0].text.empty() || reply[0].text == "?";
  return net::server_address{.host = unsaid ? asked : reply[0].text,
                             .port = static_cast<std::uint16_t>(port)};
}

std::optional<slot_range> read_range(resp::reply const& reply, std::string const& asked) {
  if (!reply.is_array() || reply.size() < 3 || !is_slot(reply[0]) || !is_slot(reply[1])) return std::nullopt;
  auto const master = read_node(reply[2], asked);
  if (!master || reply[0].integer > reply[1].integer) return std::nullopt;
  slot_range result{.first = static_cast<std::uint16_t>(reply[0].integer),
                    .last = static_cast<std::uint16_t>(reply[1].integer),
                    .master = *master};
  for (std::size_t i = 3; i < reply.size(); ++i) {
    if (auto replica = read_node(reply[i], asked)) result.replicas.push_back(*std::move(replica));
  }
  return result;
}

/// The value of a line "name:value".
std::string_view field(std::string_view text, std::string_view name) {
  auto const position = text.find(name);
  if (position == std::string_view::npos) return {};
  auto const value = text.substr(position + name.size());
  return value.substr(0, value.find_first_of("\r\n"));
}

}  // namespace

std::optional<std::vector<slot_range>> read_slots(resp::reply const& reply, std::string const& asked) {
  if (!reply.is_array()) return std::nullopt;
  std::vector<slot_range> result;
  result.reserve(reply.size());
  for (auto const& element : reply.elements) {
    auto range = read_range(element, asked);
    if (!range) return std::nullopt;
    result.push_back(*std::move(range));
  }
  return result;
}

cluster_health read_health(resp::reply const& info) {
  cluster_health result;
  if (!info.is_text()) return result;
  auto const state = field(info.text, "cluster_state:");
  result.ok = state.empty() || state == "ok";
  result.epoch = leading_number(field(info.text, "cluster_current_epoch:"), result.epoch);
  return result;
}

std::optional<std::uint16_t> first_unserved(std::vector<slot_range> const& ranges) {
  std::vector<bool> served(hash_slots);
  for (auto const& range : ranges) {
    std::fill(served.begin() + range.first, served.begin() + range.last + 1, true);
  }
  auto const gap = std::ranges::find(served, false);
  if (gap == served.end()) return std::nullopt;
  return static_cast<std::uint16_t>(gap - served.begin());
}

}  // namespace holdfast::topology
