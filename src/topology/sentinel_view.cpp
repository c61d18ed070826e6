#include "topology/sentinel_view.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace holdfast::topology {
namespace {

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number value{};
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<address> to_address(std::string_view host, std::string_view port) {
  auto const number = to_number<std::uint16_t>(port);
  if (host.empty() || !number || *number == 0) return std::nullopt;
  return address{.host = std::string{host}, .port = *number};
}

/// Of a list of names and values, one after the other; empty when it isn't there.
std::string_view field(resp::reply const& of, std::string_view name) {
  for (std::size_t i = 0; i + 1 < of.size(); i += 2) {
    if (of[i].is_text(name) && of[i + 1].is_text()) return of[i + 1].text;
  }
  return {};
}

/// A sentinel has one vote, however many names it was asked under.
std::size_t votes_for(address const& master, std::int64_t epoch,
                      std::span<sentinel_view const* const> views) {
  std::set<std::string_view> known;
  std::size_t unknown = 0;
  for (auto const* const one : views) {
    if (one->master != master || one->epoch != epoch) continue;
    if (one->id.empty()) {
      ++unknown;
    } else {
      known.insert(one->id);
    }
  }
  return known.size() + unknown;
}

}  // namespace

bool read_id(resp::reply const& from, sentinel_view& to) {
  to.id = from.is_text() ? from.text : std::string{};
  return true;  // a name is nice to have
}

bool read_address(resp::reply const& from, sentinel_view& to) {
  to.master.reset();
  if (from.is_nil()) return true;
  if (!from.is_array() || from.size() != 2) return false;
  to.master = to_address(from[0].text, from[1].text);
  return to.master.has_value();
}

bool read_master(resp::reply const& from, sentinel_view& to) {
  to.epoch = 0;
  if (!from.is_array()) return from.is_error();  // it knows no such master, or may not say
  to.epoch = to_number<std::int64_t>(field(from, "config-epoch")).value_or(0);
  return true;
}

bool read_others(resp::reply const& from, sentinel_view& to) {
  to.others.clear();
  if (!from.is_array()) return from.is_error();
  for (auto const& one : from.elements) {
    auto at = to_address(field(one, "ip"), field(one, "port"));
    if (at) to.others.push_back({.id = std::string{field(one, "runid")}, .at = std::move(*at)});
  }
  return true;
}

std::vector<std::string> read_names(resp::reply const& of_masters) {
  std::vector<std::string> names;
  for (auto const& one : of_masters.elements) {
    if (auto const name = field(one, "name"); !name.empty()) names.emplace_back(name);
  }
  return names;
}

// "<name> <old host> <old port> <new host> <new port>"
bool is_switch(std::string_view message, std::string_view name) {
  return message.size() > name.size() && message.starts_with(name) && message[name.size()] == ' ';
}

std::optional<sentinel_verdict> verdict_of(std::span<sentinel_view const* const> views,
                                           std::optional<address> const& last, tie of_equals,
                                           std::size_t unanswered) {
  sentinel_view const* best = nullptr;
  std::size_t votes = 0;
  std::size_t all = views.size() + unanswered;
  for (auto const* const one : views) {
    if (!one->master) continue;
    all = std::max(all, one->others.size() + 1);
    auto const mine = votes_for(*one->master, one->epoch, views);
    auto const rank = [&](sentinel_view const& of, std::size_t count) {
      return std::tuple{of.epoch, count, (of.master == last) == (of_equals == tie::stay)};
    };
    if (best != nullptr && rank(*one, mine) <= rank(*best, votes)) continue;
    best = one;
    votes = mine;
  }
  if (best == nullptr) return std::nullopt;
  return sentinel_verdict{.master = *best->master, .epoch = best->epoch, .settled = votes > all / 2};
}

bool disagree(std::span<sentinel_view const* const> views) {
  std::optional<address> first;
  return std::ranges::any_of(views, [&first](sentinel_view const* one) {
    if (!one->master) return false;
    if (!first) first = one->master;
    return *first != *one->master;
  });
}

}  // namespace holdfast::topology
