#include "net/loose_ends.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::net {
namespace {

/// The limit, since loose ends at servers that are never reached again (reassigned addresses) stay here. A
/// cluster may have a thousand nodes, with two connections to each, which all break at once when this
/// machine's network fails.
constexpr std::size_t most_loose_ends = 2048;

bool same_server(endpoint const& a, endpoint const& b) {
  if (a.transport != b.transport) return false;
  return a.transport == endpoint::scheme::unix_socket ? a.path == b.path
                                                      : a.host == b.host && a.port == b.port;
}

}  // namespace

loose_ends::loose_ends(std::function<void(std::string const&)> refused) : refused_{std::move(refused)} {}

void loose_ends::add(prepared&& ended) noexcept {
  all_.splice(all_.end(), ended);
  while (all_.size() > most_loose_ends) all_.pop_front();
}

std::vector<loose_end> loose_ends::at(endpoint const& server) const {
  std::vector<loose_end> there;
  std::ranges::copy_if(all_, std::back_inserter(there),
                       [&server](loose_end const& known) { return same_server(known.at, server); });
  return there;
}

void loose_ends::settle(std::vector<loose_end> const& settled, std::string const& refusal) {
  std::erase_if(all_, [&settled](loose_end const& known) {
    return std::ranges::any_of(settled, [&known](loose_end const& other) {
      return same_server(known.at, other.at) && known.id == other.id && known.since == other.since;
    });
  });
  if (refusal.empty() || !refused_) return;
  std::exchange(refused_, {})(settled.front().at.display + ": " + refusal);
}

}  // namespace holdfast::net
