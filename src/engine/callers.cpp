// Where threads and callbacks meet the engine: each function takes the client's lock, says what it wants, and
// waits or leaves.

#include <optional>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "resp/command.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

std::shared_ptr<error const> cancelled_error(line const& at) {
  return std::make_shared<error const>(errc::cancelled, "waiting for " + at.title() + " was cancelled");
}

/// A last look at the lock is so much ahead of the end that its answer comes in time.
time_point last_look_before(time_point end, std::chrono::nanoseconds wait) {
  return end - std::min<std::chrono::nanoseconds>(wait / 8, std::chrono::milliseconds{25});
}

using stop_watch = std::stop_callback<std::function<void()>>;

/// A thread that waits; on its stack.
struct blocked_waiter final : waiter {
  blocked_waiter(reactor::loop& loop, line_ptr at, terms_ptr terms, std::function<void()> when_time_is_up)
      : waiter{std::move(at), std::move(terms), std::move(when_time_is_up)}, on{loop} {}
  void finished() override { on.finish(caller); }

  reactor::loop& on;
  reactor::parked caller;
};

/// A callback that waits; owns itself until it was called.
struct called_waiter final : waiter {
  called_waiter(reactor::loop& loop, line_ptr at, terms_ptr terms, std::function<void()> when_time_is_up,
                acquire_handler then)
      : waiter{std::move(at), std::move(terms), std::move(when_time_is_up)},
        on{loop},
        done_handler{std::move(then)} {}
  void finished() override {
    on.add_interest(-1);
    on.defer([me = std::move(self)] { me->done_handler(std::move(me->lease), me->failure); });
  }

  reactor::loop& on;
  acquire_handler done_handler;
  std::shared_ptr<called_waiter> self;
  std::optional<stop_watch> stop;  ///< made and destroyed without the lock: it waits for a callback that runs
};

}  // namespace

held_ptr core::acquire(line_ptr const& at, terms_ptr const& how, patience_time wait,
                       std::stop_token const& stop, int amount) {
  if (forked()) check_usable();
  if (stop.stop_requested()) throw error{*cancelled_error(*at)};
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  blocked_waiter who{loop_, at, how, [this, &who] { time_up(who); }};
  who.once = wait && wait->count() <= 0;
  who.amount = amount;
  if (wait) who.last_look = last_look_before(end, *wait);
  start(who);
  if (!who.done && wait && !who.once) loop_.arm(who.time_up, end);
  if (stop.stop_possible() && !who.done) {
    hold.unlock();
    stop_watch const watch{stop, [this, &who] {
                             reactor::lock inner{loop_.mutex()};
                             if (who.done) return;
                             who.failure = cancelled_error(*who.place);
                             leave(who);
                             loop_.leave(inner);
                           }};
    hold.lock();
    loop_.wait(hold, who.caller);
  } else {
    loop_.wait(hold, who.caller);
  }
  if (who.failure) throw error{*who.failure};
  return std::move(who.lease);
}

void core::async_acquire(line_ptr const& at, terms_ptr const& how, patience_time wait, std::stop_token stop,
                         acquire_handler done, int amount) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  auto who = std::make_shared<called_waiter>(loop_, at, how, std::function<void()>{}, std::move(done));
  who->time_up.set([this, raw = who.get()] { time_up(*raw); });
  who->self = who;
  who->once = wait && wait->count() <= 0;
  who->amount = amount;
  loop_.add_interest(1);
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  if (wait) who->last_look = last_look_before(end, *wait);
  start(*who);
  if (!who->done && wait && !who->once) loop_.arm(who->time_up, end);
  if (stop.stop_possible() && !who->done) {
    // The callback may run at any time from here on, also inside its constructor, and may be the last to know
    // the waiter.
    hold.unlock();
    who->stop.emplace(std::move(stop), [this, weak = std::weak_ptr{who}] {
      auto const still = weak.lock();
      if (!still) return;
      reactor::lock inner{loop_.mutex()};
      if (still->done) return;
      still->failure = cancelled_error(*still->place);
      leave(*still);
      loop_.leave(inner);
    });
    who.reset();
    hold.lock();
  }
  loop_.leave(hold);
}

struct core::ending {
  void come_to(reactor::loop& on, release_result how) {
    if (std::exchange(over, true)) return;
    result = how;
    on.finish(caller);
  }

  reactor::parked caller;
  release_result result = release_result::unknown;
  bool over = false;
};

/// Finishes a lease by `how`, which is given what to do with the outcome.
template <class How>
std::shared_ptr<core::ending> core::begin_ending(held_ptr& what, How how) {
  auto mine = std::make_shared<ending>();
  how(*what, [this, mine](release_result result) { mine->come_to(loop_, result); });
  what.reset();
  return mine;
}

