/// S1: which leases are valid at the same time. S2: their ends are told. S3: their tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "judge/state.hpp"
#include "judge/token_order.hpp"

namespace holdfast::judging {

class exclusion {
 public:
  explicit exclusion(state& all) : state_{all} {}

  /// The lease isn't among the holds of its names yet.
  void begin(hold_state const& hold);
  /// It has another deadline.
  void extended(hold_state const& hold, place const& at, instant before);
  /// How a lease ends.
  enum class ending {
    usual,
    forced,  ///< somebody takes the lock by force, and may have deleted it under a holder that was asked to
             ///< stop
  };
  /// It isn't valid any more.
  void end(hold_state const& hold, place const& at, std::string const& text, ending cause = ending::usual);
  /// Of a lease that ends, or was the holder's when its client told the last time: whether it was told in
  /// time.
  void overdue(hold_state const& hold, place const& at, std::string const& text);
  /// That client comes to another server.
  void moved(std::uint32_t client);
  /// It is that late.
  void passed(instant now);

 private:
  /// Two leases that are valid at the same time; how long isn't known yet.
  struct clash {
    hold_state const* first;
    hold_state const* second;
    std::uint32_t name;
    instant from;
  };
  /// Leases of more permits than there are, of several hosts: by the clocks one may have ended before another
  /// one began, unless they last for longer.
  struct crowd {
    std::vector<hold_state const*> of{};
    instant from = 0;
    instant doubt = 0;
    bool excused = false;
    finding found{};
  };
  /// What breaks a promise, unless that client moves on by then: it was told late of a new master.
  struct suspected {
    finding found;
    std::uint32_t client;
    instant until;
  };
  void check_company(hold_state const& hold, part const& of, instant now);
  void decide(crowd of);
  [[nodiscard]] std::optional<hold_state> token_above(hold_state const& hold, part const& of);
  void check_token(hold_state const& hold, part const& of);
  [[nodiscard]] bool told_late_by_another_master(hold_state const& hold, part const& of) const;
  [[nodiscard]] hold_state const* perhaps_behind(hold_state const& first, hold_state const& second) const;
  void condemn(finding found, hold_state const* behind, instant end);
  void check_deadline(hold_state const& hold, place const& at);
  void settle(clash const& open, hold_state const& ended, place const& at, std::string const& text,
              ending cause);

  state& state_;
  std::vector<clash> clashes_;
  std::vector<crowd> crowds_;
  std::unordered_map<std::uint32_t, token_order> token_orders_;  ///< by name, where the clocks may differ
  std::vector<suspected> suspected_;
};

}  // namespace holdfast::judging
