#include "engine/quorum/acquire_round.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/round_times.hpp"
#include "engine/replies.hpp"

namespace holdfast::engine {

quorum::acquire_round::acquire_round(quorum& backend, recipe const& protocol, std::string_view name,
                                     acquire_request const& request, handler<verdict> done,
                                     scripting::send_options send)
    : fan_out{backend.loop_, backend.nodes_},
      backend_{backend},
      protocol_{protocol},
      name_{name},
      owner_{request.owner},
      ticket_{request.ticket},
      request_{request},
      number_{number_of(request.owner)},
      done_{std::move(done)},
      send_options_{send},
      votes_{backend.nodes_.size(), owner_},
      taken_(backend.nodes_.size()),
      void_since_(backend.nodes_.size(), time_point::max()),
      level_(backend.nodes_.size()),
      raising_(backend.nodes_.size()),
      bell_{[this] { wake(); }} {
  request_.owner = owner_;
  request_.ticket = ticket_;
}

void quorum::acquire_round::begin() {
  auto const self = shared_from_this();
  try {
    vote();
  } catch (...) {
    done_ = {};
    give_up();
    throw;
  }
}

void quorum::acquire_round::wake() noexcept {
  auto const self = shared_from_this();
  try {
    resume();
  } catch (std::bad_alloc const&) {
    give_up();
  }
}

/// The votes that may be ours are given back when the owner is abandoned.
void quorum::acquire_round::give_up() noexcept {
  auto const self = shared_from_this();
  sending_ = false;
  if (phase_ != phase::over)
    finish({.content = failed{.reason = backend_.no_memory, .sent = true}, .sent_at = begun_});
}

void quorum::acquire_round::vote() {
  if (auto const& reason = backend_.shut_reason_ ? backend_.shut_reason_ : backend_.unfit_) {
    fail(reason);
    return;
  }
  phase_ = phase::voting;
  sending_ = true;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (votes_.is_ours(i)) continue;
    if (node(i).present()) {
      ask_for_vote(i);
    } else {
      votes_.miss(i);
    }
  }
  sending_ = false;
  judge();
}

void quorum::acquire_round::ask_for_vote(std::size_t master) {
  votes_.ask(master);
  taken_[master] = true;
  void_since_[master] = time_point::max();
  raising_[master] = false;
  request_.number = backend_.number_to(master, number_);
  node(master).will_know(number_);
  auto& owner = backend_.asking_[number_];
  ++owner.owed;
  owner.latest = this;
  try {
    // Sent again after a broken connection, so that the request that gives the vote back stays behind it.
    fan_out::send({.master = master, .kind = vote_question},
                  scripting::to_run(protocol_.acquire(name_, request_), {},
                                    {.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + request_.ttl}),
                  time_for(master));
  } catch (...) {
    backend_.note_answer(number_);
    throw;
  }
}

std::chrono::nanoseconds quorum::acquire_round::time_for(std::size_t master) const noexcept {
  auto const& asked = node(master);
  return asked.ever_heard() ? time_to_answer(request_.ttl, asked.usual()) : asked.limit();
}

void quorum::acquire_round::answered(question asked, net::response&& response) {
  auto const out_of_date = owes(asked.master);
  if (asked.kind == vote_question) {
    auto const status = note_answer(response.sent_at);
    if (!out_of_date) on_vote(asked.master, replies::read_acquire(std::move(response)), status);
  } else if (!out_of_date) {
    raising_[asked.master] = false;
    on_level(asked.master, response.failure || !response.reply.is_integer() ? 0 : response.reply.integer);
  }
}

quorum::acquire_round::owner_status quorum::acquire_round::note_answer(time_point sent_at) {
  auto const before = backend_.note_answer(number_);
  return {.over = before.over_since <= sent_at, .newer = before.latest != this};
}