/// Waits for the outcome, within a bound.
release_result core::wait_for_end(reactor::lock& hold, std::shared_ptr<ending> const& begun) {
  if (begun->over) {  // handed on: nothing to wait for
    loop_.leave(hold);
    return begun->result;
  }
  reactor::timer bell{[this, begun] { begun->come_to(loop_, release_result::unknown); }};
  // A reply that doesn't come is noticed after one time-out, and asked for again within the other.
  loop_.arm(bell, boot_clock::now() + options_.reply_timeout + options_.connect_timeout);
  loop_.wait(hold, begun->caller);
  hold.lock();
  bell.disarm();
  return begun->result;
}

template <class How>
release_result core::finish_lease(held_ptr& what, How how) noexcept {
  if (forked()) {
    (void)what.detach();
    return release_result::lost;
  }
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begin_ending(what, std::move(how)));
}

release_result core::release(held_ptr& what) noexcept {
  return finish_lease(what, [this](held& mine, release_handler done) { release(mine, std::move(done)); });
}

release_result core::keep(held_ptr& what, std::optional<milliseconds> left) noexcept {
  if (left && left->count() <= 0) return release(what);
  return finish_lease(what,
                      [this, left](held& mine, release_handler done) { keep(mine, left, std::move(done)); });
}

std::shared_ptr<core::ending> core::begin_release(held_ptr& what) noexcept {
  if (forked()) {
    (void)what.detach();
    return nullptr;
  }
  reactor::lock hold{loop_.mutex()};
  auto begun =
      begin_ending(what, [this](held& mine, release_handler done) { release(mine, std::move(done)); });
  loop_.leave(hold);
  return begun;
}

release_result core::end_release(std::shared_ptr<ending> const& begun) noexcept {
  if (forked() || !begun) return release_result::lost;
  reactor::lock hold{loop_.mutex()};
  return wait_for_end(hold, begun);
}

void core::async_release(held_ptr& what, release_handler done) noexcept {
  if (forked()) {
    (void)what.detach();
    if (done) done(release_result::lost);
    return;
  }
  reactor::lock hold{loop_.mutex()};
  release(*what, [this, done = std::move(done)](release_result result) mutable {
    if (done) loop_.defer([done = std::move(done), result]() mutable { done(result); });
  });
  what.reset();
  loop_.leave(hold);
}

void core::renew(held& what) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  struct outcome {
    reactor::parked caller;
    std::shared_ptr<error const> failure;
    bool over = false;
  };
  auto const mine = std::make_shared<outcome>();
  auto const finish_with = [this, mine](std::shared_ptr<error const> failure) {
    if (std::exchange(mine->over, true)) return;
    mine->failure = std::move(failure);
    loop_.finish(mine->caller);
  };
  reactor::timer bell{[this, finish_with] { finish_with(connection_.down_because()); }};
  if (what.now() == held::state::held) {
    loop_.arm(bell, what.deadline());
    renewer_.renew_now(what, [this, finish_with, at = line_ptr{&what.place()}](net::answer const& how) {
      finish_with(how.failure || !how.reply.is_error() ? how.failure : explain(how.reply, *at, url()));
    });
    loop_.wait(hold, mine->caller);
    hold.lock();
    bell.disarm();
  }
  auto const lost = what.now() != held::state::held;
  hold.unlock();
  if (lost) {
    throw error{errc::lost, "lease of " + what.place().title() + " can't be renewed: " +
                                (what.cause() == loss_cause::none ? std::string{"it was released"}
                                                                  : std::string{to_string(what.cause())})};
  }
  if (mine->failure) throw error{*mine->failure};
}

/// Renewal ends before the script is sent: from then on the lease of old is none. Its listeners go over.
held_ptr core::become(held_ptr what, line_ptr const& to, call const& script) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  line_ptr const from{&what->place()};
  auto const lost_error = [&from](loss_cause cause) {
    return error{errc::lost, "lease of " + from->title() + " can't be turned into another: " +
                                 (cause == loss_cause::none ? std::string{"it was released"}
                                                            : std::string{to_string(cause)})};
  };
  if (what->now() != held::state::held) throw error{lost_error(what->cause())};
  renewer::remove(*what);
  std::optional<net::answer> answer;
  reactor::parked caller;
  scripting::run(connection_, script,
                 [&](net::answer&& how) {
                   answer = std::move(how);
                   loop_.finish(caller);
                 },
                 {.while_down = net::patience::endless, .give_up = what->deadline()});
  loop_.wait(hold, caller);
  hold.lock();
  auto const understood = !answer->failure && answer->reply.is_integer();
  auto const state = understood ? from->how().read_release(answer->reply) : found::mine;
  auto const still_held = what->now() == held::state::held;
  if (understood && still_held && state == found::mine) {
    held_ptr const next{new held{to, terms_ptr{&what->how()}, what->number(), what->token()}};
    next->set_deadline(deadline_of(answer->sent_at, what->options().ttl));
    if (what->options().watchdog) next->renew_at = answer->sent_at + what->how().every;
    next->renewals_left = what->renewals_left;
    (void)finish_here(*what);
    next->inherit(*what);
    crowds_[to.get()].open(*next, boot_clock::now());
    ++stats_.held_now;
    renewer_.add(*next);
    if (!from->on_wire) ask_after_release(*from);
    loop_.leave(hold);
    return next;
  }
  if (still_held && state != found::mine) {
    lose(*what, state == found::gone ? loss_cause::key_gone : loss_cause::taken_over);
  } else if (still_held) {
    release(*what, {});  // whether it was turned is unknown: both ends of it go
    release_as(*to, *what);
  }
  auto const cause = what->cause();
  std::shared_ptr<error const> const why =
      !understood && !answer->failure ? explain(answer->reply, *from, url()) : answer->failure;
  loop_.leave(hold);
  if (why && cause == loss_cause::none) throw error{*why};
  throw error{lost_error(cause)};
}

