/// The masters that vote, as every request to them needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/delayed_calls.hpp"
#include "engine/lock_backend.hpp"
#include "engine/quorum/fan_out.hpp"
#include "engine/quorum/owners.hpp"
#include "engine/quorum/returned_votes.hpp"

namespace holdfast::engine {

/// Who is there, how many are needed, and what was asked. All under the client's lock.
class quorum_masters {
 public:
  /// One attempt to get the lock that waits for a while, or for masters.
  class resting_round {
   public:
    resting_round() = default;
    resting_round(resting_round const&) = delete;
    resting_round& operator=(resting_round const&) = delete;
    virtual ~resting_round() = default;

    virtual void wake() noexcept = 0;
    virtual void fail(std::shared_ptr<error const> const& reason) = 0;
    /// It has votes, and asks for the others in a moment.
    [[nodiscard]] virtual bool is_ahead() const noexcept = 0;
  };
  using round_ptr = std::shared_ptr<resting_round>;

  /// `config`: what all masters have in common, and the whole URL.
  quorum_masters(reactor::loop& loop, std::vector<net::endpoint> const& endpoints,
                 net::settings const& config, client_stats& counts, topology::events handlers,
                 std::shared_ptr<error const> out_of_memory, topology::deployment_maker const& make_master);

  [[nodiscard]] reactor::loop& loop() const noexcept { return loop_; }
  [[nodiscard]] net::settings const& config() const noexcept { return config_; }
  [[nodiscard]] quorum_nodes& nodes() noexcept { return nodes_; }
  [[nodiscard]] quorum_nodes const& nodes() const noexcept { return nodes_; }
  [[nodiscard]] quorum_owners& owners() noexcept { return owners_; }
  [[nodiscard]] delayed_calls& delayed() noexcept { return delayed_; }
  [[nodiscard]] std::shared_ptr<error const> const& no_memory() const noexcept { return no_memory_; }

  /// Asks for the run ids before everything else, so each is known by the time its master votes.
  void introduce();
  /// Set: two of the masters are one server.
  [[nodiscard]] std::shared_ptr<error const> const& unfit_because() const noexcept { return unfit_; }
  /// Set: nothing is asked any more.
  [[nodiscard]] std::shared_ptr<error const> const& shut_because() const noexcept { return shut_reason_; }
  void shut(std::shared_ptr<error const> const& reason);

  [[nodiscard]] std::size_t majority() const noexcept;
  [[nodiscard]] std::size_t present();
  /// The error when fewer than a majority can be asked; names the reason for each absent master.
  [[nodiscard]] std::shared_ptr<error const> too_few() const;
  /// The error when no majority has confirmed the outcome of a request. `refusal`: a master's words, if one
  /// refused.
  [[nodiscard]] std::shared_ptr<error const> unconfirmed(std::string_view refusal) const noexcept;
  /// Until when a round that began then may go on while fewer than a majority are present.
  [[nodiscard]] time_point end_of_pause(time_point begun, scripting::send_options const& options) const;

  /// A number for a request about the owner's vote. Each is greater than the last, so a master that has
  /// got a newer request recognizes a late copy. The first request of an owner can't be a late copy: it has
  /// the number 0, and leaves no mark at the master.
  [[nodiscard]] std::uint64_t number_to(std::size_t master, std::uint64_t owner);
  /// How long a request that gives back a vote, or a place in a queue, stays worth sending, from now on.
  [[nodiscard]] static time_point end_of_returning() noexcept;
  /// Gives back a vote that isn't counted any more.
  void give_back(std::size_t master, recipe const& lock_recipe, owned lease, std::string_view ticket);
  /// The owner asks that master again, or its vote may count from now on: it isn't given back any more.
  void keep_vote(std::size_t master, std::uint64_t owner) noexcept { returned_.forget(master, owner); }

  void rest(round_ptr const& round) { resting_.insert(round); }
  void end_rest(round_ptr const& round) noexcept { resting_.erase(round); }
  /// Rounds that have votes rest for a moment.
  [[nodiscard]] bool any_ahead() const noexcept;

 private:
  void on_known();
  void on_back();

  reactor::loop& loop_;
  net::settings const& config_;
  topology::events events_;
  std::shared_ptr<error const> const no_memory_;
  quorum_owners owners_;
  // The members below are destroyed first: requests held by the nodes refer to the members above.
  quorum_nodes nodes_;
  delayed_calls delayed_{loop_};
  returned_votes returned_{nodes_, delayed_};
  std::unordered_set<round_ptr> resting_;
  std::uint64_t last_request_ = 0;  ///< the last number of a request
  bool introduced_ = false;
  std::shared_ptr<error const> unfit_;
  std::shared_ptr<error const> shut_reason_;
};

}  // namespace holdfast::engine
