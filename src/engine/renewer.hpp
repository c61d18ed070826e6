/// The watchdog: keeps all leases of a client alive, and says when one is lost.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "engine/agenda.hpp"
#include "engine/batches.hpp"
#include "engine/servers.hpp"

namespace holdfast::engine {

/// One timer for all leases; leases that are due together are renewed in few commands. All under the client's
/// lock.
class renewer {
 public:
  using lost_handler = std::function<void(held&, loss_cause)>;

  renewer(reactor::loop& on, servers& whom, client_stats& counts, lost_handler lost);

  /// From now on. Its deadline and renew_at are set.
  void add(held& one);

  /// Not any more: called before a release is sent.
  static void remove(held& one) noexcept { agenda::remove(one); }

  /// Now, out of turn; `done` gets what the server said about this one.
  void renew_now(held& one, callback<void(net::answer const&)> done);

  /// All of them, from now on, so that those which the server doesn't know are lost soon: so many at a time
  /// that neither this process nor the server stands still for a million. Those that are renewed a number of
  /// times, or not at all, keep the ttl that they have.
  void ask_about_all();

 private:
  using held_list = batches::leases;

  void look();
  void consider(held& one, time_point now, batches& due_now);
  void send(held_list leases, callback<void(net::answer const&)> done = {});
  void on_answer(held_list const& leases, renewal const& result);
  void send_alone(held& one);
  void renewed(held& one, time_point sent_at, milliseconds left);
  void failed(held& one);
  void set_timer();
  void ask_about_some(time_point now);
  void ask_about(held& one, time_point now);
  void on_asked(held& one, net::answer const& how);
  void on_some_answered();

  reactor::loop& on_;
  servers& whom_;
  client_stats& counts_;
  lost_handler lost_;
  agenda agenda_;
  reactor::timer timer_;
  std::minstd_rand random_;
  std::size_t unanswered_ = 0;  ///< requests about those that were marked
  time_point go_on_{};          ///< with the next of those, answered or not
};

}  // namespace holdfast::engine
