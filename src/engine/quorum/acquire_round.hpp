/// One attempt to get a majority of votes.
#pragma once

#include <string>

#include "engine/quorum/ballot.hpp"
#include "engine/quorum/masters.hpp"
#include "engine/quorum/token_levels.hpp"

namespace holdfast::engine {

/// Asks all masters at once. A majority of votes, once brought to one level of tokens, is the lock. After a
/// split vote one contender goes on while the others make way. A contender that doesn't get the lock is told
/// so after all its votes were given back, also those with an unknown outcome.
class acquire_round final : public fan_out, public quorum_masters::resting_round {
 public:
  acquire_round(quorum_masters& quorum, recipe const& lock_recipe, std::string_view name,
                acquire_request const& request, lock_backend::handler<verdict> done,
                scripting::send_options send);

  /// When it throws std::bad_alloc, the handler is not called.
  void begin();
  /// Absent masters are back.
  void wake() noexcept override;
  void fail(std::shared_ptr<error const> const& reason) override;
  [[nodiscard]] bool is_ahead() const noexcept override { return phase_ == phase::resting && !too_few_; }

 private:
  enum class phase { voting, levelling, resting, over };
  static constexpr int vote_question = 0;
  static constexpr int level_question = 1;

  /// If several answers of one kind are still to come, only the last of them counts.
  void answered(question asked, net::response&& response) override;
  void overdue(std::size_t master) override;
  /// The votes that may be ours are given back when the owner is abandoned.
  void give_up() noexcept override;

  void vote();
  void resume();
  void ask_for_vote(std::size_t master);
  /// What has become of the owner since a request for its vote was sent.
  struct owner_status {
    bool over;   ///< released, or given up, before
    bool newer;  ///< another round has asked for it there since
    bool won;    ///< it has the lock, or had it
  };
  [[nodiscard]] owner_status note_answer(std::size_t master, time_point sent_at);
  void on_vote(std::size_t master, answer<verdict>&& vote, owner_status status);
  void judge();
  /// The way from a majority of votes to the lease: see token_levels.
  void level();
  void on_level(std::size_t master, std::int64_t counter);
  void raise(std::size_t master);
  /// Nobody has a majority, and this contender is ahead. The others make way meanwhile.
  void retry_or_lose();
  void pause_until(time_point until);
  void lose();
  void on_too_few(ballot::outcome cause);
  /// Gives back all votes that are ours, or may be: behind the unanswered requests.
  void yield();
  void win();
  /// For masters that voted for others, also in an earlier round: otherwise a release there would wake a
  /// contender that doesn't wait any more, or grant it the lock.
  void leave_queue(std::size_t master);
  void finish(answer<verdict>&& result) noexcept;
  /// A vote beyond the majority. Its counter is raised, too, so that the next lease finds all on one level.
  void late_vote(std::size_t master);
  [[nodiscard]] std::shared_ptr<acquire_round> self() {
    return std::static_pointer_cast<acquire_round>(shared_from_this());
  }
  [[nodiscard]] owned lease() const noexcept { return {.name = name_, .owner = owner_}; }

  quorum_masters& quorum_;
  recipe const& recipe_;
  std::string const name_;
  std::string const owner_;
  std::string const ticket_;
  acquire_request request_;
  std::uint64_t const number_;
  lock_backend::handler<verdict> done_;
  scripting::send_options const send_options_;
  time_point const begun_ = boot_clock::now();

  phase phase_ = phase::voting;
  bool sending_ = false;  ///< votes are counted only after all masters were asked
  bool too_few_ = false;  ///< it rests until more masters are present
  int tries_ = 0;
  ballot votes_;
  /// Answers to come, of each master. A script that it has forgotten is answered behind later requests.
  std::vector<int> owed_votes_;
  std::vector<bool> taken_;  ///< masters whose votes may be ours: asked for, and not denied or given back
  /// When an unanswered vote was given back, and so stopped counting. max(): it wasn't.
  std::vector<time_point> void_since_;
  token_levels levels_;
  std::string refusal_;  ///< the words of the last master that refused
  reactor::timer bell_;
};

}  // namespace holdfast::engine
