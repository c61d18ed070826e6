/// The promises of the locks, checked after each event.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/core.hpp"
#include "judge/rules.hpp"
#include "simulation/barrier_judge.hpp"
#include "simulation/condition_judge.hpp"
#include "simulation/joint_view.hpp"
#include "simulation/kinds.hpp"
#include "simulation/latch_judge.hpp"
#include "simulation/server.hpp"
#include "simulation/world.hpp"

namespace holdfast::simulation {

/// Collects failures instead of throwing, since the checks run inside callbacks.
class judge {
 public:
  judge(world& shared_world, servers& all) : world_{shared_world}, servers_{all} {}

  [[nodiscard]] latch_judge& latches() noexcept { return latches_; }
  [[nodiscard]] barrier_judge& barriers() noexcept { return barriers_; }
  [[nodiscard]] condition_judge& conditions() noexcept { return conditions_; }

  /// A caller begins to wait.
  void on_wait(part const& wanted, int amount);
  /// The wait has ended, in one way or another.
  void on_answer(part const& wanted, int amount);

  /// `since`: when the caller began to wait.
  void on_granted(part const& wanted, engine::lease_state_ptr const& lease, std::string const& owner,
                  time_point since, int amount);
  /// The last caller of a process leaves as if the lock were busy.
  void on_left(part const& wanted, std::string const& uuid, time_point since);
  /// The lease is about to be released. A master of several that can't be reached until its deadline isn't
  /// told; the key may last longer there, if a caller with another ttl had asked for it.
  void on_release(engine::lease_state_ptr const& lease, std::string const& owner);

  /// Permits of a kind without leases.
  void on_taken(part const& wanted, int amount);
  void on_given_back(std::string const& name, int amount) { taken_[name] -= amount; }
  /// Their holder is gone, and nothing gives back permits without leases: an operator does.
  void on_wasted(call const& giving_back) { (void)servers_.front()->execute(giving_back); }

  /// The owner's hold has to stay until then. A master of several that has trouble may hear of its end late.
  void on_kept(part const& wanted, std::string const& owner, time_point until) {
    kept_.push_back({wanted, owner, until});
    if (servers_.size() > 1) may_last_[owner] = world_.now();
  }

  /// What mentions this owner may be left at the end, if that comes before `until`.
  void excuse(std::string const& owner, time_point until = time_point::max());

  /// After each event.
  void check();

  /// From now on requests may arrive late, which takes a lock for nobody for its ttl: only exclusion and the
  /// order of tokens are judged.
  void expect_late_copies() noexcept { late_copies_ = true; }

  /// No request is disturbed: whoever has been granted a lock hears of it when it asks, at the latest before
  /// it leaves.
  void expect_answers() noexcept { answers_ = true; }

  /// After all callers have ended, and the clients are shut: all callers were answered, and no permit is
  /// missing.
  void check_end();
  /// Then, too: no key is left on that server.
  void check_left_behind(server& at);

  void fail(std::string const& text);
  [[nodiscard]] std::vector<std::string> const& failures() const noexcept { return failures_; }

 private:
  struct holder {
    part wanted;
    std::string owner;
    engine::lease_state_ptr lease;
    int amount = 1;  ///< of permits
    // Of the last look at it:
    std::uint64_t executed = 0;
    time_point deadline{};
  };
  struct kept_hold {
    part wanted;
    std::string owner;
    time_point until{};
  };
  struct waiting_key {
    std::string queue;
    kind const* lock;
    int amount;
    friend auto operator<=>(waiting_key const&, waiting_key const&) = default;
  };
  struct waiting_callers {
    part wanted{};
    int callers = 0;
    time_point free_since = time_point::max();
  };

  void check_company(part const& wanted, std::string const& owner, int amount);
  void check_turn(part const& wanted, std::string const& owner, time_point since);
  void check_token(part const& wanted, std::int64_t token, std::string const& owner);
  void check_replicas(part const& wanted, lock_options const& options, std::string const& owner);
  void check_holder(holder& entry, std::uint64_t executed);
  void check_waiting(std::uint64_t executed);
  void note_owner(part const& wanted);
  [[nodiscard]] bool is_excused(server const& at, std::string const& text) const;

  world& world_;
  servers& servers_;
  latch_judge latches_{world_, servers_, [this](std::string const& text) { fail(text); }};
  barrier_judge barriers_{world_, [this](std::string const& text) { fail(text); }};
  condition_judge conditions_{world_, [this](std::string const& text) { fail(text); }};
  bool late_copies_ = false;
  bool answers_ = false;
  struct key_owner {
    std::string owner{};
    time_point since{};
  };
  std::map<std::string, key_owner> owners_;            ///< in the keys of names that somebody waits for
  std::set<std::string> believed_;                     ///< owners whose callers were given the lock
  std::map<std::string, judging::token_rule> tokens_;  ///< by name
  std::vector<holder> holders_;
  std::vector<kept_hold> kept_;
  std::map<std::string, time_point> excused_;   ///< owners
  std::map<std::string, time_point> may_last_;  ///< owners; where there was trouble after that
  std::map<waiting_key, waiting_callers> waiting_;
  std::uint64_t waiting_executed_ = 0;          ///< of the last look at them
  time_point waiting_due_{};                    ///< the next one, if nothing changes by commands
  std::map<std::string, int> taken_;            ///< permits without leases, by name
  std::set<std::string> readers_;               ///< owners that were let in
  std::map<std::string, kind const*> counted_;  ///< the names that have permits
  std::vector<std::string> failures_;
};

}  // namespace holdfast::simulation
