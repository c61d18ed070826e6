#include "engine/client_constants.hpp"

#include <utility>

#include "base/ids.hpp"

namespace holdfast::engine {
namespace {

holdfast::wire wire_of(client_options const& options, net::deployment_url const& url) {
  auto const chosen = options.wire != holdfast::wire::automatic ? options.wire : url.server.wire;
  return chosen == holdfast::wire::redisson ? chosen : holdfast::wire::plain;
}

}  // namespace

void client_constants::check_kind(deciders needed) const {
  if (deployment.etcd) {
    throw error{std::errc::invalid_argument,
                url +
                    ": this isn't there on etcd (docs/etcd.md says what is, and why this isn't); give the "
                    "URL of a Redis"};
  }
  auto const voting = deployment.votes;
  if ((needed == deciders::majority) == voting) return;
  throw error{
      std::errc::invalid_argument,
      voting
          ? url +
                ": several servers that vote have quorum_mutex alone (docs/quorum.md says why); for anything "
                "else give the URL of one server, of its sentinels, or of a cluster"
          : url +
                ": a quorum_mutex needs several servers that know nothing of each other; "
                "write redis+quorum://h1,h2,h3, or use a mutex"};
}

client_constants make_client_constants(client_options options, net::deployment_url const& url) {
  auto const& display = url.server.display;
  auto no_memory = std::make_shared<error const>(
      std::errc::not_enough_memory,
      display + ": there is not enough memory; what was under way is taken back, so try again");
  auto shut_down = std::make_shared<error const>(errc::closed, display + ": the client has been shut down");
  auto const wire = wire_of(options, url);
  return {.uuid = make_uuid(),
          .options = std::move(options),
          .deployment = topology::traits_of(url.deployment),
          .wire = wire,
          .url = display,
          .no_memory = std::move(no_memory),
          .shut_down = std::move(shut_down),
          .generation = fork_generation()};
}

}  // namespace holdfast::engine
