/// A request that isn't about a lease of ours, to all masters.
#pragma once

#include "engine/quorum/quorum.hpp"

namespace holdfast::engine {

/// Of the replies the one that says most is given; a majority must have answered. All that are there are
/// waited for, within their time: what is said last should reach all.
class quorum::broadcast_command final : public fan_out {
 public:
  broadcast_command(quorum& home, net::request what);

  void run();

 private:
  void answered(question what, net::response&& how) override;
  void overdue(std::size_t /*who*/) override { conclude(); }
  void give_up() noexcept override;
  void conclude();

  quorum& backend_;
  net::request request_;
  bool asked_ = false;
  std::size_t answers_ = 0;
  net::response best_{};
};

}  // namespace holdfast::engine
