#include <holdfast/quorum_mutex.hpp>

#include <utility>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "sync/kind.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// A slow master may take a tenth of the ttl to reply; a tenth must exceed a scheduling delay.
constexpr milliseconds shortest_ttl = 100ms;

lock_options normalize_quorum_options(lock_options options) {
  sync::check(options.ttl >= shortest_ttl, "ttl of a quorum_mutex must be at least " +
                                               std::to_string(shortest_ttl.count()) + " ms, not " +
                                               std::to_string(options.ttl.count()) + " ms");
  sync::check(options.replicas == 0 && !options.fsynced,
              "a quorum_mutex has no replicas to wait for: each of its servers votes by itself; leave "
              "lock_options::replicas and fsynced out");
  return options;
}

constexpr engine::exclusive_kind by_majority{.wires = sync::quorum_wires,
                                             .normalize_options = normalize_quorum_options,
                                             .again = engine::exclusive_kind::nesting::refused};

}  // namespace

quorum_mutex::quorum_mutex(client& redis, std::string name, lock_options options)
    : exclusive_lock{redis, std::move(name), options, by_majority} {}

bool quorum_mutex::is_for(client const& redis) noexcept {
  return engine::access::core_of(redis)->constants().deployment.votes;
}

}  // namespace holdfast