held_ptr core::reenter(line_ptr const& at, held* what) {
  if (forked()) check_usable();
  reactor::lock const hold{loop_.mutex()};
  check_usable();
  if (what == nullptr || (&what->place() == at.get() && !what->valid())) {
    throw error{errc::lost, "the lock \"" + at->name() +
                                "\" can't be entered again: the lease to do it by is " +
                                (what == nullptr ? "empty" : "not held any more")};
  }
  if (&what->place() != at.get()) {
    throw error{std::errc::invalid_argument, "the lock \"" + at->name() +
                                                 "\" can't be entered by a lease of \"" +
                                                 what->place().name() + "\", or of another client"};
  }
  what->add_handle();
  return held_ptr{what};
}

void core::async_pause(std::chrono::nanoseconds time, callback<void()> done) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  loop_.add_interest(1);
  later(boot_clock::now() + time, [this, done = std::move(done)]() mutable {
    loop_.add_interest(-1);
    loop_.defer(std::move(done));
  });
  loop_.leave(hold);
}

/// Sends `count` requests by `send`, which is given what to do with each answer, and waits for all of them.
template <class Send>
std::vector<net::answer> core::wait_for_answers(std::size_t count, Send send) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  check_usable();
  std::vector<net::answer> answers{count};
  if (count == 0) return answers;
  reactor::parked caller;
  std::shared_ptr<error const> failure;
  auto left = count;
  for (std::size_t i = 0; i != count; ++i) {
    send(i, [&, i](net::answer&& how) {
      if (how.failure) failure = how.failure;
      answers[i] = std::move(how);
      if (--left == 0) loop_.finish(caller);
    });
  }
  loop_.wait(hold, caller);
  if (failure) throw error{*failure};
  return answers;
}

std::vector<net::answer> core::run_scripts(std::span<call const> scripts) {
  return wait_for_answers(scripts.size(), [&](std::size_t i, callback<void(net::answer&&)> done) {
    scripting::run(connection_, scripts[i], std::move(done));
  });
}

std::vector<resp::reply> core::ask_server(std::span<call const> scripts) {
  auto answers = run_scripts(scripts);
  std::vector<resp::reply> replies;
  replies.reserve(answers.size());
  for (auto& one : answers) replies.push_back(std::move(one.reply));
  return replies;
}

net::answer core::ask_server(call const& script) { return std::move(run_scripts({&script, 1}).front()); }

resp::reply core::ask_server(call const& script, std::string_view about) {
  auto reply = ask_server(script).reply;
  if (reply.is_error()) throw error{*explain(reply, about, url())};
  return reply;
}

resp::reply core::ask_server(std::span<std::string_view const> command) {
  auto answers = wait_for_answers(1, [&](std::size_t, callback<void(net::answer&&)> done) {
    std::string bytes;
    resp::append_command(bytes, command);
    connection_.send({.bytes = std::move(bytes), .done = std::move(done)});
  });
  return std::move(answers.front().reply);
}

std::stop_token core::stop_token(held& what) {
  if (forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return what.stop_token();
}

void core::on_limit_near(held& what, milliseconds before, std::function<void()> f) {
  if (forked() || !f) return;
  {
    reactor::lock hold{loop_.mutex()};
    if (what.now() != held::state::held || what.limit() == time_point::max()) return;
    auto const when = what.limit() - before;
    if (when > boot_clock::now()) {
      what.set_warning(when, std::move(f));
      renewer_.add(what);
      loop_.leave(hold);
      return;
    }
  }
  f();
}

void core::on_lost(held& what, std::function<void(loss_cause)> f) {
  if (forked()) return;
  {
    reactor::lock const hold{loop_.mutex()};
    if (what.now() != held::state::lost) {
      if (what.now() == held::state::held) what.add_listener(std::move(f));
      return;
    }
  }
  f(what.cause());
}

}  // namespace holdfast::engine
