#include "engine/quorum/acquire_round.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/round_times.hpp"
#include "engine/quorum/vote_count.hpp"
#include "engine/replies.hpp"

namespace holdfast::engine {

acquire_round::acquire_round(quorum_masters& quorum, recipe const& lock_recipe, std::string_view name,
                             acquire_request const& request, lock_backend::handler<verdict> done,
                             scripting::send_options send)
    : fan_out{quorum.loop(), quorum.nodes()},
      quorum_{quorum},
      recipe_{lock_recipe},
      name_{name},
      owner_{request.owner},
      ticket_{request.ticket},
      request_{request},
      number_{quorum_owners::number_of(request.owner)},
      done_{std::move(done)},
      send_options_{send},
      votes_{quorum.nodes().size(), owner_},
      owed_votes_(quorum.nodes().size()),
      taken_(quorum.nodes().size()),
      void_since_(quorum.nodes().size(), time_point::max()),
      levels_{quorum.nodes().size()},
      bell_{[this] { wake(); }} {
  request_.owner = owner_;
  request_.ticket = ticket_;
}

void acquire_round::begin() {
  auto const pin = self();
  try {
    vote();
  } catch (...) {
    done_ = {};
    give_up();
    throw;
  }
}

void acquire_round::wake() noexcept {
  auto const pin = self();
  try {
    resume();
  } catch (std::bad_alloc const&) {
    give_up();
  }
}

void acquire_round::give_up() noexcept {
  auto const pin = self();
  sending_ = false;
  if (phase_ != phase::over)
    finish({.content = failed{.reason = quorum_.no_memory(), .sent = true}, .sent_at = begun_});
}

void acquire_round::vote() {
  if (auto const& reason = quorum_.shut_because() ? quorum_.shut_because() : quorum_.unfit_because()) {
    fail(reason);
    return;
  }
  phase_ = phase::voting;
  sending_ = true;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (votes_.has_vote_of(i)) continue;
    if (node(i).present()) {
      ask_for_vote(i);
    } else {
      votes_.miss(i);
    }
  }
  sending_ = false;
  judge();
}

void acquire_round::ask_for_vote(std::size_t master) {
  votes_.ask(master);
  taken_[master] = true;
  void_since_[master] = time_point::max();
  levels_.forget_requests(master);
  quorum_.keep_vote(master, number_);
  request_.number = quorum_.number_to(master, number_);
  node(master).will_know(number_);
  quorum_.owners().note_request(number_, master, this);
  ++owed_votes_[master];
  auto const& asked = node(master);
  auto const time = asked.ever_heard() ? time_to_answer(request_.ttl, asked.usual()) : asked.limit();
  try {
    // Sent again after a broken connection, so that the request that gives the vote back stays behind it.
    fan_out::send({.master = master, .kind = vote_question},
                  scripting::to_run(recipe_.acquire(name_, request_), {},
                                    {.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + request_.ttl}),
                  time);
  } catch (...) {
    --owed_votes_[master];
    quorum_.owners().note_answer(number_);
    throw;
  }
}

void acquire_round::answered(question asked, net::response&& response) {
  auto const master = asked.master;
  if (asked.kind == vote_question) {
    auto const status = note_answer(master, response.sent_at);
    if (--owed_votes_[master] == 0) on_vote(master, replies::read_acquire(std::move(response)), status);
  } else if (levels_.note_answer(master)) {
    on_level(master, response.failure || !response.reply.is_integer() ? 0 : response.reply.integer);
  }
}

acquire_round::owner_status acquire_round::note_answer(std::size_t master, time_point sent_at) {
  auto const newer = quorum_.owners().asked_since(number_, master, this);
  auto const owner = quorum_.owners().note_answer(number_);
  return {.over = owner.over_since <= sent_at, .newer = newer, .won = owner.won};
}

void acquire_round::on_vote(std::size_t master, answer<verdict>&& vote, owner_status status) {
  auto* const found = std::get_if<verdict>(&vote.content);
  auto const* const grant = found != nullptr ? std::get_if<granted>(found) : nullptr;
  auto const maybe_taken = may_have_vote(vote, owner_);
  if (void_since_[master] != time_point::max()) {
    // Given back already, unless the master had forgotten the script: then giving back overtook the request.
    votes_.miss(master);
    auto const uncounted = status.over || (!status.newer && !status.won);
    if (maybe_taken && uncounted && void_since_[master] <= vote.sent_at)
      quorum_.give_back(master, recipe_, lease(), {});
  } else {
    taken_[master] = maybe_taken;
    if (maybe_taken && status.over) quorum_.give_back(master, recipe_, lease(), {});  // the same
    if (grant != nullptr) {
      votes_.grant(master, *grant, vote.sent_at);
      if (!status.over) late_vote(master);
    } else if (found != nullptr && !maybe_taken) {
      votes_.deny(master, std::get<busy>(std::move(*found)));
    } else if (vote.refusal() == nullptr) {
      votes_.miss(master);
    } else {
      votes_.refuse(master);
      refusal_ = std::move(std::get<refused>(vote.content).text);
    }
  }
  // The request, or an earlier one of the owner, may have left it in the queue.
  if (grant == nullptr && (status.over || status.won)) leave_queue(master);
  if (sending_) return;
  if (phase_ == phase::voting) {
    judge();
  } else if (phase_ == phase::levelling && grant == nullptr) {
    level();  // may have waited for this vote
  }
}

void acquire_round::overdue(std::size_t master) {
  if (owed_votes_[master] != 0) votes_.miss(master);
  if (phase_ == phase::levelling) {
    level();
  } else if (phase_ == phase::voting) {
    judge();
  }
}

