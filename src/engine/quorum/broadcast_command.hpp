/// Sends a request that isn't about one of our leases to all masters.
#pragma once

#include "engine/quorum/masters.hpp"

namespace holdfast::engine {

/// Completes with the most informative reply; a majority must have answered. Waits for all masters that are
/// present, each within its time limit: the last command of a client should reach all of them.
class broadcast_command final : public fan_out {
 public:
  broadcast_command(quorum_masters& quorum, net::request request);

  void run();

 private:
  void answered(question asked, net::response&& response) override;
  void overdue(std::size_t /*master*/) override { conclude(); }
  void give_up() noexcept override;
  void conclude();

  quorum_masters& quorum_;
  net::request request_;
  bool asked_ = false;
  std::size_t answers_ = 0;
  net::response best_{};
};

}  // namespace holdfast::engine
