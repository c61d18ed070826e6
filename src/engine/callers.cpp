// Where threads and callbacks meet the engine: each function takes the client's lock, says what it wants, and
// waits or leaves.

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "base/quiet_thread.hpp"
#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "resp/command.hpp"

namespace holdfast::engine {
namespace {

std::string cancelled(lock_queue const& at) { return "waiting for " + at.title() + " was cancelled"; }

/// A last look at the lock is so much ahead of the end that its answer comes in time.
time_point last_look_before(time_point end, std::chrono::nanoseconds wait) {
  return end - std::min<std::chrono::nanoseconds>(wait / 8, std::chrono::milliseconds{25});
}

using stop_watch = std::stop_callback<std::function<void()>>;

/// A thread that waits; on its stack.
struct blocked_waiter final : waiter {
  blocked_waiter(reactor::loop& loop, lock_queue_ptr at, effective_options_ptr terms,
                 std::function<void()> when_time_is_up)
      : waiter{std::move(at), std::move(terms), std::move(when_time_is_up)}, on{loop} {}
  void finished() noexcept override { on.wake(caller); }

  reactor::loop& on;
  reactor::blocked_thread caller;
};

/// A callback that waits; what calls it owns it.
struct called_waiter final : waiter {
  called_waiter(reactor::loop& loop, lock_queue_ptr at, effective_options_ptr terms,
                std::function<void()> when_time_is_up, acquire_handler then)
      : waiter{std::move(at), std::move(terms), std::move(when_time_is_up)},
        on{loop},
        done_handler{std::move(then)} {}
  void finished() noexcept override {
    on.add_interest(-1);
    on.defer(std::move(ready));
  }

  reactor::loop& on;
  acquire_handler done_handler;
  reactor::loop::calls ready;
  std::optional<stop_watch> stop;  ///< made and destroyed without the lock: it waits for a callback that runs
};

}  // namespace

/// The caller has given up waiting. It hears of that, or that there is no memory to say so.
void core::cancel(waiter& who) noexcept {
  reactor::lock inner{loop_.mutex()};
  if (who.done) return;
  try {
    who.failure = std::make_shared<error const>(errc::cancelled, cancelled(*who.queue));
  } catch (std::bad_alloc const&) {
    who.failure = no_memory_;
  }
  leave(who);
  loop_.leave(inner);
}

void core::prepare() {
  check_usable();
  try {
    loop_.start_keeper();
  } catch (std::system_error const& why) {
    throw error{why.code(), url() + ": the thread of the client can't be started (" + why.code().message() +
                                "), so nothing was sent; " + advice_about_threads};
  }
}

lease_state_ptr core::acquire(lock_queue_ptr const& at, effective_options_ptr const& how, patience_time wait,
                              std::stop_token const& stop, int amount, outages in_outage) {
  if (forked()) check_usable();
  if (stop.stop_requested()) throw error{errc::cancelled, cancelled(*at)};
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  auto const once = wait && wait->count() <= 0;
  if (!once && !reactor::loop::may_wait()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "a callback can't wait for " + at->title() +
                    ": too many wait already, and those behind it may be what it would wait for; use "
                    "async_acquire there, or try"};
  }
  reactor::lock hold{loop_.mutex()};
  prepare();
  blocked_waiter who{loop_, at, how, [this, &who] { time_up(who); }};
  who.once = once;
  who.amount = amount;
  who.steadfast = in_outage == outages::waited_out;
  if (wait) who.last_look = last_look_before(end, *wait);
  start(who);
  if (!who.done && wait && !who.once) loop_.arm(who.time_up, end);
  if (stop.stop_possible() && !who.done) {
    hold.unlock();
    stop_watch const watch{stop, [this, &who] { cancel(who); }};
    hold.lock();
    loop_.wait(hold, who.caller);
  } else {
    loop_.wait(hold, who.caller);
  }
  if (who.failure) throw error{*who.failure};
  return std::move(who.lease);
}

void core::async_acquire(lock_queue_ptr const& at, effective_options_ptr const& how, patience_time wait,
                         std::stop_token stop, acquire_handler done, int amount, outages in_outage) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  auto who = std::make_shared<called_waiter>(loop_, at, how, std::function<void()>{}, std::move(done));
  who->time_up.set([this, raw = who.get()] { time_up(*raw); });
  std::function<void()> on_stop;
  if (stop.stop_possible()) {
    on_stop = [this, weak = std::weak_ptr{who}] {
      if (auto const still = weak.lock()) cancel(*still);
    };
  }
  who->ready.emplace_back([who] { who->done_handler(std::move(who->lease), who->failure); });
  who->once = wait && wait->count() <= 0;
  who->amount = amount;
  who->steadfast = in_outage == outages::waited_out;
  loop_.add_interest(1);
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  if (wait) who->last_look = last_look_before(end, *wait);
  start(*who);
  if (!who->done && wait && !who->once) loop_.arm(who->time_up, end);
  if (stop.stop_possible() && !who->done) {
    // The callback may run at any time from here on, also inside its constructor, and may be the last to know
    // the waiter.
    hold.unlock();
    who->stop.emplace(std::move(stop), std::move(on_stop));
    who.reset();
    hold.lock();
  }
  loop_.leave(hold);
}

