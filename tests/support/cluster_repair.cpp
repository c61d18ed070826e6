/// Ends migrations that were interrupted.
#include "cluster_servers.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace holdfast::test {
namespace {

raw_reply answer_of(redis_server const& node, std::vector<std::string> const& words) {
  auto reply = node.raw().command(words);
  if (reply.is_error()) throw std::runtime_error{words.at(0) + ' ' + words.at(1) + ": " + reply.text};
  return reply;
}

std::int64_t keys_in(std::uint16_t slot, redis_server const& node) {
  return answer_of(node, {"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer;
}

}  // namespace

/// Of a slot that nobody serves any more: who has most of its keys.
redis_server& cluster_servers::server_or_heir_of(std::uint16_t slot) {
  auto const serving = masters();
  if (serving.empty()) throw std::runtime_error{"no master serves anything"};
  std::map<redis_server*, int> votes;
  for (auto& node : nodes_) {
    auto* const named = node->runs() ? server_according_to(*node, slot) : nullptr;
    if (std::find(serving.begin(), serving.end(), named) != serving.end()) ++votes[named];
  }
  auto const most = std::max_element(votes.begin(), votes.end(),
                                     [](auto const& a, auto const& b) { return a.second < b.second; });
  if (most != votes.end()) return *most->first;
  return **std::max_element(serving.begin(), serving.end(),
                            [&](auto* a, auto* b) { return keys_in(slot, *a) < keys_in(slot, *b); });
}

/// What the target has, too, is older there, or of a request that was carried out though it seemed to fail.
void cluster_servers::bring_keys_back(std::uint16_t slot, redis_server& from, redis_server& to) {
  auto const number = std::to_string(slot);
  while (keys_in(slot, from) != 0) {
    // It refuses to do anything with a slot that it neither serves nor imports.
    (void)from.raw().command({"CLUSTER", "SETSLOT", number, "IMPORTING", id_of(to)});
    for (auto const& key : answer_of(from, {"CLUSTER", "GETKEYSINSLOT", number, "100"}).elements) {
      std::vector<std::string> words{"MIGRATE", "127.0.0.1", std::to_string(to.port()),
                                     key.text,  "0",         "5000"};
      if (!options_.password.empty()) words.insert(words.end(), {"AUTH", options_.password});
      if (from.raw().command(words).text.find("BUSYKEY") == std::string::npos) continue;
      (void)from.raw().command({"ASKING"});
      answer_of(from, {"DEL", key.text});
    }
  }
}

void cluster_servers::settle(std::uint16_t slot) {
  auto const number = std::to_string(slot);
  auto& keeper = server_or_heir_of(slot);
  auto const serving = masters();
  for (auto* master : serving) answer_of(*master, {"CLUSTER", "SETSLOT", number, "STABLE"});
  answer_of(keeper, {"CLUSTER", "SETSLOT", number, "NODE", id_of(keeper)});
  for (auto* master : serving)
    if (master != &keeper) bring_keys_back(slot, *master, keeper);
  end_migration(slot, keeper, keeper);
}

}  // namespace holdfast::test
