#include "net/broken_connections.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::net {
namespace {

/// The limit, since broken connections at servers that are never reached again (reassigned addresses) stay
/// here. A cluster may have a thousand nodes, with two connections to each, which all break at once when this
/// machine's network fails.
constexpr std::size_t most_broken_connections = 2048;

bool same_server(endpoint const& a, endpoint const& b) {
  if (a.transport != b.transport) return false;
  return a.transport == endpoint::scheme::unix_socket ? a.path == b.path
                                                      : a.host == b.host && a.port == b.port;
}

}  // namespace

broken_connections::broken_connections(std::function<void(std::string const&)> refused)
    : refused_{std::move(refused)} {}

void broken_connections::add(prepared&& ended) noexcept {
  all_.splice(all_.end(), ended);
  while (all_.size() > most_broken_connections) all_.pop_front();
}

std::vector<broken_connection> broken_connections::at(endpoint const& server) const {
  std::vector<broken_connection> at_server;
  std::ranges::copy_if(all_, std::back_inserter(at_server),
                       [&server](broken_connection const& known) { return same_server(known.at, server); });
  return at_server;
}

void broken_connections::settle(std::vector<broken_connection> const& settled, std::string const& refusal) {
  std::erase_if(all_, [&settled](broken_connection const& known) {
    return std::ranges::any_of(settled, [&known](broken_connection const& other) {
      return same_server(known.at, other.at) && known.id == other.id && known.greeted_at == other.greeted_at;
    });
  });
  if (refusal.empty() || !refused_) return;
  std::exchange(refused_, {})(settled.front().at.display + ": " + refusal);
}

}  // namespace holdfast::net
