/// Several masters that know nothing of each other, and vote: a lock belongs to the owner with a majority.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lock_backend.hpp"
#include "engine/quorum/masters.hpp"
#include "engine/quorum/subscriptions.hpp"
#include "engine/quorum/vote_count.hpp"

namespace holdfast::engine {

/// Asks all masters at once; a majority decides. docs/quorum.md says why that is safe.
///
/// Requests to one master keep their order, also when its connection breaks. So a request that gives a vote
/// back, or releases, arrives after the request that may have taken it, whose outcome needn't be known.
/// The exception: a script that a master has forgotten is sent again behind later requests. Such a late vote
/// is given back when its answer comes.
class quorum final : public lock_backend {
 public:
  /// `config`: what all masters have in common, and the whole URL.
  quorum(reactor::loop& loop, std::vector<net::endpoint> const& endpoints, net::settings const& config,
         client_stats& counts, topology::events handlers, std::shared_ptr<error const> out_of_memory,
         topology::deployment_maker const& make_master);

  void acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
               handler<verdict> done, scripting::send_options send) override;
  void release(recipe const& lock_recipe, owned lease, release_policy policy, handler<ownership> done,
               scripting::send_options send) override;
  void abandon(recipe const& lock_recipe, owned lease, release_policy policy, handler<abandoned> done,
               scripting::send_options send) override;
  void renew(recipe const& lock_recipe, milliseconds ttl, std::span<owned const> leases,
             handler<renewals> done, scripting::send_options send) override;
  void set_ttl(recipe const& lock_recipe, milliseconds ttl, owned lease, handler<ownership> done,
               scripting::send_options send) override;
  void send(net::request&& request) override;

  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool up() const noexcept override;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override;
  void shut(std::shared_ptr<error const> const& reason) override;
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) override;
  [[nodiscard]] std::uint16_t slot_of(std::string_view /*name*/) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  /// The masters' joint answer about one lease.
  [[nodiscard]] answer<ownership> joint_answer(joint_result const& result) const noexcept;
  /// The masters' joint answer about a batch of leases.
  [[nodiscard]] answer<renewals> joint_renewals(joint_result&& result) const noexcept;
  /// Sends the last request about that lease to all masters that may know it. `read` may be null, for a
  /// request without an outcome.
  void send_last(owned lease, call script, vote_reader read, handler<ownership> done,
                 scripting::send_options send);
  /// Takes the vote of a master that lost the lease, for the lease that a majority knows.
  void heal(std::size_t master, recipe const& lock_recipe, owned lease, milliseconds ttl) noexcept;

  quorum_masters masters_;
  std::map<std::string, quorum_subscriptions, std::less<>> subscriptions_;
};

}  // namespace holdfast::engine
