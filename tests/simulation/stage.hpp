/// One simulation: a world with a server, processes and callers, from its beginning to its end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulation/play.hpp"

namespace holdfast::simulation {

class stage {
 public:
  explicit stage(std::uint64_t seed, network how = {});
  ~stage();
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;

  process& add_process(client_options options = {});
  actor& add_actor(process& in, habits how);

  [[nodiscard]] world& time() noexcept { return world_; }
  [[nodiscard]] server& redis() noexcept { return server_; }
  [[nodiscard]] judge& judged() noexcept { return judge_; }
  [[nodiscard]] int leases() const noexcept;
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }

  /// From now on nothing goes wrong.
  void calm() noexcept { calm_ = true; }

  /// Until all callers are done, and what they began has come to its end. What was wrong; empty: all is well.
  [[nodiscard]] std::vector<std::string> play();

 private:
  world world_;
  server server_{world_};
  judge judge_{world_, server_};
  std::function<fate(std::uint64_t)> fate_of_;
  network network_;
  bool calm_ = false;
  std::uint64_t requests_ = 0;
  std::vector<std::unique_ptr<process>> processes_;
  std::vector<std::unique_ptr<actor>> actors_;
};

}  // namespace holdfast::simulation
