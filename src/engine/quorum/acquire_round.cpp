#include "engine/quorum/acquire_round.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/replies.hpp"

namespace holdfast::engine {
namespace {

/// How often whoever is ahead in a split vote asks again before it makes way, too: a rival that doesn't
/// answer any more keeps its votes for their ttl.
constexpr int tries_ahead = 5;
constexpr std::chrono::microseconds shortest_pause{100};
constexpr std::chrono::milliseconds longest_pause{5};

/// Without a queue, whoever made way asks again after this, and so many milliseconds more at the most.
constexpr milliseconds least_detour{20};
constexpr std::uint64_t detours = 32;

/// Before masters that didn't answer, and are there again, are asked once more.
constexpr std::chrono::milliseconds back_again{20};

/// A master's time to answer, as a part of the lease.
constexpr int part_of_ttl = 10;
constexpr std::chrono::milliseconds least_part{25};

}  // namespace

quorum::acquire_round::acquire_round(quorum& home, recipe const& how, std::string_view name,
                                     acquire_request const& what, handler done,
                                     scripting::send_options patience)
    : fan_out{home.on_, home.nodes_},
      backend_{home},
      protocol_{how},
      name_{name},
      owner_{what.owner},
      ticket_{what.ticket},
      request_{what},
      number_{number_of(what.owner)},
      done_{std::move(done)},
      send_options_{patience},
      votes_{home.nodes_.size(), owner_},
      taken_(home.nodes_.size()),
      void_since_(home.nodes_.size(), time_point::max()),
      level_(home.nodes_.size()),
      raising_(home.nodes_.size()),
      bell_{[this] { wake(); }} {
  request_.owner = owner_;
  request_.ticket = ticket_;
}

void quorum::acquire_round::begin() {
  auto const me = shared_from_this();
  try {
    vote();
  } catch (...) {
    done_ = {};
    give_up();
    throw;
  }
}

void quorum::acquire_round::wake() noexcept {
  auto const me = shared_from_this();
  try {
    resume();
  } catch (std::bad_alloc const&) {
    give_up();
  }
}

/// What may be ours of it is given back as soon as the owner is given up.
void quorum::acquire_round::give_up() noexcept {
  auto const me = shared_from_this();
  sending_ = false;
  if (phase_ != phase::over) finish({.failure = backend_.no_memory, .sent_at = begun_, .sent = true});
}

void quorum::acquire_round::vote() {
  if (auto const& why = backend_.shut_why_ ? backend_.shut_why_ : backend_.unfit_) {
    fail(why);
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

void quorum::acquire_round::ask_for_vote(std::size_t who) {
  votes_.ask(who);
  taken_[who] = true;
  void_since_[who] = time_point::max();
  raising_[who] = false;
  request_.number = backend_.number_to(who, number_);
  node(who).will_know(number_);
  auto& mine = backend_.asking_[number_];
  ++mine.owed;
  mine.latest = this;
  try {
    // Behind a line that breaks it is sent again, so that what gives it back stays behind it.
    fan_out::send({.who = who, .about = a_vote},
                  scripting::to_run(protocol_.acquire(name_, request_), {},
                                    {.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + request_.ttl}),
                  time_to_answer(who));
  } catch (...) {
    backend_.note_answer(number_);
    throw;
  }
}

/// A short lease has no time to wait for long, but a network that is slow as a rule isn't silent.
std::chrono::nanoseconds quorum::acquire_round::time_to_answer(std::size_t who) const noexcept {
  if (!node(who).ever_heard()) return node(who).limit();
  return std::max<std::chrono::nanoseconds>({request_.ttl / part_of_ttl, least_part, 2 * node(who).usual()});
}

void quorum::acquire_round::answered(question what, net::response&& how) {
  auto const out_of_date = owes(what.who);
  if (what.about == a_vote) {
    auto const now = note_answer(how.sent_at);
    if (!out_of_date) on_vote(what.who, how, now);
  } else if (!out_of_date) {
    raising_[what.who] = false;
    on_level(what.who, how.failure || !how.reply.is_integer() ? 0 : how.reply.integer);
  }
}

quorum::acquire_round::owner_status quorum::acquire_round::note_answer(time_point sent_at) {
  auto const before = backend_.note_answer(number_);
  return {.over = before.over_since <= sent_at, .newer = before.latest != this};
}

void quorum::acquire_round::on_vote(std::size_t who, net::response& how, owner_status now) {
  auto const yes = !how.failure && !how.reply.is_error();
  auto what = yes ? protocol_.read_acquire(how.reply) : verdict{};
  auto const* const ours = yes ? std::get_if<granted>(&what) : nullptr;
  if (void_since_[who] != time_point::max()) {
    // Given back already, unless the request was overtaken by that, when the master had forgotten the script.
    votes_.miss(who);
    if (ours != nullptr && !now.newer && void_since_[who] <= how.sent_at)
      backend_.give_back(who, protocol_, whose(), {});
  } else if (ours != nullptr) {
    votes_.grant(who, *ours, how.sent_at);
    if (now.over) {
      backend_.give_back(who, protocol_, whose(), {});  // overtaken in the same way
    } else {
      late_vote(who);
    }
  } else if (yes) {
    taken_[who] = false;
    votes_.deny(who, std::get<busy>(std::move(what)));
    if (now.over || (phase_ == phase::over && won_)) leave_queue(who);
  } else if (how.failure) {
    taken_[who] = how.sent;
    votes_.miss(who);
  } else {
    taken_[who] = false;
    votes_.refuse(who);
    refusal_ = std::move(how.reply);
  }
  if (phase_ == phase::voting && !sending_) judge();
}

/// One more than needed. It keeps up with the others, so that the next lease finds all on one level.
void quorum::acquire_round::late_vote(std::size_t who) {
  if (phase_ != phase::levelling && phase_ != phase::over) return;
  auto const& its = votes_.tokens(who);
  if (its.token + its.count - 1 >= last_token()) {
    on_level(who, last_token());
  } else {
    raise(who);
  }
}

void quorum::acquire_round::overdue(std::size_t who) {
  if (raising_[who]) {
    if (phase_ == phase::levelling) level();
    return;
  }
  votes_.miss(who);
  if (phase_ == phase::voting) judge();
}

void quorum::acquire_round::judge() {
  auto const me = shared_from_this();
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
        auto const& its = votes_.tokens(i);
        level_[i] = protocol_.votes->raise == nullptr || its.token + its.count - 1 >= last_token();
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

/// The lease is handed out when no majority can give out a token of its block, or an older one, any more.
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
  // Some have gone since they voted.
  yield();
  on_too_few(ballot::outcome::unreachable);
}

void quorum::acquire_round::raise(std::size_t who) {
  if (protocol_.votes->raise == nullptr) return;
  raising_[who] = true;
  fan_out::send({.who = who, .about = a_level},
                scripting::to_run(
                    protocol_.votes->raise(whose(), last_token()), {},
                    {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + request_.ttl}));
}

void quorum::acquire_round::on_level(std::size_t who, std::int64_t counter) {
  if (phase_ != phase::levelling) return;
  if (counter >= last_token()) {
    level_[who] = true;
  } else {
    votes_.miss(who);  // not ours any more
  }
  level();
}

/// At masters that voted for others, also in an earlier round: their releases would wake nobody, or grant the
/// lock to nobody.
void quorum::acquire_round::leave_queue(std::size_t who) {
  if (request_.join && protocol_.queues) backend_.give_back(who, protocol_, whose(), {});
}

void quorum::acquire_round::win() {
  won_ = true;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!votes_.is_ours(i) && !owes(i) && node(i).may_know(number_)) leave_queue(i);
  }
  finish({.reply = quorum_replies::of(block_), .sent_at = votes_.earliest(), .sent = true});
}

/// Nobody has a majority, and we have the best chance. The others make way meanwhile.
void quorum::acquire_round::retry_or_lose() {
  if (++tries_ >= tries_ahead) {
    lose();
    return;
  }
  too_few_ = false;
  std::chrono::nanoseconds usual = shortest_pause;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (votes_.is_ours(i)) usual = std::max(usual, node(i).usual());
  }
  rest(boot_clock::now() + std::min<std::chrono::nanoseconds>(usual * (1 << (tries_ - 1)), longest_pause));
}

