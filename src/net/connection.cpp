#include "net/connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::net {

namespace {

/// The least time between two connections that are replaced because of what the server says.
constexpr std::chrono::seconds replaced_every{5};

}  // namespace

connection::connection(reactor::loop& loop, settings const& config, client_stats& counts)
    : session{loop, config, counts},
      silence_timer_{[this] { check_silence(); }},
      retry_timer_{[this] { fail_overdue(); }} {}

void connection::send(request&& request) {
  if (shut_because_) {
    answer_with(shut_because_, request, {});
    return;
  }
  // While all is well nobody looks at when it was queued: what fails requests counts from later trouble on.
  auto const now = up() && trouble_since_ == time_point{} ? time_point{} : boot_clock::now();
  auto const limit = fails_at(request, now);
  pipeline_.add(std::move(request), now);
  ++counts().commands;
  expect_by(limit);
  begin();
}

void connection::send(pipeline::batch&& requests) noexcept {
  if (shut_because_) {
    fail(std::move(requests), shut_because_);
    return;
  }
  auto const now = boot_clock::now();
  for (auto const& entry : requests) expect_by(fails_at(entry.request, now));
  pipeline_.add(std::move(requests), now);
  begin();
}

/// While the server is out of reach, arms the timer that fails requests at `limit`.
void connection::expect_by(time_point limit) noexcept {
  if (up() || !down_because_ || limit == time_point::max()) return;
  if (!retry_timer_.armed() || limit < retry_timer_.when()) loop().arm(retry_timer_, limit);
}

void connection::begin() noexcept {
  update_interest();
  loop().writers().mark(*this);
  open();
}

void connection::gather(std::string& out) {
  if (!pipeline_.can_send() || !leaves_because_.empty()) return;
  auto const now = boot_clock::now();
  auto const first = pipeline_.in_flight() == 0;
  counts().resent += pipeline_.send_to(out, now, translation_.get());
  if (!first) return;
  heard_ = now;
  if (!silence_timer_.armed()) loop().arm(silence_timer_, now + config().reply_timeout);
}

void connection::on_reply(resp::reply&& reply) {
  take_reply(std::move(reply));
  if (!leaves_because_.empty() && pipeline_.in_flight() == 0) replace(std::exchange(leaves_because_, {}));
}

bool connection::replace_when_answered(std::string reason) noexcept {
  auto const now = boot_clock::now();
  if (left_at_ != time_point{} && now < left_at_ + replaced_every) return false;
  left_at_ = now;
  leaves_because_ = std::move(reason);
  return true;
}

void connection::take_reply(resp::reply&& reply) noexcept {
  pipeline::batch answered;
  try {
    if (!pipeline_.match(std::move(reply), answered)) {
      drop(errc::protocol, [] { return "a reply that nothing asked for"; }, end::final);
      return;
    }
  } catch (std::exception const&) {
    drop(errors().no_memory(), end::elsewhere);
    return;
  }
  heard_ = read_at();
  trouble_since_ = {};
  silent_since_ = {};
  if (answered.empty()) return;  // more replies to that request are to come
  if (pipeline_.in_flight() == 0 && pipeline_.can_send()) loop().writers().mark(*this);
  auto& entry = answered.front();
  entry.response.connection_id = connection_id();
  if (entry.last.translated && !understand(answered)) return;
  if (!entry.last.translated && entry.request.script != nullptr && entry.response.reply.is_error() &&
      reconsider(answered))
    return;
  if (entry.request.in_full != nullptr && entry.response.reply.is_error("NOSCRIPT")) {
    call_again(std::move(answered));
    return;
  }
  if (!entry.request.beside && (is_doubtful(entry) || holds_back())) {
    hold_back(std::move(answered));
  } else {
    deliver(std::move(answered));
  }
}

bool connection::is_doubtful(pipeline::entry const& entry) noexcept {
  if (doubt_ == nullptr || entry.request.key.size == 0) return false;
  if (doubt_->is_late(*this, entry.response.sent_at, heard_)) doubt_->raise(heard_);
  return doubt_->open();
}

void connection::hold_back(pipeline::batch&& answered) noexcept {
  auto& place = doubt_->awaited() == doubt::question::next ? held_longer_ : held_back_;
  place.splice(place.end(), answered);
  doubt_->pursue();
}

pipeline::batch connection::take_held_back() noexcept {
  believed_.splice(believed_.end(), held_back_);
  believed_.splice(believed_.end(), held_longer_);
  return std::exchange(believed_, {});
}