void quorum::acquire_round::on_vote(std::size_t master, answer<verdict>&& vote, owner_status status) {
  auto* const found = std::get_if<verdict>(&vote.content);
  auto const* const grant = found != nullptr ? std::get_if<granted>(found) : nullptr;
  if (void_since_[master] != time_point::max()) {
    // Given back already, unless the master had forgotten the script: then giving back overtook the request.
    votes_.miss(master);
    if (grant != nullptr && !status.newer && void_since_[master] <= vote.sent_at)
      backend_.give_back(master, protocol_, lease(), {});
  } else if (grant != nullptr) {
    votes_.grant(master, *grant, vote.sent_at);
    if (status.over) {
      backend_.give_back(master, protocol_, lease(), {});  // overtaken in the same way
    } else {
      late_vote(master);
    }
  } else if (found != nullptr) {
    taken_[master] = false;
    votes_.deny(master, std::get<busy>(std::move(*found)));
    if (status.over || (phase_ == phase::over && won_)) leave_queue(master);
  } else if (auto const* const failure = vote.failure()) {
    taken_[master] = failure->sent;
    votes_.miss(master);
  } else {
    taken_[master] = false;
    votes_.refuse(master);
    refusal_ = {.text = std::move(std::get<refused>(vote.content).text)};
  }
  if (phase_ == phase::voting && !sending_) judge();
}

/// A vote beyond the majority. Its counter is raised, too, so that the next lease finds all on one level.
void quorum::acquire_round::late_vote(std::size_t master) {
  if (phase_ != phase::levelling && phase_ != phase::over) return;
  auto const& tokens = votes_.tokens(master);
  if (tokens.token + tokens.count - 1 >= last_token()) {
    on_level(master, last_token());
  } else {
    raise(master);
  }
}

void quorum::acquire_round::overdue(std::size_t master) {
  if (raising_[master]) {
    if (phase_ == phase::levelling) level();
    return;
  }
  votes_.miss(master);
  if (phase_ == phase::voting) judge();
}

void quorum::acquire_round::judge() {
  auto const self = shared_from_this();
  if (backend_.unfit_) {
    yield();
    fail(backend_.unfit_);
    return;
  }
  switch (auto const result = votes_.count()) {
    case ballot::outcome::open:
      return;
    case ballot::outcome::won:
      block_ = votes_.block();
      phase_ = phase::levelling;
      level_.assign(masters(), false);
      for (std::size_t i = 0; i != masters(); ++i) {
        if (!votes_.is_ours(i)) continue;
        auto const& tokens = votes_.tokens(i);
        level_[i] = protocol_.votes->raise == nullptr || tokens.token + tokens.count - 1 >= last_token();
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

/// Hands the lease out once no majority can give out a token of its block, or an older one, any more.
void quorum::acquire_round::level() {
  auto const reached = std::ranges::count(level_, true);
  if (std::cmp_greater_equal(reached, backend_.majority())) {
    win();
    return;
  }
  auto under_way = false;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (level_[i]) continue;
    if (votes_.is_ours(i) && !raising_[i]) raise(i);
    under_way = under_way || pending(i);
    if (phase_ != phase::levelling) return;
  }
  if (under_way) return;
  // Masters have become absent since they voted.
  yield();
  on_too_few(ballot::outcome::unreachable);
}

void quorum::acquire_round::raise(std::size_t master) {
  if (protocol_.votes->raise == nullptr) return;
  raising_[master] = true;
  fan_out::send({.master = master, .kind = level_question},
                scripting::to_run(
                    protocol_.votes->raise(lease(), last_token()), {},
                    {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + request_.ttl}));
}

void quorum::acquire_round::on_level(std::size_t master, std::int64_t counter) {
  if (phase_ != phase::levelling) return;
  if (counter >= last_token()) {
    level_[master] = true;
  } else {
    votes_.miss(master);  // not ours any more
  }
  level();
}

/// For masters that voted for others, also in an earlier round: otherwise a release there would wake a
/// contender that doesn't wait any more, or grant it the lock.
void quorum::acquire_round::leave_queue(std::size_t master) {
  if (request_.join && protocol_.queues) backend_.give_back(master, protocol_, lease(), {});
}

void quorum::acquire_round::win() {
  won_ = true;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!votes_.is_ours(i) && !owes(i) && node(i).may_know(number_)) leave_queue(i);
  }
  finish({.content = verdict{block_}, .sent_at = votes_.earliest()});
}

