/// One try to get a majority of votes.
#pragma once

#include <string>

#include "engine/quorum/ballot.hpp"
#include "engine/quorum/quorum.hpp"

namespace holdfast::engine {

/// All masters are asked at once. A majority of votes is brought to one level of tokens, and is the lock. A
/// vote that was split leaves one contender ahead, which goes on while the others make way. Whoever doesn't
/// get the lock has given back its votes, whatever is known of them, when it is told so.
class quorum::acquire_round final : public fan_out {
 public:
  acquire_round(quorum& home, recipe const& how, std::string_view name, acquire_request const& what,
                handler done, scripting::send_options patience);

  /// Throws std::bad_alloc when it can't; then nobody hears of it.
  void begin();
  /// Masters that were away are there again.
  void wake() noexcept;
  void fail(std::shared_ptr<error const> const& why);

 private:
  enum class phase { voting, levelling, resting, over };
  static constexpr int a_vote = 0;
  static constexpr int a_level = 1;

  void answered(question what, net::response&& how) override;
  void overdue(std::size_t who) override;
  void give_up() noexcept override;

  void vote();
  void resume();
  void ask_for_vote(std::size_t who);
  [[nodiscard]] std::chrono::nanoseconds time_to_answer(std::size_t who) const noexcept;
  /// What has become of the owner since a request for its vote was sent.
  struct owner_status {
    bool over;   ///< released, or given up, before
    bool newer;  ///< another round asks for it
  };
  [[nodiscard]] owner_status note_answer(time_point sent_at);
  void on_vote(std::size_t who, net::response& how, owner_status now);
  void judge();
  void level();
  void on_level(std::size_t who, std::int64_t counter);
  void raise(std::size_t who);
  void retry_or_lose();
  void rest(time_point until);
  void lose();
  [[nodiscard]] milliseconds soon() const noexcept;
  void on_too_few(ballot::outcome why);
  void yield();
  void win();
  void leave_queue(std::size_t who);
  void finish(net::response&& how) noexcept;
  void late_vote(std::size_t who);
  [[nodiscard]] time_point limit() const;
  [[nodiscard]] owned whose() const noexcept { return {.name = name_, .owner = owner_}; }
  [[nodiscard]] std::int64_t last_token() const noexcept { return block_.token + block_.count - 1; }

  quorum& backend_;
  recipe const& protocol_;
  std::string const name_;
  std::string const owner_;
  std::string const ticket_;
  acquire_request request_;
  std::uint64_t const number_;
  handler done_;
  scripting::send_options const send_options_;
  time_point const begun_ = boot_clock::now();

  phase phase_ = phase::voting;
  bool sending_ = false;  ///< the votes are counted when all have been asked
  bool won_ = false;
  bool too_few_ = false;  ///< it rests until more masters can be asked
  int tries_ = 0;
  ballot votes_;
  granted block_{};          ///< of the lease, once there is a majority
  std::vector<bool> taken_;  ///< masters whose votes may be ours: asked for, and not denied or given back
  /// When a vote that wasn't answered was given back: it doesn't count any more. max(): it wasn't.
  std::vector<time_point> void_since_;
  std::vector<bool> level_;    ///< masters whose counters are no lower than its end
  std::vector<bool> raising_;  ///< those that are being brought there
  resp::reply refusal_{};      ///< the last
  reactor::timer bell_;
};

}  // namespace holdfast::engine
