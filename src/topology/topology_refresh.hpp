/// Finds out which node of a cluster serves what.
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

/// Asks a few nodes at once, and more when those take their time, so dead ones cost next to nothing. A node
/// that knows of fewer changes of masters than another one did, or is cut off from the majority, is believed
/// only when no other answers. All under the client's lock.
class topology_refresh {
 public:
  struct findings {
    std::vector<slot_range> slots;
    cluster_health health;
    std::optional<bool> sharded;  ///< has pub/sub by slot; unset: the node didn't say
  };
  struct events {
    std::function<std::vector<cluster_node*>()> candidates;  ///< the best first
    std::function<void(cluster_node& by, findings const&)> found;
    /// None could tell; null: all of them still owe an answer to an earlier question.
    std::function<void(std::shared_ptr<error const> why)> failed;
  };

  topology_refresh(reactor::loop& on, events tell);

  /// Asks soon: at once after a quiet time, else after a pause that grows until settled() is called.
  void look() noexcept;
  /// This node knows more than others; it is asked first.
  void look_at(cluster_node& first) noexcept;
  /// What was found serves.
  void settled() noexcept { pause_.reset(); }

  /// Is about to be asked, or has an answer to give.
  [[nodiscard]] bool needs(cluster_node const& one) const;

 private:
  struct inquiry {
    cluster_node* whom;
    std::uint64_t round;
    findings what;
  };

  void begin();
  void ask_some();
  void ask(cluster_node& whom);
  void on_answer(inquiry& mine, net::response&& slots);
  void on_refused(inquiry const& mine, net::response const& how);
  void finish_if_over();
  void finish() noexcept;
  template <class Step>
  void go(Step step) noexcept;

  reactor::loop& on_;
  events tell_;
  backoff pause_;
  std::minstd_rand random_;
  bool running_ = false;
  bool again_ = false;  ///< asked for while a round was under way
  std::uint64_t round_ = 0;
  std::uint64_t epoch_ = 0;                ///< the newest that was believed
  cluster_node* first_ = nullptr;          ///< of the next round
  std::vector<cluster_node*> to_ask_;      ///< in this round, the best last
  std::vector<cluster_node*> unanswered_;  ///< of any round
  std::size_t open_ = 0;                   ///< answers of this round that are still to come
  std::unique_ptr<inquiry> second_best_;
  std::vector<std::shared_ptr<error const>> failures_;
  time_point ended_{};  ///< the last round
  reactor::timer next_;
  reactor::timer widen_;
};

}  // namespace holdfast::topology
