/// Requests that make something else of a lease in the server: a lease of another kind, or a place among
/// those that wait.
#pragma once

#include <memory>

#include "base/callback.hpp"
#include "engine/client_constants.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/lock_backend.hpp"
#include "engine/moments.hpp"

namespace holdfast::engine {

/// All under the client's lock.
class conversions {
 public:
  conversions(lock_backend& backend, client_constants const& client, delayed_calls& delayed,
              moments* noted) noexcept
      : backend_{backend}, client_{client}, delayed_{delayed}, moments_{noted} {}

  using handler = callback<void(answer<ownership>&&)>;

  /// Asks by `script`; once more, after a pause, whenever the server says that it can't just now, until the
  /// lease is over. From then on the old lease may not exist: the caller has seen to it that it isn't
  /// renewed. `done` gets the last answer; it says, too, whether an earlier copy, of any of these requests,
  /// may have been carried out. Throws std::bad_alloc with nothing sent.
  void begin(lease_state& old, call script, handler done);

  /// One of them will be sent again, or ended, after its pause. The end of the client waits for that.
  [[nodiscard]] bool any_in_pause() const noexcept { return in_pause_ != 0; }

 private:
  struct attempt;
  using attempt_ptr = std::shared_ptr<attempt>;
  void send(attempt_ptr const& pending);
  void on_answer(attempt_ptr const& pending, answer<ownership>&& result) noexcept;
  void go_on(attempt_ptr const& pending) noexcept;

  lock_backend& backend_;
  client_constants const& client_;
  delayed_calls& delayed_;
  moments* moments_;  ///< null: nobody wants to know
  int in_pause_ = 0;
};

}  // namespace holdfast::engine
