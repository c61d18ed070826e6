#include "sync/multi.hpp"

#include <charconv>

#include "script/names.hpp"
#include "scripts/multi.hpp"
#include "sync/exclusive.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync {
namespace {

using namespace engine;

namespace multi_calls {

namespace lua = scripts::multi;

/// Removes the first name from the result of join_names.
std::string_view take_name(std::string_view& joined) {
  std::size_t size = 0;
  auto const end = std::from_chars(joined.data(), joined.data() + joined.size(), size).ptr;
  joined.remove_prefix(static_cast<std::size_t>(end - joined.data()) + 1);
  auto const name = joined.substr(0, size);
  joined.remove_prefix(size);
  return name;
}

/// Keys of all names. The strings must outlive the making of the call.
struct all_keys {
  explicit all_keys(std::string_view joined) {
    auto const list = split_names(joined);
    beside.reserve(2 * list.size());
    keys.reserve(3 * list.size());
    for (auto const name : list) keys.push_back({name});
    for (auto const name : list) keys.push_back({beside.emplace_back(names::token_counter(name))});
    for (auto const name : list) keys.push_back({beside.emplace_back(names::queue(name))});
  }
  std::vector<std::string> beside{};
  std::vector<key> keys{};
};

call acquire(std::string_view name, acquire_request const& request) {
  all_keys const k{name};
  return lua::acquire{.keys = k.keys,
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = request.tokens,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .starvation_us = request.policy.starvation.count(),
                      .grant_ms = request.policy.grant.count(),
                      .publish = word_of(request.policy.publish)}();
}

call release(owned lease, release_policy policy) {
  all_keys const k{lease.name};
  return lua::release{.keys = k.keys,
                      .owner = lease.owner,
                      .starvation_us = policy.starvation.count(),
                      .grant_ms = policy.grant.count(),
                      .publish = word_of(policy.publish)}();
}

call pass(owned lease, release_policy policy, acquire_request const& next) {
  all_keys const k{lease.name};
  return lua::pass{.keys = k.keys,
                   .owner = lease.owner,
                   .starvation_us = policy.starvation.count(),
                   .grant_ms = policy.grant.count(),
                   .publish = word_of(policy.publish),
                   .next = next.owner,
                   .ttl_ms = next.ttl.count(),
                   .tokens = next.tokens}();
}

call abandon(owned lease, release_policy policy) {
  all_keys const k{lease.name};
  return lua::abandon{.keys = k.keys,
                      .owner = lease.owner,
                      .starvation_us = policy.starvation.count(),
                      .grant_ms = policy.grant.count(),
                      .publish = word_of(policy.publish)}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  lua::renew script{.locks = {}, .ttl_ms = ttl.count(), .leases = {}};
  add_leases(leases, script.locks, script.leases);
  return script();
}

std::string title(std::string_view joined) { return title_of(split_names(joined)); }

std::size_t count(std::string_view joined) { return split_names(joined).size(); }

std::string_view first(std::string_view joined) { return take_name(joined); }

}  // namespace multi_calls
}  // namespace

constinit lock_names const several{.count = multi_calls::count,
                                   .first = multi_calls::first,
                                   .all = split_names,
                                   .title = multi_calls::title};

void add_leases(std::span<owned const> leases, std::vector<key>& locks, std::vector<arg>& owners) {
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

std::vector<std::string_view> split_names(std::string_view joined) {
  std::vector<std::string_view> list;
  while (!joined.empty()) list.push_back(multi_calls::take_name(joined));
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

constinit engine::recipe const multi{.order = order::barging,
                                     .acquire = multi_calls::acquire,
                                     .read_acquire = replies::read_acquire,
                                     .release = multi_calls::release,
                                     .read_release = replies::read_release,
                                     .pass = multi_calls::pass,
                                     .read_pass = replies::read_pass,
                                     .abandon = multi_calls::abandon,
                                     .renew = multi_calls::renew,
                                     .read_renew = replies::read_renew,
                                     .several = &several};

}  // namespace holdfast::sync