void core::async_pause(std::chrono::nanoseconds time, callback<void()> done) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  reactor::loop::calls ready;
  ready.push_back(std::move(done));
  later(boot_clock::now() + time, [this, ready = std::move(ready)]() mutable {
    loop_.add_interest(-1);
    loop_.defer(std::move(ready));
  });
  loop_.add_interest(1);
  loop_.leave(hold);
}

/// Sends `count` requests by `send`, which is given what to do with each answer, and waits for all of them.
template <class Send>
std::vector<net::response> core::wait_for_answers(std::size_t count, Send send) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  if (count == 0) return {};
  // Shared with those that are sent, should one of the others not be.
  struct awaited {
    std::vector<net::response> answers;
    std::size_t left;
    std::shared_ptr<error const> failure{};
    reactor::blocked_thread caller{};
  };
  auto const mine = std::make_shared<awaited>(std::vector<net::response>{count}, count);
  for (std::size_t i = 0; i != count; ++i) {
    send(i, [this, mine, i](net::response&& how) {
      if (how.failure) mine->failure = how.failure;
      mine->answers[i] = std::move(how);
      if (--mine->left == 0) loop_.wake(mine->caller);
    });
  }
  loop_.wait(hold, mine->caller);
  if (mine->failure) throw error{*mine->failure};
  return std::move(mine->answers);
}

std::vector<net::response> core::run_scripts(std::span<call const> scripts,
                                             scripting::send_options patience) {
  return wait_for_answers(scripts.size(), [&](std::size_t i, callback<void(net::response&&)> done) {
    servers_->run(scripts[i], std::move(done), patience);
  });
}

std::vector<resp::reply> core::ask_server(std::span<call const> scripts) {
  auto answers = run_scripts(scripts);
  std::vector<resp::reply> replies;
  replies.reserve(answers.size());
  for (auto& one : answers) replies.push_back(std::move(one.reply));
  return replies;
}

net::response core::ask_server(call const& script, scripting::send_options patience) {
  return std::move(run_scripts({&script, 1}, patience).front());
}

resp::reply core::ask_server(call const& script, std::string_view about) {
  auto reply = ask_server(script).reply;
  if (reply.is_error()) throw error{*explain(reply, about, url())};
  return reply;
}

resp::reply core::ask_server(std::span<std::string_view const> command, std::string_view key) {
  auto answers = wait_for_answers(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request what{.done = std::move(done)};
    resp::append_command(what.bytes, command);
    if (!key.empty()) what.slot = servers_->slot_of(key);
    servers_->send(std::move(what));
  });
  return std::move(answers.front().reply);
}

std::vector<std::string> core::masters() {
  auto const known = [this] {
    if (forked()) check_usable();
    reactor::lock const hold{loop_.mutex()};
    return servers_->masters();
  };
  auto all = known();
  if (!all.empty()) return all;
  connect();  // whoever answers has told who they are
  all = known();
  if (all.empty()) throw error{errc::unreachable, url() + ": no master is known; is it a cluster?"};
  return all;
}

resp::reply core::ask_master(std::string const& which, std::span<std::string_view const> command) {
  auto answers = wait_for_answers(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request what{.done = std::move(done)};
    resp::append_command(what.bytes, command);
    servers_->send_to(which, std::move(what));
  });
  return std::move(answers.front().reply);
}

std::stop_token core::stop_token(lease_state& what) {
  if (forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return what.stop_token();
}

void core::on_limit_near(lease_state& what, milliseconds before, std::function<void()> f) {
  if (forked() || !f) return;
  {
    reactor::lock hold{loop_.mutex()};
    if (what.status() != lease_state::state::held || what.limit() == time_point::max()) return;
    auto const when = what.limit() - to_wait(before);
    if (when > boot_clock::now()) {
      loop_.defer(what.set_warning(when, std::move(f)));
      renewer_.add(what);
      loop_.leave(hold);
      return;
    }
  }
  f();
}

void core::on_lost(lease_state& what, std::function<void(loss_cause)> f) {
  if (forked()) return;
  {
    reactor::lock const hold{loop_.mutex()};
    if (what.status() != lease_state::state::lost) {
      if (what.status() == lease_state::state::held) what.add_listener(std::move(f));
      return;
    }
  }
  f(what.cause());
}

}  // namespace holdfast::engine
