/// How long a lock on etcd is held: until the engine doesn't renew it, or somebody wants it back.
#pragma once

#include "engine/lock_backend.hpp"
#include "etcd/mailbox.hpp"
#include "etcd/place.hpp"
#include "etcd/places.hpp"
#include "etcd/releasing.hpp"
#include "etcd/server.hpp"
#include "etcd/watching.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::etcd {

/// All under the client's lock.
class holding {
 public:
  template <class Outcome>
  using handler = engine::lock_backend::handler<Outcome>;

  holding(reactor::loop& loop, places& of, watching& watches, releasing& ends, server& to,
          mailbox& mail) noexcept
      : loop_{loop}, places_{of}, watching_{watches}, releasing_{ends}, server_{to}, mail_{mail} {}

  /// The client keeps a lease alive for all its keys: one that the engine has given up has to go all the
  /// same.
  void hold(place_ptr const& holder, milliseconds ttl);
  /// From when on a lease of that ttl counts.
  [[nodiscard]] static time_point alive_since(place const& holder, milliseconds ttl) noexcept;

  /// How long a key without a watchdog stays is up to this client, whose lease in etcd lives on.
  void set_ttl(milliseconds ttl, engine::owned lease, handler<engine::ownership> done,
               scripting::send_options const& send);
  /// A release by force says in the value of the holder's key that it wants the lock back.
  void find_petition(engine::owned lease, handler<bool> done, scripting::send_options const& send);

 private:
  reactor::loop& loop_;
  places& places_;
  watching& watching_;
  releasing& releasing_;
  server& server_;
  mailbox& mail_;
};

}  // namespace holdfast::etcd
