/// Campaigns of one election: the lock first, then the value beside it. On etcd the place in the queue has
/// it.
#pragma once

#include <holdfast/election.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "sync/lock_binding.hpp"

namespace holdfast::sync {

/// One election, in one client. Constant after construction; for any thread.
struct election_binding {
  election_binding(client& redis, std::string name, lock_options const& options, engine::recipe const& kind)
      : binding{redis, std::move(name), options, kind} {}

  /// Waits to lead, and publishes the value. A lease that is lost before the server has the value is one to
  /// wait for again.
  [[nodiscard]] std::optional<lease> campaign(std::string_view value, engine::wait_limit wait,
                                              std::stop_token const& stop) const;

  /// How to ask for the lock with that value.
  [[nodiscard]] engine::effective_options_ptr options_for(std::string_view value) const;

  lock_binding binding;
};

/// The same without waiting; `bound` lives as long.
void async_campaign(std::shared_ptr<election_binding const> bound, std::string value, engine::wait_limit wait,
                    election::campaign_handler done, std::stop_token stop);

}  // namespace holdfast::sync
