/// Clients, and their callers, which acquire and release locks.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "simulation/deployment.hpp"
#include "simulation/judge.hpp"

namespace holdfast::simulation {

/// One process with a client.
class process {
 public:
  process(world& shared_world, server& redis, network const& conditions, client_options options);
  ~process() { end(); }
  process(process const&) = delete;
  process& operator=(process const&) = delete;

  [[nodiscard]] engine::core& core() const noexcept { return *core_; }
  /// Shuts the client.
  void end();

 private:
  world& world_;
  std::shared_ptr<engine::core> core_;
  bool ended_ = false;
};

/// The behaviour of one caller in each of its rounds.
struct habits {
  engine::recipe const* protocol = nullptr;
  std::string name = "orders";
  lock_options options{};
  int rounds = 3;
  int tries = 6;    ///< one acquisition in so many doesn't wait; 0: none, here and below
  int timed = 3;    ///< one acquisition in so many waits for a limited time
  int cancels = 6;  ///< one acquisition in so many is cancelled
  int keeps = 0;    ///< one lease in so many is kept for a time
  nanoseconds longest_wait{std::chrono::seconds{2}};
  nanoseconds longest_hold{std::chrono::milliseconds{200}};
  nanoseconds longest_pause{std::chrono::milliseconds{50}};
};

/// A caller. Uses callbacks only, since everything runs on one thread.
class actor {
 public:
  actor(world& shared_world, judge& referee, process& host, habits behaviour);
  ~actor();
  actor(actor const&) = delete;
  actor& operator=(actor const&) = delete;

  void begin();
  [[nodiscard]] bool done() const noexcept {
    return rounds_left_ == 0 && !waiting_ && !lease_ && !releasing_;
  }
  [[nodiscard]] int leases() const noexcept { return leases_; }

 private:
  [[nodiscard]] bool chance(int one_in) { return one_in != 0 && world_.once_in(one_in); }
  void acquire();
  void on_answer(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure);
  void give_back();
  void keep();
  void next();

  world& world_;
  judge& judge_;
  process& process_;
  habits const habits_;
  engine::lock_queue_ptr queue_;
  engine::effective_options_ptr options_;
  engine::lease_state_ptr lease_;
  std::stop_source stop_;
  int rounds_left_;
  int leases_ = 0;
  bool waiting_ = false;
  bool releasing_ = false;
};

}  // namespace holdfast::simulation