time_point connection::silent_since() const noexcept {
  if (up())
    return pipeline_.in_flight() != 0 && pipeline_.first().request.key.size != 0 ? owing_since()
                                                                                 : time_point::max();
  if (silent_since_ != time_point{}) return silent_since_;
  return dialling() ? sure_of_server_at() : time_point::max();
}

/// One of them may end the connection: then the others are sent again, in their order.
void connection::believe_first() noexcept {
  believed_.splice(believed_.end(), std::exchange(held_back_, std::exchange(held_longer_, {})));
  while (!believed_.empty()) {
    pipeline::batch first;
    first.splice(first.begin(), believed_, believed_.begin());
    deliver(std::move(first));
  }
}

void connection::deliver(pipeline::batch&& answered) noexcept {
  auto& entry = answered.front();
  update_interest();
  auto taken = false;
  std::shared_ptr<error const> failure;
  if (refused_ && entry.response.reply.is_error() && entry.request.replies == 1) {
    try {
      taken = refused_(answered);
    } catch (std::exception const&) {
      failure = errors().no_memory();
    }
  }
  if (!taken && !answered.empty()) answer_with(failure, entry.request, std::move(entry.response));
  pipeline_.recycle(std::move(answered));
}

/// Makes the reply of a translated request. False: it isn't complete, or is said otherwise.
bool connection::understand(pipeline::batch& answered) noexcept {
  auto& entry = answered.front();
  try {
    auto found = translation_->read(entry.request, entry.last.now, entry.last.replies, entry.response.resent);
    auto const incomplete = found.type != meaning::kind::answered || found.reply.is_error();
    if (found.carried_out && incomplete) entry.response.resent = true;
    switch (found.type) {
      case meaning::kind::answered:
        entry.response.reply = std::move(found.reply);
        return true;
      case meaning::kind::more:
        pipeline_.go_on(std::move(answered), std::move(found.next));
        break;
      case meaning::kind::unsuited:
        entry.response.sent = entry.response.resent;  // the last copy was not carried out
        pipeline_.repeat(std::move(answered), heard_);
        ++counts().resent;
        break;
    }
    if (pipeline_.can_send()) loop().writers().mark(*this);
  } catch (std::exception const&) {
    auto requests = std::move(answered);
    drop(errors().no_memory(), end::elsewhere);
    resume_with(std::move(requests));
  }
  return false;
}

/// True: the server doesn't do scripts any more, and the request is said otherwise.
bool connection::reconsider(pipeline::batch& refused) noexcept {
  auto& entry = refused.front();
  try {
    if (!translation_ || !translation_->reconsiders(entry.request, entry.response.reply)) return false;
  } catch (std::exception const&) {
    return false;  // without memory for it: the refusal is the outcome
  }
  entry.response.sent = entry.response.resent;
  pipeline_.repeat(std::move(refused), heard_);
  ++counts().resent;
  if (pipeline_.can_send()) loop().writers().mark(*this);
  return true;
}

/// Sends a request again after NOSCRIPT (restarted, failed over, flushed). All later requests follow it in
/// the same order, unless another client teaches the server the script meanwhile.
void connection::call_again(pipeline::batch&& forgotten) noexcept {
  auto& entry = forgotten.front();
  entry.response.sent = entry.response.resent;  // the last copy was not carried out
  try {
    entry.request.bytes = entry.request.in_full(entry.request.bytes, entry.request.script);
  } catch (std::exception const&) {
    auto requests = std::move(forgotten);
    drop(errors().no_memory(), end::elsewhere);
    resume_with(std::move(requests));
    return;
  }
  entry.request.in_full = nullptr;
  pipeline_.repeat(std::move(forgotten), heard_);
  ++counts().resent;
  if (pipeline_.can_send()) loop().writers().mark(*this);
}

void connection::answer_with(std::shared_ptr<error const> const& reason, request& request,
                             response&& response) noexcept {
  if (!request.done) return;
  response.failure = reason;
  notify([&] { request.done(std::move(response)); });
}

void connection::on_up(std::vector<resp::reply>&& found) {
  if (config().translator != nullptr) {
    try {
      translation_ = config().translator->learn(found);
    } catch (std::exception const&) {
      starve();
    }
  }
  expected_ = true;
  was_up_ = true;
  if (doubt_ != nullptr) {
    doubt_->reach(to().host, to().port);
    if (was_silent()) doubt_->raise(boot_clock::now());
  }
  down_because_.reset();
  retry_timer_.disarm();
  auto const broke_at = std::exchange(broke_at_, time_point{});
  if (broke_at == time_point{}) return;
  if (restored_) notify(restored_);
  if (config().restored) notify([&] { config().restored(boot_clock::now() - broke_at); });
}

