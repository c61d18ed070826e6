#include "topology/sentinel_deployment.hpp"

#include <string_view>
#include <utility>

#include "topology/of_replica.hpp"

namespace holdfast::topology {
namespace {

net::settings located_by(net::locator& locator, net::settings config) {
  config.locator = &locator;
  return config;
}

/// What a refusal says about the server that was taken for the master.
enum class meaning {
  nothing,
  doubtful,           ///< it may have been replaced, or be cut off from the others
  demoted,            ///< it is no longer the master, and hasn't carried out the request
  demoted_meanwhile,  ///< it is no longer the master; the writes that the request (WAIT) is about may be lost
};

meaning meaning_of(resp::reply const& refusal) {
  auto const code = refusal.error_code();
  if (is_of_replica(refusal)) return meaning::demoted;
  if (code == "UNBLOCKED" || is_wait_at_replica(refusal)) return meaning::demoted_meanwhile;
  return code == "LOADING" || code == "NOREPLICAS" ? meaning::doubtful : meaning::nothing;
}

}  // namespace

sentinel_deployment::sentinel_deployment(reactor::loop& loop, net::deployment_url const& url,
                                         net::settings const& config, client_stats& counts, events handlers)
    : locator_{loop,     url,
               config,   counts,
               handlers, {.begun = [this] { master_.doubt(); }, .confirmed = [this] { master_.believe(); }}},
      config_{located_by(locator_, config)},
      master_{loop,
              config_,
              counts,
              {.refused = [this](net::connection_role role,
                                 net::pipeline::batch& requests) { return on_refusal(role, requests); },
               .troubled = {},
               .broken = std::move(handlers.broken),
               .late = [this] { locator_.doubt(); }}} {}

bool sentinel_deployment::on_refusal(net::connection_role role, net::pipeline::batch& requests) {
  auto& entry = requests.front();
  auto const state = meaning_of(entry.response.reply);
  switch (state) {
    case meaning::nothing:
      return false;
    case meaning::doubtful:
      locator_.look_again();
      return false;
    case meaning::demoted:
      entry.response.sent = entry.response.resent;  // this copy did nothing
      break;
    case meaning::demoted_meanwhile:
      entry.response.resent = true;
      break;
  }
  auto const reason = "this is the master no more: " + entry.response.reply.text;
  master_.over(role).start_over(std::move(requests), reason);
  return true;
}

void sentinel_deployment::shut(std::shared_ptr<error const> const& reason) noexcept {
  locator_.shut();
  master_.shut(reason);
}

}  // namespace holdfast::topology
