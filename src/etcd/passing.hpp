/// How a lock on etcd is passed on to another owner of this client, who waits for it.
#pragma once

#include <memory>
#include <string>

#include "engine/lock_backend.hpp"
#include "etcd/acquiring.hpp"
#include "etcd/leases.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/places.hpp"
#include "etcd/server.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class passing {
 public:
  using handler = engine::lock_backend::handler<engine::passed>;

  passing(std::string const& prefix, places& all, leases& under, acquiring& goes_on, server& to,
          mailbox& mail) noexcept
      : prefix_{prefix}, places_{all}, leases_{under}, acquiring_{goes_on}, server_{to}, mail_{mail} {}

  void pass(engine::recipe const& lock_recipe, engine::owned lease, engine::acquire_request const& next,
            handler done, scripting::send_options const& send);

 private:
  struct transfer;
  using transfer_ptr = std::shared_ptr<transfer>;

  void end_without(transfer_ptr const& all, engine::answer<engine::passed>&& result);
  void begin(transfer_ptr const& all);
  void on_passed(transfer_ptr const& all, response<outcome>&& answer);

  std::string const& prefix_;
  places& places_;
  leases& leases_;
  acquiring& acquiring_;
  server& server_;
  mailbox& mail_;
};

}  // namespace holdfast::etcd
