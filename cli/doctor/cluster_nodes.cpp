// Parses CLUSTER NODES: a line for each node, `id host:port@bus-port[,hostname[,…]] flags master ping pong
// epoch link slots…`
#include "doctor/cluster.hpp"

#include "base/whole_number.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char const separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    auto const end = std::min(text.find(separator), text.size());
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
std::optional<Number> small_number(std::string_view const text) {
  auto const value = whole_number(text);
  if (!value || !std::in_range<Number>(*value)) return std::nullopt;
  return static_cast<Number>(*value);
}

probe::server_address address_of(std::string_view text) {
  text = text.substr(0, text.find_first_of("@,"));
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  return {std::string{text.substr(0, colon)},
          small_number<std::uint16_t>(text.substr(colon + 1)).value_or(0)};
}

cluster_node::health health_of(std::vector<std::string_view> const& flags) {
  using enum cluster_node::health;
  auto const has = [&flags](std::string_view const flag) {
    return std::ranges::find(flags, flag) != flags.end();
  };
  if (has("fail")) return failed;
  if (has("fail?")) return suspected;
  return has("noaddr") || has("handshake") ? without_address : fine;
}

/// "[93-<-id]": the slot is imported from id. "[77->-id]": it is migrated to id.
std::string moving_slot(std::string_view text) {
  text.remove_prefix(1);
  if (text.ends_with(']')) text.remove_suffix(1);
  auto const dash = text.find('-');
  auto const slot = text.substr(0, dash);
  auto const rest = dash == std::string_view::npos ? std::string_view{} : text.substr(dash + 1);
  auto const other = rest.substr(std::min<std::size_t>(rest.find('-'), rest.size() - 1) + 1);
  return std::string{slot}.append(rest.starts_with('<') ? " from " : " to ").append(other);
}

void read_slot(std::string_view const text, cluster_node& node) {
  if (text.starts_with('[')) {
    node.moving.push_back(moving_slot(text));
    return;
  }
  auto const dash = text.find('-');
  auto const first = small_number<std::uint16_t>(text.substr(0, dash));
  auto const last =
      dash == std::string_view::npos ? first : small_number<std::uint16_t>(text.substr(dash + 1));
  if (first && last) node.slots.push_back({*first, *last});
}

}  // namespace

std::vector<cluster_node> read_nodes(std::string_view const text) {
  constexpr std::size_t first_slot = 8;
  std::vector<cluster_node> nodes;
  for (auto line : parts_of(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    auto const fields = parts_of(line, ' ');
    if (fields.size() < first_slot) continue;
    auto const flags = parts_of(fields[2], ',');
    auto const has = [&flags](std::string_view const flag) {
      return std::ranges::find(flags, flag) != flags.end();
    };
    cluster_node node{.id = std::string{fields[0]},
                      .name = address_of(fields[1]),
                      .is_master = has("master"),
                      .asked_here = has("myself"),
                      .condition = health_of(flags),
                      .master_id = fields[3] == "-" ? std::string{} : std::string{fields[3]}};
    for (std::size_t i = first_slot; i < fields.size(); ++i) read_slot(fields[i], node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace holdfast::cli
