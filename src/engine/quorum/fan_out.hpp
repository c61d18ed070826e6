/// Asking several masters the same thing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/quorum/node.hpp"

namespace holdfast::engine {

using quorum_nodes = std::vector<std::unique_ptr<quorum_node>>;

/// Sends requests to masters, and tells of each what became of it: an answer, or that it didn't come in time.
/// Lives as long as an answer is owed to it. All under the client's lock.
class fan_out : public std::enable_shared_from_this<fan_out> {
 public:
  fan_out(reactor::loop& on, quorum_nodes& whom);
  fan_out(fan_out const&) = delete;
  fan_out& operator=(fan_out const&) = delete;
  virtual ~fan_out() = default;

 protected:
  struct question {
    std::size_t who;
    int about = 0;  ///< whatever tells one kind from another
  };

  /// Also when it was overdue before. An answer is out of date when the same master owes another one.
  virtual void answered(question what, net::response&& how) = 0;
  /// It didn't answer in its time. It may yet do so.
  virtual void overdue(std::size_t who) = 0;
  /// One of those failed for want of memory: it comes to an end with what is known.
  virtual void give_up() noexcept = 0;

  /// Sends one request; its `done` is ours. No longer than `at_most` is waited for the answer.
  void send(question what, net::request request,
            std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max());

  /// Waits for its answer until then after all.
  void wait_on(std::size_t who, time_point until);

  /// It is waited for.
  [[nodiscard]] bool pending(std::size_t who) const noexcept { return until_[who] != time_point::max(); }
  /// There are answers of it to come, in time or not.
  [[nodiscard]] bool owes(std::size_t who) const noexcept { return owed_[who] > 0; }
  [[nodiscard]] quorum_node& node(std::size_t who) const noexcept { return *nodes_[who]; }
  [[nodiscard]] std::size_t masters() const noexcept { return nodes_.size(); }
  [[nodiscard]] reactor::loop& on() const noexcept { return on_; }

 private:
  void look() noexcept;
  void set_timer(time_point at_most);

  reactor::loop& on_;
  quorum_nodes& nodes_;
  std::vector<time_point> until_;  ///< when each is overdue; max(): it isn't waited for
  std::vector<int> owed_;          ///< answers, of each
  std::vector<char> late_;         ///< each: found overdue in this look
  bool looked_ = false;            ///< at those overdue, once
  reactor::timer timer_;
};

}  // namespace holdfast::engine
