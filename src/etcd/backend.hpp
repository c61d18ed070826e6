/// The backend on etcd: the recipe of Go's concurrency.Mutex, as the engine's requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/lock_backend.hpp"
#include "etcd/acquiring.hpp"
#include "etcd/channel.hpp"
#include "etcd/fencing.hpp"
#include "etcd/holding.hpp"
#include "etcd/latching.hpp"
#include "etcd/leases.hpp"
#include "etcd/listeners.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/meeting.hpp"
#include "etcd/observing.hpp"
#include "etcd/passing.hpp"
#include "etcd/places.hpp"
#include "etcd/releasing.hpp"
#include "etcd/renewing.hpp"
#include "etcd/server.hpp"
#include "etcd/viewing.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// An owner is a key `name/<lease in hex>`; the key that was made first has the lock. An acquire request
/// makes the key, or looks what is before it. Whoever waits watches the key before its own, and the engine
/// hears that it is to ask again when that is deleted, as by a message of Redis.
///
/// Its parts call only those above them here; what goes up goes through functions that they were given.
///
/// A deadline counts from before the lease was last extended, so an answer's sent_at is that time.
class backend final : public engine::lock_backend {
 public:
  backend(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
          std::string prefix, settings const& to, topology::events handlers);
  ~backend() override;

  void acquire(engine::recipe const& lock_recipe, std::string_view name,
               engine::acquire_request const& request, handler<engine::verdict> done,
               scripting::send_options send) override;
  void release(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
               handler<engine::ownership> done, scripting::send_options send) override;
  void abandon(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
               handler<engine::abandoned> done, scripting::send_options send) override;
  void renew(engine::recipe const& lock_recipe, milliseconds ttl, std::span<engine::owned const> leases,
             handler<engine::renewals> done, scripting::send_options send) override;
  void set_ttl(engine::recipe const& lock_recipe, milliseconds ttl, engine::owned lease,
               handler<engine::ownership> done, scripting::send_options send) override;
  void pass(engine::recipe const& lock_recipe, engine::owned lease, engine::release_policy policy,
            engine::acquire_request const& next, handler<engine::passed> done,
            scripting::send_options send) override;
  /// PING, which asks the cluster; anything else is refused.
  void send(net::request&& request) override;

  void find_petition(engine::recipe const& lock_recipe, engine::owned lease, handler<bool> done,
                     scripting::send_options send) override;
  [[nodiscard]] etcd::viewer* viewer() noexcept override { return &viewing_; }

  [[nodiscard]] bool idle() const noexcept override { return server_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return server_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return server_.down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) override;
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) override;
  [[nodiscard]] std::uint16_t slot_of(std::string_view /*name*/) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  [[nodiscard]] channel_events events_for_client();
  void ask_about_leases();
  void on_lease_over(lease_ptr const& gone);

  std::string const prefix_;
  topology::events events_;
  std::shared_ptr<mailbox> const mail_;
  std::unique_ptr<channel> const channel_;
  server server_;
  leases leases_;
  listeners listeners_;
  watching watching_;
  places places_;
  releasing releasing_;
  holding holding_;
  acquiring acquiring_;
  passing passing_;
  renewing renewing_;
  observing observing_;
  latching latching_;
  fencing fencing_;
  meeting meeting_;
  viewing viewing_;
};

}  // namespace holdfast::etcd
