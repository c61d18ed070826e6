/// Ends migrations that were interrupted.
#include "cluster_servers.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::test {

/// Of a slot that nobody serves any more: who has most of its keys.
redis_server& cluster_servers::server_or_heir_of(std::uint16_t slot) {
  auto const serving = masters();
  if (serving.empty()) throw std::runtime_error{"no master serves anything"};
  auto const serves = [&](redis_server* named) {
    return std::find(serving.begin(), serving.end(), named) != serving.end();
  };
  if (auto* const named = named_by_most(slot, serves)) return *named;
  auto const count = [&](redis_server const* node) {
    return run_checked(*node, {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer;
  };
  return **std::max_element(serving.begin(), serving.end(),
                            [&](auto* a, auto* b) { return count(a) < count(b); });
}

/// What the target has, too, is older there, or of a request that was carried out though it seemed to fail.
void cluster_servers::bring_keys_back(std::uint16_t slot, redis_server& from, redis_server& to) {
  auto const number = std::to_string(slot);
  for (auto keys = some_keys_in(slot, from); !keys.empty(); keys = some_keys_in(slot, from)) {
    // It refuses to do anything with a slot that it neither serves nor imports.
    (void)from.raw().command({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(to)});
    for (auto const& key : keys) {
      if (from.raw().command(migration_of({key}, to)).text.find("BUSYKEY") == std::string::npos) continue;
      (void)from.raw().command({"ASKING"});
      run_checked(from, {"DEL", key});
    }
  }
}

void cluster_servers::settle(std::uint16_t slot) {
  auto const number = std::to_string(slot);
  auto& keeper = server_or_heir_of(slot);
  auto const serving = masters();
  for (auto* master : serving) run_checked(*master, {"CLUSTER", "SETSLOT", number, "STABLE"});
  run_checked(keeper, {"CLUSTER", "SETSLOT", number, "NODE", id_of(keeper)});
  for (auto* master : serving)
    if (master != &keeper) bring_keys_back(slot, *master, keeper);
  end_migration(slot, keeper, keeper);
}

}  // namespace holdfast::test
