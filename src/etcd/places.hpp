/// The places of a client.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/recipe.hpp"
#include "etcd/leases.hpp"
#include "etcd/listeners.hpp"
#include "etcd/place.hpp"
#include "etcd/watching.hpp"

namespace holdfast::etcd {

/// By their owner ids. All under the client's lock.
class places {
 public:
  places(engine::client_constants const& client, std::string const& prefix, leases& from, watching& watches,
         listeners& to) noexcept
      : client_{client}, prefix_{prefix}, leases_{from}, watching_{watches}, listeners_{to} {}

  /// Null: there is none.
  [[nodiscard]] place_ptr find(std::string_view owner) const;
  [[nodiscard]] place_ptr find_or_add(engine::recipe const& lock_recipe, std::string_view name,
                                      engine::acquire_request const& request);
  /// It gets a lease, unless it has one. `done` hears why there is none, or null.
  void take_lease(place_ptr const& of, milliseconds ttl, scripting::send_options const& send,
                  client_lease::handler done);
  void give_lease(place& of) noexcept;
  /// Its lease is granted.
  void name_keys(place& granted) const;
  /// There are no keys any more, or they are left behind.
  void drop(place_ptr const& left) noexcept;
  /// Its keys may be there, or appear, and mustn't stay.
  static void leave_behind(place& left);
  /// The same of those among the ones that stand aside: it does so no more.
  static void leave_doubtful_asides(place& left);

  /// Its keys are gone. Waiters are to join their queues again.
  void on_lease_over(lease_ptr const& gone);
  /// No timer of a place calls any more.
  void stop() noexcept;

 private:
  engine::client_constants const& client_;
  std::string const& prefix_;
  leases& leases_;
  watching& watching_;
  listeners& listeners_;
  std::map<std::string, place_ptr, std::less<>> all_;
};

}  // namespace holdfast::etcd
