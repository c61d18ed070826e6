#include "wire/lock_names.hpp"

#include <charconv>

namespace holdfast::recipes {
namespace {

namespace packed {

/// Removes the first name from the result of join_names.
name_and_kind take(std::string_view& joined) {
  std::size_t size = 0;
  auto const end = std::from_chars(joined.data(), joined.data() + joined.size(), size).ptr;
  joined.remove_prefix(static_cast<std::size_t>(end - joined.data()));
  auto const colon = joined.find(':');
  auto const kind = joined.substr(0, colon);
  joined.remove_prefix(colon + 1);
  auto const name = joined.substr(0, size);
  joined.remove_prefix(size);
  return {.name = name, .kind = kind.empty() ? kind : kind.substr(1)};
}

std::string kind_of(multi_name const& wanted) {
  switch (wanted.as) {
    case multi_name::hold::write:
      return "write";
    case multi_name::hold::read:
      return "read";
    case multi_name::hold::permits:
      break;
  }
  return std::to_string(wanted.count) + '/' + std::to_string(wanted.size);
}

std::string title(std::string_view joined) { return title_of(split_names(joined)); }

std::size_t count(std::string_view joined) { return split_names(joined).size(); }

std::string_view first(std::string_view joined) { return take(joined).name; }

std::vector<std::string_view> kinds(std::string_view joined) {
  std::vector<std::string_view> list;
  while (!joined.empty()) list.push_back(take(joined).kind);
  return list;
}

std::size_t only_one(std::string_view) { return 1; }
std::vector<std::string_view> only_first(std::string_view joined) { return {first(joined)}; }
std::string title_of_first(std::string_view joined) { return '"' + std::string{first(joined)} + '"'; }

}  // namespace packed
}  // namespace

constinit engine::lock_names const several{.count = packed::count,
                                           .first = packed::first,
                                           .all = split_names,
                                           .title = packed::title,
                                           .kinds = packed::kinds};

constinit engine::lock_names const seats{.count = packed::only_one,
                                         .first = packed::first,
                                         .all = packed::only_first,
                                         .title = packed::title_of_first};

void add_leases(std::span<engine::owned const> leases, std::vector<key>& locks, std::vector<arg>& owners) {
  for (auto const& lease : leases) {
    auto const list = split_names(lease.name);
    for (auto const name : list) locks.push_back({name});
    owners.emplace_back(lease.owner);
    owners.emplace_back(list.size());
  }
}

std::string join_names(std::span<std::string const> sorted) {
  std::string joined;
  for (auto const& name : sorted) joined.append(std::to_string(name.size())).append(":").append(name);
  return joined;
}

std::string join_names(std::span<multi_name const> sorted) {
  std::string joined;
  for (auto const& wanted : sorted) {
    joined.append(std::to_string(wanted.name.size())).append("=").append(packed::kind_of(wanted));
    joined.append(":").append(wanted.name);
  }
  return joined;
}

std::vector<std::string_view> split_names(std::string_view joined) {
  std::vector<std::string_view> list;
  while (!joined.empty()) list.push_back(packed::take(joined).name);
  return list;
}

std::vector<name_and_kind> split_kinds(std::string_view joined) {
  std::vector<name_and_kind> list;
  while (!joined.empty()) list.push_back(packed::take(joined));
  return list;
}

std::string title_of(std::span<std::string_view const> names) {
  auto const quoted = [&names](std::size_t i) { return '"' + std::string{names[i]} + '"'; };
  switch (names.size()) {
    case 1:
      return quoted(0);
    case 2:
      return quoted(0) + " and " + quoted(1);
    default:
      return quoted(0) + ", " + quoted(1) + " and " + std::to_string(names.size() - 2) + " more";
  }
}

}  // namespace holdfast::recipes
