#include "net/connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::net {

connection::connection(reactor::loop& on, settings const& how, client_stats& counts)
    : session{on, how, counts},
      silence_timer_{[this] { check_silence(); }},
      patience_timer_{[this] { fail_impatient(); }} {}

void connection::send(request what) {
  if (shut_because_) {
    answer_with(shut_because_, what, {});
    return;
  }
  auto const now = boot_clock::now();
  auto const limit = limit_of(what, now);
  pipeline_.add(std::move(what), now);
  ++counts().commands;
  expect_by(limit);
  begin();
}

void connection::send(pipeline::batch&& those) noexcept {
  if (shut_because_) {
    fail(std::move(those), shut_because_);
    return;
  }
  auto const now = boot_clock::now();
  for (auto const& one : those) expect_by(limit_of(one.request, now));
  pipeline_.add(std::move(those), now);
  begin();
}

/// While the server is out of reach requests wait for it until then.
void connection::expect_by(time_point limit) noexcept {
  if (up() || !down_because_ || limit == time_point::max()) return;
  if (!patience_timer_.armed() || limit < patience_timer_.when()) on().arm(patience_timer_, limit);
}

void connection::begin() noexcept {
  update_interest();
  on().mark_dirty(*this);
  open();
}

void connection::gather(std::string& out) {
  if (pipeline_.unsent() == 0) return;
  auto const now = boot_clock::now();
  auto const first = pipeline_.in_flight() == 0;
  counts().resent += pipeline_.send_to(out, now);
  if (!first) return;
  heard_ = now;
  if (!silence_timer_.armed()) on().arm(silence_timer_, now + config().reply_timeout);
}

void connection::on_reply(resp::reply&& reply) {
  pipeline::batch answered;
  if (!pipeline_.match(std::move(reply), answered)) {
    drop(errc::protocol, [] { return "a reply that nothing asked for"; }, end::final);
    return;
  }
  auto& one = answered.front();
  one.response.connection_id = connection_id();
  heard_ = boot_clock::now();
  trouble_since_ = {};
  if (one.request.in_full != nullptr && one.response.reply.is_error("NOSCRIPT")) {
    call_again(std::move(answered));
    return;
  }
  update_interest();
  auto taken = false;
  std::shared_ptr<error const> failure;
  if (refused_ && one.response.reply.is_error()) {
    try {
      taken = refused_(answered);
    } catch (std::exception const&) {
      failure = starved_because();
    }
  }
  if (!taken && !answered.empty()) answer_with(failure, one.request, std::move(one.response));
  pipeline_.recycle(std::move(answered));
}

/// Restarted, failed over, flushed. Those behind it that meet the same come behind it again.
void connection::call_again(pipeline::batch&& forgotten) noexcept {
  auto& one = forgotten.front();
  one.response.sent = one.response.resent;  // this time nothing was done
  try {
    one.request.bytes = one.request.in_full(one.request.bytes, one.request.script);
  } catch (std::exception const&) {
    auto mine = std::move(forgotten);
    drop(starved_because(), end::elsewhere);
    resume_with(std::move(mine));
    return;
  }
  one.request.in_full = nullptr;
  pipeline_.add(std::move(forgotten), heard_);
  ++counts().resent;
  on().mark_dirty(*this);
}

void connection::answer_with(std::shared_ptr<error const> const& why, request& what,
                             response&& how) noexcept {
  if (!what.done) return;
  how.failure = why;
  tell([&] { what.done(std::move(how)); });
}

void connection::on_up() {
  expected_ = true;
  was_up_ = true;
  down_because_.reset();
  patience_timer_.disarm();
}

void connection::on_down(std::shared_ptr<error const> const& why, end how_ended) noexcept {
  auto const now = boot_clock::now();
  if (trouble_since_ == time_point{}) trouble_since_ = now;
  if (how_ended == end::not_ready) answered_at_ = now;
  down_because_ = why;
  pipeline_.restart();
  silence_timer_.disarm();
  fail(pipeline_.remove_if([](request const& one, time_point) { return one.once; }), why);
  if (how_ended == end::final || (how_ended == end::broken && !expected_)) {
    auto const all = why->code() == errc::unauthorized;
    fail(pipeline_.remove_if([all](request const& one, time_point) {
      return all || one.while_down != retry_policy::endless;
    }),
         why);
  }
  fail_impatient();
  if (std::exchange(was_up_, false) && broken_) tell(broken_);
}

/// When a request that was queued at `queued` has waited long enough for a connection.
time_point connection::limit_of(request const& one, time_point queued) const noexcept {
  switch (one.while_down) {
    case retry_policy::little:
      return std::max(queued, trouble_since_) + config().connect_timeout;
    case retry_policy::steady:
      return std::max({queued, trouble_since_, answered_at_}) + config().connect_timeout;
    case retry_policy::endless:
      break;
  }
  return one.give_up;
}

/// While the server is out of reach: fails those whose time is up, and looks again when the next one's is.
void connection::fail_impatient() noexcept {
  if (up() || !down_because_) return;
  auto const now = boot_clock::now();
  auto next = time_point::max();
  auto const why = down_because_;
  fail(pipeline_.remove_if([&](request const& one, time_point queued) {
    auto const limit = limit_of(one, queued);
    if (limit > now) next = std::min(next, limit);
    return limit <= now;
  }),
       why);
  if (next != time_point::max()) on().arm(patience_timer_, next);
}

/// A server that owes a reply and says nothing is gone: frozen, cut off, or replaced behind a dead address.
void connection::check_silence() noexcept {
  if (!up() || pipeline_.in_flight() == 0) return;
  auto const limit = std::max(heard_, pipeline_.oldest()) + config().reply_timeout;
  if (boot_clock::now() < limit) {
    on().arm(silence_timer_, limit);
    return;
  }
  drop(errc::unreachable,
       [this] { return "no reply for " + std::to_string(config().reply_timeout.count()) + " ms"; });
}

void connection::fail(pipeline::batch&& these, std::shared_ptr<error const> const& why) noexcept {
  update_interest();
  for (auto& one : these) answer_with(why, one.request, std::move(one.response));
}

void connection::start_over(pipeline::batch&& refused, std::string const& why) noexcept {
  auto mine = std::move(refused);
  drop(errc::unreachable, [&why] { return why; }, end::elsewhere);
  resume_with(std::move(mine));
}

/// Of a line that has just been ended.
void connection::resume_with(pipeline::batch&& refused) noexcept {
  pipeline_.put_back(std::move(refused), boot_clock::now());
  update_interest();
  fail_impatient();  // which knows from now on of these, too
}

pipeline::batch connection::take_all() noexcept {
  cut();
  was_up_ = false;
  return take_unanswered();
}

pipeline::batch connection::take_unanswered() noexcept {
  pipeline_.restart();
  silence_timer_.disarm();
  patience_timer_.disarm();
  auto all = pipeline_.remove_if([](request const&, time_point) { return true; });
  update_interest();
  return all;
}

void connection::shut(std::shared_ptr<error const> const& why) noexcept {
  shut_because_ = why;
  close();
  fail(take_unanswered(), why);
}

void connection::update_interest() noexcept {
  auto const wanted_now = !pipeline_.empty();
  if (wanted_now == counted_) return;
  counted_ = wanted_now;
  on().add_interest(wanted_now ? 1 : -1);
}

}  // namespace holdfast::net