void quorum::acquire_round::rest(time_point until) {
  phase_ = phase::resting;
  backend_.resting_.insert(std::static_pointer_cast<acquire_round>(shared_from_this()));
  if (until != time_point::max()) on().arm(bell_, until);
}

void quorum::acquire_round::resume() {
  if (phase_ != phase::resting) return;
  auto const me = std::static_pointer_cast<acquire_round>(shared_from_this());
  bell_.disarm();
  backend_.resting_.erase(me);
  if (too_few_ && boot_clock::now() >= limit()) {
    fail(backend_.too_few());
  } else {
    vote();
  }
}

void quorum::acquire_round::lose() {
  auto what = votes_.summary();
  // Where nobody has a majority it isn't known when one can be had: soon. Those who are told by messages ask
  // again one after the other, as they stand in line; those who poll by chance.
  // But votes of others that stay through all tries aren't on their way to anybody.
  if (votes_.count() != ballot::outcome::held && tries_ < tries_ahead)
    what.pttl = request_.join ? soon() : milliseconds{-1};
  yield();
  finish({.reply = quorum_replies::of(what), .sent_at = begun_, .sent = true});
}

/// When whoever made way in a split vote asks again. Where the masters have queues, its place there says
/// when; elsewhere they are spread by their number, and leave time to those who have a vote here and there
/// for long.
milliseconds quorum::acquire_round::soon() const noexcept {
  return protocol_.queues ? milliseconds{0} : least_detour + milliseconds{number_ % detours};
}

