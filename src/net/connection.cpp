#include "net/connection.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::net {

connection::connection(reactor::loop& on, settings const& how, client_stats& counts)
    : session{on, how, counts},
      silence_timer_{[this] { check_silence(); }},
      patience_timer_{[this] { fail_impatient(); }} {}

void connection::send(request what) {
  if (!shut_because_) ++counts().commands;
  send({.what = std::move(what), .how = {}});
}

void connection::send(pipeline::finished one) {
  auto const now = boot_clock::now();
  auto& what = one.what;
  if (shut_because_) {
    one.how.failure = shut_because_;
    if (what.done) what.done(std::move(one.how));
    return;
  }
  if (!up() && down_because_) {
    auto const limit = limit_of(what, now);
    if (limit != time_point::max() && (!patience_timer_.armed() || limit < patience_timer_.when())) {
      on().arm(patience_timer_, limit);
    }
  }
  pipeline_.add(std::move(what), now, one.how.sent);
  update_interest();
  on().mark_dirty(*this);
  open();
}

void connection::gather(std::string& out) {
  if (pipeline_.unsent() == 0) return;
  auto const now = boot_clock::now();
  if (pipeline_.in_flight() == 0) {
    heard_ = now;
    if (!silence_timer_.armed()) on().arm(silence_timer_, now + how().reply_timeout);
  }
  counts().resent += pipeline_.send_to(out, now);
}

void connection::on_reply(resp::reply&& reply) {
  pipeline::finished one;
  if (!pipeline_.match(std::move(reply), one)) {
    drop(errc::protocol, "a reply that nothing asked for", end::final);
    return;
  }
  one.how.line = line();
  heard_ = boot_clock::now();
  trouble_since_ = {};
  if (one.what.in_full != nullptr && one.how.reply.is_error("NOSCRIPT")) {
    // Restarted, failed over, flushed. Those behind it that meet the same come behind it again.
    one.what.bytes = one.what.in_full(one.what.bytes, one.what.what);
    one.what.in_full = nullptr;
    pipeline_.add(std::move(one.what), heard_, one.how.resent);
    ++counts().resent;
    on().mark_dirty(*this);
    return;
  }
  update_interest();
  if (refused_ && one.how.reply.is_error() && refused_(one)) return;
  if (one.what.done) one.what.done(std::move(one.how));
}

void connection::on_up() {
  expected_ = true;
  was_up_ = true;
  down_because_.reset();
  patience_timer_.disarm();
}

void connection::on_down(std::shared_ptr<error const> why, end how_ended) {
  auto const now = boot_clock::now();
  if (trouble_since_ == time_point{}) trouble_since_ = now;
  if (how_ended == end::not_ready) answered_at_ = now;
  down_because_ = why;
  pipeline_.restart();
  silence_timer_.disarm();
  fail(pipeline_.remove_if([](request const& one, time_point) { return one.once; }), why);
  if (how_ended == end::final || (how_ended == end::broken && !expected_)) {
    auto const all = why->code() == errc::unauthorized;
    fail(pipeline_.remove_if(
             [all](request const& one, time_point) { return all || one.while_down != patience::endless; }),
         why);
  }
  fail_impatient();
  if (std::exchange(was_up_, false) && broken_) broken_();
}

/// When a request that was queued at `queued` has waited long enough for a connection.
time_point connection::limit_of(request const& one, time_point queued) const {
  switch (one.while_down) {
    case patience::little:
      return std::max(queued, trouble_since_) + how().connect_timeout;
    case patience::steady:
      return std::max({queued, trouble_since_, answered_at_}) + how().connect_timeout;
    case patience::endless:
      break;
  }
  return one.give_up;
}

/// While the server is out of reach: fails those whose time is up, and looks again when the next one's is.
void connection::fail_impatient() {
  if (up() || !down_because_) return;
  auto const now = boot_clock::now();
  auto next = time_point::max();
  fail(pipeline_.remove_if([&](request const& one, time_point queued) {
    auto const limit = limit_of(one, queued);
    if (limit > now) next = std::min(next, limit);
    return limit <= now;
  }),
       down_because_);
  if (next != time_point::max()) on().arm(patience_timer_, next);
}

/// A server that owes a reply and says nothing is gone: frozen, cut off, or replaced behind a dead address.
void connection::check_silence() {
  if (!up() || pipeline_.in_flight() == 0) return;
  auto const limit = std::max(heard_, pipeline_.oldest()) + how().reply_timeout;
  if (boot_clock::now() < limit) {
    on().arm(silence_timer_, limit);
    return;
  }
  drop(errc::unreachable, "no reply for " + std::to_string(how().reply_timeout.count()) + " ms");
}

void connection::fail(std::vector<pipeline::finished>&& these, std::shared_ptr<error const> const& why) {
  update_interest();
  for (auto& one : these) {
    one.how.failure = why;
    if (one.what.done) one.what.done(std::move(one.how));
  }
}

void connection::start_over(pipeline::finished refused, std::string const& why) {
  drop(errc::unreachable, why, end::elsewhere);
  pipeline_.put_back(std::move(refused), boot_clock::now());
  update_interest();
  fail_impatient();  // which knows from now on of this one, too
}

std::vector<pipeline::finished> connection::take_all() {
  cut();
  was_up_ = false;
  return take_unanswered();
}

std::vector<pipeline::finished> connection::take_unanswered() {
  pipeline_.restart();
  silence_timer_.disarm();
  patience_timer_.disarm();
  auto all = pipeline_.remove_if([](request const&, time_point) { return true; });
  update_interest();
  return all;
}

void connection::shut(std::shared_ptr<error const> const& why) {
  shut_because_ = why;
  close();
  fail(take_unanswered(), why);
}

void connection::update_interest() {
  auto const wanted_now = !pipeline_.empty();
  if (wanted_now == counted_) return;
  counted_ = wanted_now;
  on().add_interest(wanted_now ? 1 : -1);
}

}  // namespace holdfast::net
