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

/// One process with a client of all servers.
class process {
 public:
  process(world& shared_world, servers& all, network const& conditions, client_options options);
  ~process() { end(); }
  process(process const&) = delete;
  process& operator=(process const&) = delete;

  [[nodiscard]] engine::core& core() const noexcept { return *core_; }
  /// Shuts the client.
  void end();
  /// The process ends with exit(), while its other threads go on: none of them may get a lock any more.
  void exit();
  [[nodiscard]] bool exiting() const noexcept { return exiting_; }
  [[nodiscard]] bool dead() const noexcept { return dead_; }

  /// A number for a request that is to be carried out once.
  [[nodiscard]] int new_mark() noexcept { return ++last_mark_; }

  /// Calls f, which may wait for the server, when no other caller of this process does: its loop has one
  /// driver, which is the only thread.
  void when_undisturbed(std::function<void()> f);

 private:
  world& world_;
  servers& servers_;
  std::vector<deployment*> connections_{};
  std::shared_ptr<engine::core> core_;
  bool ended_ = false;
  bool exiting_ = false;
  bool dead_ = false;
  bool busy_ = false;
  int last_mark_ = 0;
};

/// The behaviour of one caller in each of its rounds.
struct habits {
  part wanted{};
  lock_options options{};
  int most_permits = 1;  ///< wanted at a time, where a kind gives several
  int rounds = 3;
  int tries = 6;    ///< one acquisition in so many doesn't wait; 0: none, here and below
  int timed = 3;    ///< one acquisition in so many waits for a limited time
  int cancels = 6;  ///< one acquisition in so many is cancelled
  int keeps = 0;    ///< one lease in so many is kept for a time
  nanoseconds first_pause{0};
  nanoseconds longest_wait{std::chrono::seconds{2}};
  nanoseconds longest_hold{std::chrono::milliseconds{200}};
  nanoseconds longest_pause{std::chrono::milliseconds{50}};
  nanoseconds longest_keep{std::chrono::milliseconds{200}};
};

/// A caller. Uses callbacks where the engine has any, since everything runs on one thread.
class actor {
 public:
  actor(world& shared_world, judge& referee, process& host, habits behaviour);
  ~actor();
  actor(actor const&) = delete;
  actor& operator=(actor const&) = delete;

  void begin();
  [[nodiscard]] bool done() const noexcept {
    return host_.dead() || (rounds_left_ == 0 && !waiting_ && !holding_ && !releasing_);
  }
  [[nodiscard]] int leases() const noexcept { return leases_; }
  /// The process has ended, with all its threads.
  void bury();

 private:
  [[nodiscard]] bool chance(int one_in) { return one_in != 0 && world_.once_in(one_in); }
  void take_seat();
  void wait_and_acquire(nanoseconds least, nanoseconds most);
  void acquire();
  void on_answer(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure);
  void upgrade();
  void on_upgraded(engine::lease_state_ptr writer, std::shared_ptr<error const> const& failure);
  // On the condition of its lock.
  void use_condition();
  void notify();
  void lay_down();
  void wait_for_notification();
  void on_wait_ended(engine::lease_state_ptr notified, std::shared_ptr<error const> const& failure);
  void ask_whether_notified();
  void take_up();
  void on_taken_up(engine::lease_state_ptr lease, std::shared_ptr<error const> const& failure);
  void go_without();
  void give_back();
  void give_back_permits();
  [[nodiscard]] call giving_back() const;
  void keep();
  void next();

  world& world_;
  judge& judge_;
  process& host_;
  habits const habits_;
  engine::lock_queue_ptr queue_;
  engine::lock_queue_ptr upgrading_;  ///< for what its leases may become
  part upgraded_;                     ///< that
  engine::lock_queue_ptr seat_;       ///< while it waits on the condition
  engine::effective_options_ptr options_;
  engine::lease_state_ptr lease_;
  std::stop_source stop_;
  time_point since_{};  ///< when it began to wait
  int rounds_left_;
  int leases_ = 0;
  int amount_ = 1;
  std::uint64_t taker_ = 0;  ///< which acquisition it has for good
  int mark_ = 0;             ///< of the request that gives permits back
  bool seated_ = false;      ///< at a barrier, since its last arrival there was a clean one
  bool waiting_ = false;
  bool holding_ = false;
  bool giving_back_ = false;  ///< permits without a lease
  bool releasing_ = false;
};

}  // namespace holdfast::simulation