void acquire_round::judge() {
  auto const pin = self();
  if (quorum_.unfit_because()) {
    yield();
    fail(quorum_.unfit_because());
    return;
  }
  switch (auto const result = votes_.count()) {
    case ballot::outcome::open:
      return;
    case ballot::outcome::won:
      phase_ = phase::levelling;
      levels_.begin(votes_.block());
      for (std::size_t i = 0; i != masters(); ++i) {
        if (!votes_.has_vote_of(i)) continue;
        if (recipe_.votes->raise == nullptr || levels_.are_level(votes_.tokens(i))) levels_.set_level(i);
      }
      level();
      return;
    case ballot::outcome::ahead:
      retry_or_lose();
      return;
    case ballot::outcome::held:
    case ballot::outcome::behind:
      lose();
      return;
    case ballot::outcome::refused:
    case ballot::outcome::unreachable:
      on_too_few(result);
      return;
  }
}

void acquire_round::level() {
  if (levels_.level_counters() >= quorum_.majority()) {
    win();
    return;
  }
  auto under_way = false;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (levels_.is_level(i)) continue;
    if (votes_.has_vote_of(i) && !levels_.is_raising(i)) raise(i);
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
  levels_.note_request(master);
  try {
    fan_out::send({.master = master, .kind = level_question},
                  scripting::to_run(recipe_.votes->raise(lease(), levels_.last_token()), {},
                                    {.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + request_.ttl}));
  } catch (...) {
    levels_.note_unsent(master);
    throw;
  }
}

void acquire_round::on_level(std::size_t master, std::int64_t counter) {
  if (phase_ != phase::levelling) return;
  if (counter >= levels_.last_token()) {
    levels_.set_level(master);
  } else {
    votes_.miss(master);  // not ours any more
  }
  level();
}

void acquire_round::late_vote(std::size_t master) {
  if (phase_ != phase::levelling && phase_ != phase::over) return;
  if (levels_.are_level(votes_.tokens(master))) {
    on_level(master, levels_.last_token());
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
  finish({.content = verdict{levels_.block()}, .sent_at = votes_.earliest()});
}

void acquire_round::retry_or_lose() {
  if (++tries_ >= tries_ahead) {
    lose();
    return;
  }
  too_few_ = false;
  std::chrono::nanoseconds usual{};
  for (std::size_t i = 0; i != masters(); ++i) {
    if (votes_.has_vote_of(i)) usual = std::max(usual, node(i).usual());
  }
  pause_until(boot_clock::now() + pause_ahead(tries_, usual));
}

void acquire_round::pause_until(time_point until) {
  phase_ = phase::resting;
  quorum_.rest(self());
  if (until != time_point::max()) loop().arm(bell_, until);
}

void acquire_round::resume() {
  if (phase_ != phase::resting) return;
  auto const pin = self();
  bell_.disarm();
  quorum_.end_rest(pin);
  if (too_few_ && boot_clock::now() >= quorum_.end_of_pause(begun_, send_options_)) {
    fail(quorum_.too_few());
  } else {
    vote();
  }
}

void acquire_round::lose() {
  auto busy_reply = votes_.summary();
  // Where nobody has a majority, the ttls don't say when one can be had: soon. Contenders that hear messages
  // ask again in the order of the queue; contenders that poll, in random order.
  // But other owners' votes that stay through all tries are counted as those of a holder.
  if (votes_.count() != ballot::outcome::held && tries_ < tries_ahead)
    busy_reply.pttl = request_.join ? pause_behind(recipe_.queues, number_) : milliseconds{-1};
  yield();
  finish({.content = verdict{std::move(busy_reply)}, .sent_at = begun_});
}

void acquire_round::on_too_few(ballot::outcome cause) {
  yield();
  auto const end = quorum_.end_of_pause(begun_, send_options_);
  if (quorum_.shut_because()) {
    fail(quorum_.shut_because());
  } else if (cause == ballot::outcome::refused) {
    // Other masters may have carried it out.
    finish({.content = refused{.text = std::move(refusal_), .resent = true}, .sent_at = begun_});
  } else if (boot_clock::now() >= end) {
    fail(quorum_.too_few());
  } else {
    too_few_ = true;
    auto const enough = quorum_.present() >= quorum_.majority();  // some were absent, and came back
    pause_until(enough ? std::min(end, boot_clock::now() + back_again) : end);
  }
}

void acquire_round::leave_queue(std::size_t master) {
  if (request_.join) engine::leave_queue(quorum_, master, recipe_, lease());
}

void acquire_round::yield() {
  auto const ticket = votes_.summary().ticket;
  auto const position = request_.join && ticket != 0 ? std::to_string(ticket) : std::string{};
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!taken_[i]) continue;
    taken_[i] = false;
    quorum_.give_back(i, recipe_, lease(), position);
    if (owed_votes_[i] != 0) void_since_[i] = boot_clock::now();
    if (votes_.has_vote_of(i)) votes_.miss(i);
  }
}

void acquire_round::fail(std::shared_ptr<error const> const& reason) {
  auto const sent =
      std::ranges::any_of(quorum_.nodes(), [this](auto const& node) { return node->may_know(number_); });
  finish({.content = failed{.reason = reason, .sent = sent}, .sent_at = begun_});
}

void acquire_round::finish(answer<verdict>&& result) noexcept {
  phase_ = phase::over;
  bell_.disarm();
  quorum_.end_rest(self());
  if (done_) std::exchange(done_, {})(std::move(result));
}

}  // namespace holdfast::engine
