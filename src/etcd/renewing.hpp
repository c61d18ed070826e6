/// How leases on etcd are renewed: their lease in etcd is extended, and their keys are looked for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/lock_backend.hpp"
#include "etcd/holding.hpp"
#include "etcd/leases.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/messages.hpp"
#include "etcd/places.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class renewing {
 public:
  using handler = engine::lock_backend::handler<engine::renewals>;

  renewing(reactor::loop& loop, places& all, leases& under, watching& watches, holding& holds, server& to,
           mailbox& mail) noexcept
      : loop_{loop},
        places_{all},
        leases_{under},
        watching_{watches},
        holding_{holds},
        server_{to},
        mail_{mail} {}

  void renew(milliseconds ttl, std::span<engine::owned const> leases, handler done,
             scripting::send_options const& send);

 private:
  struct renewal;
  using renewal_ptr = std::shared_ptr<renewal>;

  void check_all(renewal_ptr const& all);
  [[nodiscard]] std::size_t check(renewal_ptr const& all, std::size_t from);
  void note_reads(renewal& all, std::vector<std::size_t> const& asked, outcome const& answer);
  void settle(renewal_ptr const& all);
  void finish_unanswered(renewal& all);
  void finish(renewal& whole);

  reactor::loop& loop_;
  places& places_;
  leases& leases_;
  watching& watching_;
  holding& holding_;
  server& server_;
  mailbox& mail_;
};

}  // namespace holdfast::etcd
