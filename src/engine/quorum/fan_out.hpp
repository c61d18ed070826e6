/// Sends requests to several masters.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/quorum/node.hpp"

namespace holdfast::engine {

using quorum_nodes = std::vector<std::unique_ptr<quorum_node>>;

/// Reports for each request either its answer, or that the answer is overdue. Lives until the last answer has
/// come. All under the client's lock.
class fan_out : public std::enable_shared_from_this<fan_out> {
 public:
  fan_out(reactor::loop& loop, quorum_nodes& nodes);
  fan_out(fan_out const&) = delete;
  fan_out& operator=(fan_out const&) = delete;
  virtual ~fan_out() = default;

 protected:
  struct question {
    std::size_t master;
    int kind = 0;  ///< defined by the derived class
  };

  /// Also called when the answer was overdue before. It is out of date when the same master owes another one.
  virtual void answered(question asked, net::response&& response) = 0;
  /// The master didn't answer in time. It may answer later.
  virtual void overdue(std::size_t master) = 0;
  /// One of the two calls above failed for want of memory: concludes with what is known.
  virtual void give_up() noexcept = 0;

  /// Sends one request; replaces its `done`. Waits for the answer for `at_most` or less.
  void send(question asked, net::request request,
            std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max());

  /// Waits for an overdue answer again.
  void wait_on(std::size_t master, time_point until);

  /// Its answer is waited for.
  [[nodiscard]] bool pending(std::size_t master) const noexcept {
    return until_[master] != time_point::max();
  }
  /// Answers of this master are still to come, in time or not.
  [[nodiscard]] bool owes(std::size_t master) const noexcept { return owed_[master] > 0; }
  [[nodiscard]] quorum_node& node(std::size_t master) const noexcept { return *nodes_[master]; }
  [[nodiscard]] std::size_t masters() const noexcept { return nodes_.size(); }
  [[nodiscard]] reactor::loop& loop() const noexcept { return loop_; }

 private:
  void look() noexcept;
  void set_timer(time_point at_most);

  reactor::loop& loop_;
  quorum_nodes& nodes_;
  std::vector<time_point> until_;  ///< when each is overdue; max(): it isn't waited for
  std::vector<int> owed_;          ///< answers to come, of each
  std::vector<char> late_;         ///< of each: found overdue in this look
  bool looked_ = false;            ///< the first look is done, the second one is to come
  reactor::timer timer_;
};

}  // namespace holdfast::engine
