#include "sync/wires.hpp"

#include <string>

#include "sync/exclusive.hpp"
#include "sync/fair.hpp"
#include "sync/multi.hpp"
#include "sync/options_check.hpp"
#include "sync/quorum.hpp"
#include "sync/redisson.hpp"

namespace holdfast::sync {

constexpr wires exclusive_wires{.plain = exclusive, .redisson = redisson::lock, .fenced = &redisson::fenced};
constexpr wires fair_wires{.plain = fair, .redisson = redisson::fair, .fenced = nullptr};
constexpr wires quorum_wires{.plain = quorum, .redisson = redisson::quorum, .fenced = nullptr};
constexpr wires multi_wires{.plain = multi, .redisson = redisson::multi, .fenced = nullptr};
constexpr wires lone_wires{.plain = exclusive, .redisson = redisson::lock, .fenced = nullptr};

namespace {

bool on_redisson(lock_options const& options, engine::core const& client) noexcept {
  return (options.wire == wire::automatic ? client.wire() : options.wire) == wire::redisson;
}

}  // namespace

engine::recipe const& choose(wires const& kind, std::span<std::string const> names,
                             lock_options const& options, engine::core const& client) {
  if (!on_redisson(options, client)) {
    if (client.clustered()) {
      for (auto const& name : names) check_cluster_name(name);
    }
    return kind.plain;
  }
  for (auto const& name : names) check_redisson_name(name);
  if (!options.fenced) return kind.redisson;
  if (kind.fenced == nullptr) {
    throw error{std::errc::invalid_argument,
                "on Redisson's wire only mutex and recursive_mutex can be fenced; leave lock_options::fenced "
                "out, or use wire::plain, where all locks have tokens"};
  }
  return *kind.fenced;
}

}  // namespace holdfast::sync
