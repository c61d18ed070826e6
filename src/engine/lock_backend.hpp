/// What the engine asks of Redis, in terms of locks, on any deployment. One deployment answers by itself
/// (deployment_backend.hpp). Several independent masters vote.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/answers.hpp"
#include "engine/recipe.hpp"
#include "script/runner.hpp"
#include "topology/deployment.hpp"

namespace holdfast::etcd {
class viewer;
}  // namespace holdfast::etcd

namespace holdfast::engine {

/// All under the client's lock.
///
/// A request either throws std::bad_alloc, with no effect that a repeat could double, or is answered once.
/// Exception: several masters may answer a request that some of them couldn't be sent.
class lock_backend {
 public:
  /// With room for a few pointers: it fits into the handler of a net::request, so that wrapping it there
  /// needs no memory.
  template <class Outcome>
  using handler = callback<void(answer<Outcome>&&), 32>;
  using response_handler = callback<void(net::response&&)>;

  explicit lock_backend(std::shared_ptr<error const> reason) : no_memory{std::move(reason)} {}
  lock_backend(lock_backend const&) = delete;
  lock_backend& operator=(lock_backend const&) = delete;
  virtual ~lock_backend() = default;

  /// The failure of requests that are left undone for want of memory.
  std::shared_ptr<error const> const no_memory;

  virtual void acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
                       handler<verdict> done, scripting::send_options send) = 0;
  virtual void release(recipe const& lock_recipe, owned lease, release_policy policy, handler<ownership> done,
                       scripting::send_options send) = 0;
  /// `done` hears of it on a single deployment only: of masters that vote each may answer otherwise.
  virtual void abandon(recipe const& lock_recipe, owned lease, release_policy policy, handler<abandoned> done,
                       scripting::send_options send) = 0;
  /// All in one request: see slot_of.
  virtual void renew(recipe const& lock_recipe, milliseconds ttl, std::span<owned const> leases,
                     handler<renewals> done, scripting::send_options send) = 0;
  /// Sets the last ttl of a kept lease.
  virtual void set_ttl(recipe const& lock_recipe, milliseconds ttl, owned lease, handler<ownership> done,
                       scripting::send_options send) = 0;

  // Of kinds of lock for single deployments only.

  virtual void pass(recipe const& lock_recipe, owned lease, release_policy policy,
                    acquire_request const& next, handler<passed> done, scripting::send_options send);
  /// Releases those without waiters; all in one request.
  virtual void release_unwanted(recipe const& lock_recipe, std::span<owned const> leases,
                                handler<still_wanted> done, scripting::send_options send);
  /// `script` turns a lease of ours into another one, and replies as a release does.
  virtual void convert(call const& script, handler<ownership> done, scripting::send_options send);

  /// Whether somebody who has a right to the lock wants that lease back (a release by force).
  virtual void find_petition(recipe const& lock_recipe, owned lease, handler<bool> done,
                             scripting::send_options send);

  /// Null: locks are looked at by scripts. On etcd there are none (etcd/viewer.hpp).
  [[nodiscard]] virtual etcd::viewer* viewer() noexcept { return nullptr; }

  /// For requests that aren't about one of our leases.
  virtual void send(net::request&& request) = 0;
  /// See topology::deployment.
  [[nodiscard]] virtual std::vector<std::string> masters() const { return {std::string{}}; }
  virtual void send_to(std::string const& /*master*/, net::request request) { send(std::move(request)); }
  void run(call script, response_handler done, scripting::send_options options = {}) {
    send(scripting::to_run(std::move(script), std::move(done), options));
  }

  [[nodiscard]] virtual bool idle() const noexcept = 0;
  [[nodiscard]] virtual bool up() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<error const> down_because() const noexcept = 0;
  virtual void shut(std::shared_ptr<error const> const& reason) = 0;

  virtual void listen(std::string const& channel, topology::channel_of scope,
                      net::subscriber::listener& listener) = 0;
  virtual void forget(std::string_view channel) = 0;

  /// Only leases whose names have the same number can be renewed in one request.
  [[nodiscard]] virtual std::uint16_t slot_of(std::string_view name) const noexcept = 0;
  /// Whether messages about a lock go over channels of its slot.
  [[nodiscard]] virtual bool sharded() const noexcept = 0;

 protected:
  /// Hands what `Read` reads to `done`, if there is one.
  template <auto Read, class Outcome>
  [[nodiscard]] static response_handler reading(handler<Outcome> done) {
    static_assert(sizeof(handler<Outcome>) <= usual_room);
    if (!done) return {};
    return [done = std::move(done)](net::response&& response) mutable { done(Read(std::move(response))); };
  }
  /// The same, where reading needs memory.
  template <auto Read, class Outcome>
  [[nodiscard]] response_handler trying_to_read(handler<Outcome> done) const {
    return [this, done = std::move(done)](net::response&& response) mutable {
      answer<Outcome> result;
      try {
        result = Read(std::move(response));
      } catch (std::bad_alloc const&) {
        result.content = failed{.reason = no_memory, .sent = true};
      }
      done(std::move(result));
    };
  }
};

}  // namespace holdfast::engine
