/// What the engine asks of Redis, in terms of locks, whatever it runs on. One deployment answers by itself
/// (one_deployment.hpp); several masters that know nothing of each other vote.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/recipe.hpp"
#include "script/runner.hpp"
#include "topology/deployment.hpp"

namespace holdfast::engine {

/// How a batch of renewals ended: all but `others` were renewed, unless there is no answer, or a refusal.
struct renewal_reply {
  net::response response{};
  std::vector<std::pair<std::size_t, ownership>> others{};  ///< in order
  std::vector<std::pair<std::size_t, milliseconds>> cut{};  ///< see recipe::read_cut; in order
};

/// The answers are those that the recipe reads. All under the client's lock.
///
/// What is asked either throws std::bad_alloc, and has no effect that asking again could double, or is
/// answered once; the exception being that several masters may answer what some of them couldn't be asked.
class lock_backend {
 public:
  using handler = callback<void(net::response&&)>;
  using renewal_handler = callback<void(renewal_reply&&)>;

  explicit lock_backend(std::shared_ptr<error const> why_nothing) : no_memory{std::move(why_nothing)} {}
  lock_backend(lock_backend const&) = delete;
  lock_backend& operator=(lock_backend const&) = delete;
  virtual ~lock_backend() = default;

  /// The failure of what is left undone for want of memory.
  std::shared_ptr<error const> const no_memory;

  virtual void acquire(recipe const& how, std::string_view name, acquire_request const& what, handler done,
                       scripting::send_options patience) = 0;
  virtual void release(recipe const& how, owned what, release_policy terms, handler done,
                       scripting::send_options patience) = 0;
  virtual void abandon(recipe const& how, owned what, release_policy terms,
                       scripting::send_options patience) = 0;
  /// All in one request: see slot_of.
  virtual void renew(recipe const& how, milliseconds ttl, std::span<owned const> leases, renewal_handler done,
                     scripting::send_options patience) = 0;
  /// The last ttl of one that is kept.
  virtual void set_ttl(recipe const& how, milliseconds ttl, owned what, handler done,
                       scripting::send_options patience) = 0;

  /// What isn't about one of our leases, or is of a kind of lock that only one deployment has.
  virtual void send(net::request what) = 0;
  /// As topology::deployment's.
  [[nodiscard]] virtual std::vector<std::string> masters() const { return {std::string{}}; }
  virtual void send_to(std::string const& /*master*/, net::request what) { send(std::move(what)); }
  void run(call const& what, handler done, scripting::send_options patience = {}) {
    send(scripting::to_run(what, std::move(done), patience));
  }

  [[nodiscard]] virtual bool idle() const noexcept = 0;
  [[nodiscard]] virtual bool up() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<error const> down_because() const noexcept = 0;
  virtual void shut(std::shared_ptr<error const> const& why) = 0;

  virtual void listen(std::string const& channel, topology::channel_of whose,
                      net::subscriber::listener& who) = 0;
  virtual void forget(std::string_view channel) = 0;

  /// Only leases whose names have the same number can be renewed in one request.
  [[nodiscard]] virtual std::uint16_t slot_of(std::string_view name) const noexcept = 0;
  /// Messages about a lock go over channels of its slot.
  [[nodiscard]] virtual bool sharded() const noexcept = 0;
};

}  // namespace holdfast::engine