/// Until when it may go on without a majority to ask.
time_point quorum::acquire_round::limit() const {
  if (send_options_.while_down == net::retry_policy::endless) return send_options_.give_up;
  // Those that can't be reached at the first try are no outage: most likely the URL is wrong.
  auto const hopeful = std::ranges::count_if(
      backend_.nodes_, [](auto const& one) { return one->ever_heard() || !one->server().down_because(); });
  if (std::cmp_less(hopeful, backend_.majority())) return begun_;
  return begun_ + backend_.config_.connect_timeout;
}

void quorum::acquire_round::on_too_few(ballot::outcome why) {
  yield();
  if (backend_.shut_why_) {
    fail(backend_.shut_why_);
  } else if (why == ballot::outcome::refused) {
    finish({.reply = std::move(refusal_), .sent_at = begun_, .sent = true});
  } else if (boot_clock::now() >= limit()) {
    fail(backend_.too_few());
  } else {
    too_few_ = true;
    auto const enough = backend_.present() >= backend_.majority();  // some went, and came back
    rest(enough ? std::min(limit(), boot_clock::now() + back_again) : limit());
  }
}

/// Gives back all that is ours, or may be: behind the requests that aren't answered.
void quorum::acquire_round::yield() {
  auto const ticket = votes_.summary().ticket;
  auto const place = request_.join && ticket != 0 ? std::to_string(ticket) : std::string{};
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!taken_[i]) continue;
    taken_[i] = false;
    backend_.give_back(i, protocol_, whose(), place);
    if (owes(i)) void_since_[i] = boot_clock::now();
    if (votes_.is_ours(i)) votes_.miss(i);
  }
}

void quorum::acquire_round::fail(std::shared_ptr<error const> const& why) {
  auto const sent =
      std::ranges::any_of(backend_.nodes_, [this](auto const& one) { return one->may_know(number_); });
  finish({.failure = why, .sent_at = begun_, .sent = sent});
}

void quorum::acquire_round::finish(net::response&& how) noexcept {
  phase_ = phase::over;
  bell_.disarm();
  backend_.resting_.erase(std::static_pointer_cast<acquire_round>(shared_from_this()));
  if (done_) std::exchange(done_, {})(std::move(how));
}

}  // namespace holdfast::engine