/// Nobody has a majority, and this contender is ahead. The others make way meanwhile.
void quorum::acquire_round::retry_or_lose() {
  if (++tries_ >= tries_ahead) {
    lose();
    return;
  }
  too_few_ = false;
  std::chrono::nanoseconds usual{};
  for (std::size_t i = 0; i != masters(); ++i) {
    if (votes_.is_ours(i)) usual = std::max(usual, node(i).usual());
  }
  rest(boot_clock::now() + pause_ahead(tries_, usual));
}

void quorum::acquire_round::rest(time_point until) {
  phase_ = phase::resting;
  backend_.resting_.insert(std::static_pointer_cast<acquire_round>(shared_from_this()));
  if (until != time_point::max()) loop().arm(bell_, until);
}

void quorum::acquire_round::resume() {
  if (phase_ != phase::resting) return;
  auto const self = std::static_pointer_cast<acquire_round>(shared_from_this());
  bell_.disarm();
  backend_.resting_.erase(self);
  if (too_few_ && boot_clock::now() >= backend_.end_of_rest(begun_, send_options_)) {
    fail(backend_.too_few());
  } else {
    vote();
  }
}

void quorum::acquire_round::lose() {
  auto busy_reply = votes_.summary();
  // Where nobody has a majority, the ttls don't say when one can be had: soon. Contenders that hear messages
  // ask again in the order of the queue; contenders that poll, in random order.
  // But other owners' votes that stay through all tries are counted as those of a holder.
  if (votes_.count() != ballot::outcome::held && tries_ < tries_ahead)
    busy_reply.pttl = request_.join ? pause_behind(protocol_.queues, number_) : milliseconds{-1};
  yield();
  finish({.content = verdict{std::move(busy_reply)}, .sent_at = begun_});
}

void quorum::acquire_round::on_too_few(ballot::outcome cause) {
  yield();
  auto const end = backend_.end_of_rest(begun_, send_options_);
  if (backend_.shut_reason_) {
    fail(backend_.shut_reason_);
  } else if (cause == ballot::outcome::refused) {
    finish({.content = std::move(refusal_), .sent_at = begun_});
  } else if (boot_clock::now() >= end) {
    fail(backend_.too_few());
  } else {
    too_few_ = true;
    auto const enough = backend_.present() >= backend_.majority();  // some were absent, and came back
    rest(enough ? std::min(end, boot_clock::now() + back_again) : end);
  }
}

/// Gives back all votes that are ours, or may be: behind the unanswered requests.
void quorum::acquire_round::yield() {
  auto const ticket = votes_.summary().ticket;
  auto const position = request_.join && ticket != 0 ? std::to_string(ticket) : std::string{};
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!taken_[i]) continue;
    taken_[i] = false;
    backend_.give_back(i, protocol_, lease(), position);
    if (owes(i)) void_since_[i] = boot_clock::now();
    if (votes_.is_ours(i)) votes_.miss(i);
  }
}

void quorum::acquire_round::fail(std::shared_ptr<error const> const& reason) {
  auto const sent =
      std::ranges::any_of(backend_.nodes_, [this](auto const& node) { return node->may_know(number_); });
  finish({.content = failed{.reason = reason, .sent = sent}, .sent_at = begun_});
}

void quorum::acquire_round::finish(answer<verdict>&& result) noexcept {
  phase_ = phase::over;
  bell_.disarm();
  backend_.resting_.erase(std::static_pointer_cast<acquire_round>(shared_from_this()));
  if (done_) std::exchange(done_, {})(std::move(result));
}

}  // namespace holdfast::engine
