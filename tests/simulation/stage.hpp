/// One simulation: a world with servers, processes and callers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulation/latch_keeper.hpp"
#include "simulation/play.hpp"
#include "support/event_book.hpp"

namespace holdfast::simulation {

class stage {
 public:
  explicit stage(std::uint64_t seed, network conditions = {}, int masters = 1);
  ~stage();
  stage(stage const&) = delete;
  stage& operator=(stage const&) = delete;

  process& add_process(client_options options = {});
  actor& add_actor(process& host, habits behaviour);
  /// For a caller that closes and opens the latch which actors wait at.
  void add_keeper(process& host, habits behaviour);
  [[nodiscard]] server& master(std::size_t index) noexcept { return *servers_[index]; }
  [[nodiscard]] replication& replicas() noexcept { return servers_.front()->replicas(); }
  /// See judge::expect_late_copies.
  void expect_late_copies() noexcept { judge_.expect_late_copies(); }

  /// The process ends with exit(), and all its callers with it.
  /// `over`: called when it has.
  void exit(process& host, std::function<void()> over = [] {});

  [[nodiscard]] world& shared_world() noexcept { return world_; }
  /// The number of leases that were granted so far.
  [[nodiscard]] int leases() const noexcept;
  /// The numbers of requests and messages that were sent so far.
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

  /// From now on all requests are answered, and no message is lost.
  void calm() noexcept { calm_ = true; }

  /// Runs until all callers are done, and then until their last requests have ended. Returns the failures.
  [[nodiscard]] std::vector<std::string> play();

 private:
  /// Until all keys are gone that end with their ttl.
  void outwait_ttls();
  /// What the observers of all clients have heard has to make sense, and to be complete.
  void check_events();

  world world_;
  servers servers_;
  judge judge_{world_, servers_};
  network const given_;
  network network_;
  bool calm_ = false;
  std::uint64_t requests_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<std::unique_ptr<process>> processes_;
  std::vector<std::shared_ptr<test::event_book>> books_;  ///< of each
  std::vector<std::unique_ptr<actor>> actors_;
  std::vector<std::unique_ptr<latch_keeper>> keepers_;
};

}  // namespace holdfast::simulation
