#include "net/loose_ends.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::net {
namespace {

/// Servers that are never reached again (addresses that others were given) leave theirs behind. A cluster may
/// have a thousand nodes, with two connections to each, which all break at once when this machine's network
/// does.
constexpr std::size_t most_loose_ends = 2048;

bool same_server(endpoint const& a, endpoint const& b) {
  if (a.how != b.how) return false;
  return a.how == endpoint::scheme::unix_socket ? a.path == b.path : a.host == b.host && a.port == b.port;
}

}  // namespace

loose_ends::loose_ends(std::function<void(std::string const&)> refused) : refused_{std::move(refused)} {}

void loose_ends::add(prepared&& one) noexcept {
  all_.splice(all_.end(), one);
  while (all_.size() > most_loose_ends) all_.pop_front();
}

std::vector<loose_end> loose_ends::at(endpoint const& server) const {
  std::vector<loose_end> there;
  std::ranges::copy_if(all_, std::back_inserter(there),
                       [&server](loose_end const& one) { return same_server(one.at, server); });
  return there;
}

void loose_ends::settle(std::vector<loose_end> const& those, std::string const& refusal) {
  std::erase_if(all_, [&those](loose_end const& one) {
    return std::ranges::any_of(those, [&one](loose_end const& other) {
      return same_server(one.at, other.at) && one.id == other.id && one.since == other.since;
    });
  });
  if (refusal.empty() || !refused_) return;
  std::exchange(refused_, {})(those.front().at.display + ": " + refusal);
}

}  // namespace holdfast::net
