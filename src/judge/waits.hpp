/// L1: a free lock is taken. L3: fair locks are served in the order of arrival.
#pragma once

#include "judge/state.hpp"

namespace holdfast::judging {

class waits {
 public:
  /// `slack`: on top of what a lost message and an unanswered request may cost.
  waits(state& all, instant slack) : state_{all}, slack_{slack} {}

  /// A lease begins that this caller waited for; neither is among those of its name any more, or yet.
  void served(wait_state const& wait, place const& at);
  /// It goes without.
  void left(wait_state const& wait, place const& at);
  /// A further line of a client tells what became of its callers that were overtaken, as it seemed.
  void lives(record const& line);
  /// Its client has ended, and it was never answered.
  void forgotten(wait_state const& wait, place const& at);
  /// The history is over.
  void unanswered(wait_state const& wait, place const& at) { check_free(wait, at, "still waits"); }

 private:
  [[nodiscard]] instant bound_of(wait_state const& wait) const;
  [[nodiscard]] instant free_since(std::uint32_t name, instant now) const;
  [[nodiscard]] instant kept_out_until(wait_state const& of, wait_state const* served, instant now,
                                       instant well_since) const;
  [[nodiscard]] instant longest_answer(std::uint32_t client) const;
  [[nodiscard]] bool is_behind(wait_state const& other, wait_state const& of, instant now) const;
  void end_places(name_state const& name, wait_state const& served, instant now);
  [[nodiscard]] bool may_be_late(name_state const& name, instant now) const;
  /// `served`: the caller that got it now, if another one.
  void check_free(wait_state const& wait, place const& at, std::string const& text,
                  wait_state const* served = nullptr);
  void check_order(wait_state const& wait, place const& at);

  state& state_;
  instant slack_;
};

}  // namespace holdfast::judging
