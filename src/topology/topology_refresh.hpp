/// Finds out which node of a cluster serves which slots.
#pragma once

#include <cstddef>
#include <functional>
#include <holdfast/error.hpp>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "topology/cluster_node.hpp"
#include "topology/slot_map.hpp"

namespace holdfast::topology {

/// Asks a few nodes at once, and more when these are slow, so dead nodes cost next to nothing. The reply of a
/// node with an older epoch than another's, or cut off from the majority, is used only when no other node
/// replies. All under the client's lock.
class topology_refresh {
 public:
  struct findings {
    std::vector<slot_range> slots;
    cluster_health health;
    std::optional<bool> sharded;  ///< supports sharded pub/sub; nullopt: the node didn't say
  };
  struct events {
    std::function<std::vector<cluster_node*>()> candidates;  ///< the best first
    std::function<void(cluster_node& source, findings const&)> found;
    /// No node could tell; null: all of them still owe the reply to an earlier inquiry.
    std::function<void(std::shared_ptr<error const> reason)> failed;
  };

  topology_refresh(reactor::loop& loop, events handlers);

  /// Starts a round: at once after a quiet time, else after a pause that grows until reset_pause() is called.
  void look() noexcept;
  /// The same, and asks this node first: it knows more than the others.
  void look_at(cluster_node& first) noexcept;
  /// No round begins any more, nor goes on.
  void stop() noexcept;
  /// The findings serve.
  void reset_pause() noexcept { pause_.reset(); }

  /// Slots that are known may have changed: a node has a newer epoch than the one that named them.
  [[nodiscard]] bool is_new(std::uint64_t epoch) const noexcept { return epoch > epoch_; }

  /// The node is about to be asked, or owes a reply.
  [[nodiscard]] bool needs(cluster_node const& node) const;

 private:
  struct inquiry {
    cluster_node* node;
    std::uint64_t round;
    findings result;
  };

  void begin();
  void go_on();
  void ask_some();
  void ask(cluster_node& node);
  void on_answer(inquiry& source, net::response&& response);
  void on_refused(inquiry const& source, net::response const& response);
  void finish_if_over();
  void end_round();
  void finish() noexcept;
  template <class Step>
  void try_or_restart(Step step) noexcept;

  reactor::loop& loop_;
  events events_;
  backoff pause_;
  std::minstd_rand random_;
  bool stopped_ = false;
  bool running_ = false;
  bool again_ = false;  ///< another round was requested during this one
  bool heard_ = false;  ///< a node has told in this round
  std::uint64_t round_ = 0;
  std::uint64_t epoch_ = 0;                ///< the newest that was used
  cluster_node* first_ = nullptr;          ///< of the next round
  std::vector<cluster_node*> to_ask_;      ///< in this round, the best last
  std::vector<cluster_node*> unanswered_;  ///< of any round
  std::size_t open_ = 0;                   ///< replies of this round that are still to come
  std::unique_ptr<inquiry> second_best_;
  std::vector<std::shared_ptr<error const>> failures_;
  time_point ended_{};  ///< the last round
  reactor::timer next_;
  reactor::timer widen_;
};

}  // namespace holdfast::topology
