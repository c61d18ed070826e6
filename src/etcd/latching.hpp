/// Latches on etcd: docs/decisions/0077.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"
#include "etcd/channel.hpp"
#include "etcd/latch_keys.hpp"
#include "etcd/latch_viewer.hpp"
#include "etcd/place.hpp"
#include "etcd/places.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class latching final : public latch_viewer {
 public:
  using waiting_handler = engine::lock_backend::handler<engine::verdict>;

  latching(engine::client_constants const& client, std::string const& prefix, places& all, watching& watches,
           server& to, channel& over) noexcept
      : client_{client}, prefix_{prefix}, places_{all}, watching_{watches}, server_{to}, channel_{over} {}

  /// Whether it is open. If not, whoever waits hears when it may be.
  void wait(engine::recipe const& lock_recipe, std::string_view name, engine::acquire_request const& request,
            waiting_handler done, scripting::send_options const& send);

  void count(std::string const& name, handler<std::int64_t> done) override;
  void set(std::string const& name, std::int64_t number, std::chrono::milliseconds expires_after,
           handler<bool> done) override;
  void count_down(std::string const& name, counting by, handler<bool> done) override;
  void open(std::string const& name, handler<bool> done) override;

 private:
  struct wait_under_way;
  struct setting;
  struct counting_down;

  /// `found` gets the latch, or a failure: also that the name is something else.
  void read(
      std::string const& name,
      std::function<void(std::shared_ptr<error const>, latch_reading const&, std::int64_t revision)> found,
      scripting::send_options const& send = {});
  [[nodiscard]] std::shared_ptr<error const> expired(std::string const& name,
                                                     latch_reading const& seen) const;
  [[nodiscard]] std::shared_ptr<error const> unknown(std::string const& name) const;
  [[nodiscard]] std::string next_request();
  /// All its keys, if it is still that one.
  void remove_all(std::string const& name, std::string const& text, handler<bool> done);
  void on_waited(std::shared_ptr<wait_under_way> const& asked, std::shared_ptr<error const> const& failure,
                 latch_reading const& seen, std::int64_t revision);
  void try_to_set(std::shared_ptr<setting> const& asked);
  void grant_leases(std::shared_ptr<setting> const& asked, std::function<void()> done);
  void grant(std::shared_ptr<setting> const& asked, std::int64_t& lease, std::chrono::seconds ttl,
             std::function<void()> done);
  void put(std::shared_ptr<setting> const& asked, latch_reading const& before, std::int64_t revision);
  void end(std::shared_ptr<setting> const& asked, std::shared_ptr<error const> failure, bool set);
  void try_to_count(std::shared_ptr<counting_down> const& asked);
  void put(std::shared_ptr<counting_down> const& asked, latch_reading const& seen);

  engine::client_constants const& client_;
  std::string const& prefix_;
  places& places_;
  watching& watching_;
  server& server_;
  channel& channel_;
  std::uint64_t requests_ = 0;
};

}  // namespace holdfast::etcd