void connection::on_down(std::shared_ptr<error const> const& reason, end outcome) noexcept {
  auto const now = boot_clock::now();
  if (trouble_since_ == time_point{}) trouble_since_ = now;
  if (silent_since_ == time_point{}) {
    auto const owed = pipeline_.in_flight() != 0;
    silent_since_ = !was_up_ ? sure_of_server_at() : owed ? owing_since() : now;
  }
  if (outcome == end::not_ready) answered_at_ = now;
  translation_.reset();
  leaves_because_.clear();
  down_because_ = reason;
  pipeline_.restart();
  pipeline_.put_back(take_held_back(), now);
  silence_timer_.disarm();
  fail(pipeline_.remove_if([](request const& request, time_point) { return request.never_resend; }), reason);
  if (outcome == end::final || (outcome == end::broken && !expected_)) {
    auto const all = reason->code() == errc::unauthorized || (outcome == end::final && !expected_);
    fail(pipeline_.remove_if([all](request const& request, time_point) {
      return all || request.while_down != retry_policy::endless;
    }),
         reason);
  }
  fail_overdue();
  if (!std::exchange(was_up_, false)) return;
  broke_at_ = now;
  if (config().lost) notify(config().lost);
  if (broken_) notify(broken_);
}

/// The time until which a request that was queued at `queued` waits for a connection.
time_point connection::fails_at(request const& request, time_point queued) const noexcept {
  switch (request.while_down) {
    case retry_policy::little:
    case retry_policy::moving:
      return std::max(queued, trouble_since_) + config().connect_timeout;
    case retry_policy::steady:
      return std::max({queued, trouble_since_, answered_at_}) + config().connect_timeout;
    case retry_policy::endless:
      break;
  }
  return request.give_up;
}

/// While the server is out of reach: fails the requests whose limit has passed, and arms the timer for the
/// next limit.
void connection::fail_overdue() noexcept {
  if (up() || !down_because_) return;
  auto const now = boot_clock::now();
  auto next = time_point::max();
  auto const reason = down_because_;
  fail(pipeline_.remove_if([&](request const& request, time_point queued) {
    auto const limit = fails_at(request, queued);
    if (limit > now) next = std::min(next, limit);
    return limit <= now;
  }),
       reason);
  if (next != time_point::max()) loop().arm(retry_timer_, next);
}

/// Ends the connection when a reply is overdue: the server is frozen, cut off, or its address is dead.
void connection::check_silence() noexcept {
  if (!up() || pipeline_.in_flight() == 0) return;
  auto const limit = owing_since() + config().reply_timeout;
  if (boot_clock::now() < limit) {
    loop().arm(silence_timer_, limit);
    return;
  }
  drop(errc::unreachable,
       [this] { return "no reply for " + std::to_string(config().reply_timeout.count()) + " ms"; });
}

/// For so long that it may have been suspended, and replaced meanwhile.
bool connection::was_silent() const noexcept {
  auto since = sure_of_server_at();
  if (config().locator == nullptr && silent_since_ != time_point{}) since = std::min(since, silent_since_);
  return doubt_->is_long(boot_clock::now() - since);
}

void connection::fail(pipeline::batch&& requests, std::shared_ptr<error const> const& reason) noexcept {
  update_interest();
  for (auto& entry : requests) answer_with(reason, entry.request, std::move(entry.response));
}

void connection::start_over(pipeline::batch&& refused, std::string const& reason) noexcept {
  auto requests = std::move(refused);
  drop(errc::unreachable, [&reason] { return reason; }, end::elsewhere);
  resume_with(std::move(requests));
}

/// Only just after the connection was ended.
void connection::resume_with(pipeline::batch&& refused) noexcept {
  pipeline_.put_back(std::move(refused), boot_clock::now());
  update_interest();
  fail_overdue();  // now also covers these requests
}

pipeline::batch connection::take_all() noexcept {
  cut();
  was_up_ = false;
  return take_unanswered();
}

pipeline::batch connection::take_unanswered() noexcept {
  pipeline_.restart();
  pipeline_.put_back(take_held_back(), boot_clock::now());
  silence_timer_.disarm();
  retry_timer_.disarm();
  auto all = pipeline_.remove_if([](request const&, time_point) { return true; });
  update_interest();
  return all;
}

void connection::shut(std::shared_ptr<error const> const& reason) noexcept {
  shut_because_ = reason;
  close();
  fail(take_unanswered(), reason);
}

void connection::update_interest() noexcept {
  auto const wanted_now = !idle();
  if (wanted_now == counted_) return;
  counted_ = wanted_now;
  loop().add_interest(wanted_now ? 1 : -1);
}

}  // namespace holdfast::net
