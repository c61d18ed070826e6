/// Several masters that know nothing of each other, and vote: a lock belongs to the owner with a majority.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/delayed_calls.hpp"
#include "engine/lock_backend.hpp"
#include "engine/quorum/fan_out.hpp"
#include "engine/quorum/returned_votes.hpp"
#include "engine/quorum/subscriptions.hpp"

namespace holdfast::engine {

/// Asks all masters at once; a majority decides. docs/quorum.md says why that is safe.
///
/// Requests to one master keep their order, also when its connection breaks. So a request that gives a vote
/// back, or releases, arrives after the request that may have taken it, whose outcome needn't be known.
/// The exception: a script that a master has forgotten is sent again behind later requests. Such a late vote
/// is given back when its answer comes.
class quorum final : public lock_backend {
 public:
  /// `config`: what all masters have in common, and the whole URL.
  quorum(reactor::loop& loop, std::vector<net::endpoint> const& endpoints, net::settings const& config,
         client_stats& counts, topology::events handlers, std::shared_ptr<error const> out_of_memory,
         topology::deployment_maker const& make_master);
  ~quorum() override;

  void acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
               handler<verdict> done, scripting::send_options send) override;
  void release(recipe const& lock_recipe, owned lease, release_policy policy, handler<ownership> done,
               scripting::send_options send) override;
  void abandon(recipe const& lock_recipe, owned lease, release_policy policy, handler<abandoned> done,
               scripting::send_options send) override;
  void renew(recipe const& lock_recipe, milliseconds ttl, std::span<owned const> leases,
             handler<renewals> done, scripting::send_options send) override;
  void set_ttl(recipe const& lock_recipe, milliseconds ttl, owned lease, handler<ownership> done,
               scripting::send_options send) override;
  void send(net::request&& request) override;

  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool up() const noexcept override;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override;
  void shut(std::shared_ptr<error const> const& reason) override;
  void listen(std::string const& channel, topology::channel_of scope,
              net::subscriber::listener& listener) override;
  void forget(std::string_view channel) override;
  [[nodiscard]] std::uint16_t slot_of(std::string_view /*name*/) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  class acquire_round;
  class broadcast_command;
  class vote_count;
  class leases_in_renewal;

  /// How a majority found leases.
  struct joint_result {
    std::vector<ownership> leases{};         ///< unknown where undecided
    time_point sent_at = time_point::max();  ///< the earliest of the requests that count
    std::string refusal{};                   ///< the words of the last master that refused
  };

  /// How one master found each lease; empty: it didn't say.
  using vote_reader = std::function<std::vector<ownership>(net::response&&)>;

  /// What has become of an owner.
  struct fate {
    time_point over_since = time_point::max();  ///< released, or given up
    bool won = false;                           ///< it has the lock, or had it
  };
  /// Vote requests of one owner that are not answered.
  struct asking {
    int owed = 0;
    std::vector<acquire_round const*> latest{};  ///< by master: the round that asked it last, if one did
    fate owner{};
  };

  void introduce();
  void on_known();
  void on_back();
  [[nodiscard]] std::size_t present();
  [[nodiscard]] std::size_t majority() const noexcept;
  /// The error when fewer than a majority can be asked; names the reason for each absent master.
  [[nodiscard]] std::shared_ptr<error const> too_few() const;
  /// Until when a round that began then may go on while fewer than a majority are present.
  [[nodiscard]] time_point end_of_pause(time_point begun, scripting::send_options const& options) const;
  /// The error when no majority has confirmed the outcome of a request. `refusal`: a master's words, if one
  /// refused.
  [[nodiscard]] std::shared_ptr<error const> unconfirmed(std::string_view refusal) const noexcept;
  /// The masters' joint answer about one lease.
  [[nodiscard]] answer<ownership> joint_answer(joint_result const& result) const noexcept;
  [[nodiscard]] static std::uint64_t number_of(std::string_view owner) noexcept;
  void note_over(std::string_view owner);
  /// A vote request of that owner is answered, or couldn't be sent.
  fate note_answer(std::uint64_t owner) noexcept;
  /// A number for a request about the owner's vote. Each is greater than the last, so a master that has
  /// got a newer request recognizes a late copy. The first request of an owner can't be a late copy: it has
  /// the number 0, and leaves no mark at the master.
  [[nodiscard]] std::uint64_t number_to(std::size_t master, std::uint64_t owner);
  /// Gives back a vote that isn't counted any more.
  void give_back(std::size_t master, recipe const& lock_recipe, owned lease, std::string_view ticket);
  /// Gives up the place in the queue of a master that wasn't needed.
  void leave_queue(std::size_t master, recipe const& lock_recipe, owned lease);
  /// Sends the last request about that lease to all masters that may know it. `read` may be null, for a
  /// request without an outcome.
  void send_last(owned lease, call script, vote_reader read, handler<ownership> done,
                 scripting::send_options send);
  /// The masters' joint answer about a batch of leases.
  [[nodiscard]] answer<renewals> joint_renewals(joint_result&& result) const noexcept;
  /// Takes the vote of a master that lost the lease, for the lease that a majority knows.
  void heal(std::size_t master, recipe const& lock_recipe, owned lease, milliseconds ttl) noexcept;

  reactor::loop& loop_;
  net::settings const& config_;
  topology::events events_;
  std::unordered_map<std::uint64_t, asking> asking_;
  std::unordered_map<std::uint64_t, int>
      renewing_;  ///< leases that aren't over, and their renewals under way
  // The members below are destroyed first: requests held by the nodes refer to the members above.
  quorum_nodes nodes_;
  delayed_calls delayed_{loop_};
  returned_votes returning_{nodes_, delayed_};
  std::unordered_set<std::shared_ptr<acquire_round>>
      resting_;  ///< rounds that wait for a while, or for masters
  std::map<std::string, quorum_subscriptions, std::less<>> subscriptions_;
  std::uint64_t last_request_ = 0;  ///< the last number_to()
  bool introduced_ = false;
  std::shared_ptr<error const> unfit_;        ///< two of the masters are one server
  std::shared_ptr<error const> shut_reason_;  ///< set: nothing is asked any more
};

}  // namespace holdfast::engine
