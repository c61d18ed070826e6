// The way from a majority of votes to the lease: a majority of token counters on one level.

#include <algorithm>
#include <utility>

#include "engine/quorum/acquire_round.hpp"

namespace holdfast::engine {

/// Hands the lease out once no majority can give out a token of its block, or an older one, any more.
void acquire_round::level() {
  auto const reached = std::ranges::count(level_, true);
  if (std::cmp_greater_equal(reached, quorum_.majority())) {
    win();
    return;
  }
  auto under_way = false;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (level_[i]) continue;
    if (votes_.has_vote_of(i) && !raising_[i]) raise(i);
    under_way = under_way || pending(i);
    if (phase_ != phase::levelling) return;
  }
  if (under_way) return;
  // Masters have become absent since they voted.
  yield();
  on_too_few(ballot::outcome::unreachable);
}

void acquire_round::raise(std::size_t master) {
  if (recipe_.votes->raise == nullptr) return;
  raising_[master] = true;
  ++owed_levels_[master];
  try {
    fan_out::send({.master = master, .kind = level_question},
                  scripting::to_run(recipe_.votes->raise(lease(), last_token()), {},
                                    {.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + request_.ttl}));
  } catch (...) {
    --owed_levels_[master];
    throw;
  }
}

void acquire_round::on_level(std::size_t master, std::int64_t counter) {
  if (phase_ != phase::levelling) return;
  if (counter >= last_token()) {
    level_[master] = true;
  } else {
    votes_.miss(master);  // not ours any more
  }
  level();
}

/// A vote beyond the majority. Its counter is raised, too, so that the next lease finds all on one level.
void acquire_round::late_vote(std::size_t master) {
  if (phase_ != phase::levelling && phase_ != phase::over) return;
  auto const& tokens = votes_.tokens(master);
  if (tokens.token + tokens.count - 1 >= last_token()) {
    on_level(master, last_token());
  } else {
    raise(master);
  }
}

void acquire_round::win() {
  quorum_.owners().note_won(number_);
  for (std::size_t i = 0; i != masters(); ++i) {
    quorum_.keep_vote(i, number_);
    // Where its vote is still to come, on_vote decides.
    auto const open = owed_votes_[i] != 0 && taken_[i];
    if (!votes_.has_vote_of(i) && !open && node(i).may_know(number_)) leave_queue(i);
  }
  finish({.content = verdict{block_}, .sent_at = votes_.earliest()});
}

}  // namespace holdfast::engine
