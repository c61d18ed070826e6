#include "wire/plain/mixed.hpp"

#include "script/names.hpp"
#include "scripts/mixed.hpp"
#include "wire/lock_names.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace mixed_calls {

namespace lua = scripts::mixed;

/// Otherwise it is the number of permits.
bool is_lock(std::string_view kind) { return kind == "write" || kind == "read"; }

/// Keys of all names, and their kinds. `joined` must outlive the making of the call.
struct all_keys {
  explicit all_keys(std::string_view joined) {
    auto const list = split_kinds(joined);
    keys.reserve(4 * list.size());
    kinds.reserve(list.size());
    for (auto const& [name, kind] : list) keys.push_back({name});
    for (auto const& [name, kind] : list) keys.push_back({name, names::side_key::counter});
    for (auto const& [name, kind] : list)
      keys.push_back({name, is_lock(kind) ? names::side_key::queue : names::side_key::permit_queue});
    for (auto const& [name, kind] : list) {
      keys.push_back({name, is_lock(kind) ? names::side_key::readers : names::side_key::permits});
      kinds.emplace_back(kind);
    }
  }
  std::vector<key> keys{};
  std::vector<arg> kinds{};
};

/// There are no handoffs, so one token is enough.
call acquire(std::string_view name, acquire_request const& request) {
  all_keys const k{name};
  return lua::acquire{.keys = k.keys,
                      .owner = request.owner,
                      .ttl_ms = request.ttl.count(),
                      .tokens = 1,
                      .mode = request.join ? "join" : "ask",
                      .ticket = request.ticket,
                      .starvation_us = request.policy.starvation.count(),
                      .grant_ms = request.policy.grant.count(),
                      .publish = word_of(request.policy.publish),
                      .kinds = k.kinds}();
}

template <class Script>
call leave(owned lease, release_policy policy) {
  all_keys const k{lease.name};
  return Script{.keys = k.keys,
                .owner = lease.owner,
                .starvation_us = policy.starvation.count(),
                .grant_ms = policy.grant.count(),
                .publish = word_of(policy.publish),
                .kinds = k.kinds}();
}

call renew(milliseconds ttl, std::span<owned const> leases) {
  std::vector<key> readers;
  lua::renew script{.keys = {}, .ttl_ms = ttl.count(), .leases = {}};
  for (auto const& lease : leases) {
    auto const list = split_kinds(lease.name);
    script.leases.emplace_back(lease.owner);
    script.leases.emplace_back(list.size());
    for (auto const& [name, kind] : list) {
      script.keys.push_back({name});
      script.leases.emplace_back(kind);
      // Keys that are there: while a slot is on its way, a cluster refuses scripts of whose keys some are
      // missing.
      readers.push_back(kind == "read" ? key{name, names::side_key::readers} : key{name});
    }
  }
  script.keys.insert(script.keys.end(), readers.begin(), readers.end());
  return script();
}

}  // namespace mixed_calls
}  // namespace

constinit engine::recipe const mixed{.kind = history::kind::mixed,
                                     .order = order::barging,
                                     .sharing = sharing::counted,
                                     .found_by_counter = true,
                                     .acquire = mixed_calls::acquire,
                                     .release = mixed_calls::leave<mixed_calls::lua::release>,
                                     .abandon = mixed_calls::leave<mixed_calls::lua::abandon>,
                                     .renew = mixed_calls::renew,
                                     .several = &several};

}  // namespace holdfast::recipes::plain
