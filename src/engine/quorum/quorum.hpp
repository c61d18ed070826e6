/// Several masters that know nothing of each other, and vote: a lock is whose a majority says it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "engine/lock_backend.hpp"
#include "engine/quorum/fan_out.hpp"
#include "engine/quorum/subscriptions.hpp"

namespace holdfast::engine {

/// All masters are asked at once, and a majority's word is the answer; docs/quorum.md says why that is safe.
///
/// Requests to one master keep their order, also when its connection breaks. So what gives a vote back, or
/// releases, goes behind what may have taken it, and its outcome needn't be known. The exception: a script
/// that a master has forgotten is sent again behind what came after it. Such a late vote is given back when
/// its answer comes.
class quorum final : public lock_backend {
 public:
  /// `how`: what all masters have in common, and the whole URL.
  quorum(reactor::loop& on, std::vector<net::endpoint> const& whom, net::settings const& how,
         client_stats& counts, topology::events tell, std::shared_ptr<error const> why_nothing);
  ~quorum() override;

  void acquire(recipe const& how, std::string_view name, acquire_request const& what, handler done,
               scripting::send_options patience) override;
  void release(recipe const& how, owned what, release_policy terms, handler done,
               scripting::send_options patience) override;
  void abandon(recipe const& how, owned what, release_policy terms,
               scripting::send_options patience) override;
  void renew(recipe const& how, milliseconds ttl, std::span<owned const> leases, renewal_handler done,
             scripting::send_options patience) override;
  void set_ttl(recipe const& how, milliseconds ttl, owned what, handler done,
               scripting::send_options patience) override;
  void send(net::request what) override;

  [[nodiscard]] bool idle() const noexcept override;
  [[nodiscard]] bool up() const noexcept override;
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override;
  void shut(std::shared_ptr<error const> const& why) override;
  void listen(std::string const& channel, topology::channel_of whose,
              net::subscriber::listener& who) override;
  void forget(std::string_view channel) override;
  [[nodiscard]] std::uint16_t slot_of(std::string_view /*name*/) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  class acquire_round;
  class broadcast_command;
  class vote_count;

  /// Votes of one owner that are asked for, and not answered.
  struct asking {
    int owed = 0;
    acquire_round const* latest = nullptr;
    time_point over_since = time_point::max();  ///< released, or given up
  };

  void introduce();
  void on_known();
  void on_back();
  [[nodiscard]] std::size_t present();
  [[nodiscard]] std::size_t majority() const noexcept;
  /// Too few can be asked, and why.
  [[nodiscard]] std::shared_ptr<error const> too_few() const;
  [[nodiscard]] std::shared_ptr<error const> why_unknown(resp::reply const& refusal) const noexcept;
  [[nodiscard]] static std::uint64_t number_of(std::string_view owner) noexcept;
  void note_over(std::string_view owner);
  /// A vote of that owner that was asked for is answered, or couldn't be asked for. What was true until then.
  asking note_answer(std::uint64_t owner) noexcept;
  /// For a request about the owner's vote: they grow from one to the next, so a master that has got a newer
  /// one knows a late copy. The first ask of an owner, which can't be one, has 0, and leaves no note there.
  [[nodiscard]] std::uint64_t number_to(std::size_t who, std::uint64_t owner);
  /// Gives back a vote that nobody counts on.
  void give_back(std::size_t who, recipe const& how, owned what, std::string_view ticket);
  /// Takes the vote of a master that lost the lease, for the lease that a majority knows.
  void heal(std::size_t who, recipe const& how, owned what, milliseconds ttl) noexcept;

  reactor::loop& on_;
  net::settings const& config_;
  topology::events tell_;
  std::unordered_map<std::uint64_t, asking> asking_;
  std::unordered_map<std::uint64_t, int>
      renewing_;  ///< leases that aren't over, and their renewals under way
  // Those that are behind go before them: the requests of masters know the ones above.
  quorum_nodes nodes_;
  std::unordered_set<std::shared_ptr<acquire_round>>
      resting_;  ///< rounds that wait for a while, or for masters
  std::map<std::string, quorum_subscriptions, std::less<>> subscriptions_;
  std::uint64_t last_request_ = 0;  ///< about a vote
  bool introduced_ = false;
  std::shared_ptr<error const> unfit_;     ///< two of them are one
  std::shared_ptr<error const> shut_why_;  ///< nothing is asked any more
};

}  // namespace holdfast::engine
