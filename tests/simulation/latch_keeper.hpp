/// Closes and opens a latch.
#pragma once

#include <string>

#include "simulation/play.hpp"

namespace holdfast::simulation {

/// A caller that gives a latch a count in each round, and counts it down; after its last round it opens it.
/// Several of them may have to do with one latch. Should its process end before that, an operator deletes the
/// count.
class latch_keeper {
 public:
  latch_keeper(world& shared_world, server& redis, judge& referee, process& host, habits const& behaviour);
  latch_keeper(latch_keeper const&) = delete;
  latch_keeper& operator=(latch_keeper const&) = delete;

  /// `alone`: nobody else has to do with the latch, so its count is known.
  void begin(bool alone);
  [[nodiscard]] bool done() const noexcept { return host_.dead() || done_; }
  /// The process has ended, with all its threads.
  void bury();

 private:
  enum class step { close, count_down, open };

  void go_on_after(nanoseconds longest, step next);
  void ask();
  [[nodiscard]] call request_for(std::string const& mark, std::string const& channel) const;
  [[nodiscard]] call plain_request_for(std::string const& mark) const;
  void on_reply(std::int64_t reply);
  void expect_count(std::int64_t count);
  void delete_count();

  world& world_;
  server& server_;
  judge& judge_;
  process& host_;
  habits const habits_;
  std::string const name_;
  bool const plain_;
  step step_ = step::close;
  int rounds_left_;
  int to_count_ = 0;  ///< how often it will count down in this round
  int mark_ = 0;      ///< of the request that is under way
  bool alone_ = false;
  bool done_ = false;
};

}  // namespace holdfast::simulation
