// Entry points for threads and callbacks. Each function takes the client's lock, starts its operation, and
// waits or returns.

#include <holdfast/wait_time.hpp>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "base/quiet_thread.hpp"
#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "engine/record.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

std::string cancelled(lock_queue const& queue) { return "waiting for " + queue.title() + " was cancelled"; }

/// When the last request is sent: so far ahead of `end` that its response comes in time.
time_point last_look_before(time_point end, std::chrono::nanoseconds wait) {
  return end - std::min<std::chrono::nanoseconds>(wait / 8, std::chrono::milliseconds{25});
}

using stop_watch = std::stop_callback<std::function<void()>>;

/// A waiting thread; lives on its stack.
struct blocked_waiter final : waiter {
  blocked_waiter(reactor::loop& client_loop, lock_queue_ptr target, effective_options_ptr requested,
                 std::function<void()> when_time_is_up)
      : waiter{std::move(target), std::move(requested), std::move(when_time_is_up)}, loop{client_loop} {}
  void finished() noexcept override { loop.wake(thread); }

  reactor::loop& loop;
  reactor::blocked_thread thread;
};

/// A waiting callback. The function that calls the callback owns it.
struct called_waiter final : waiter {
  called_waiter(reactor::loop& client_loop, lock_queue_ptr target, effective_options_ptr requested,
                std::function<void()> when_time_is_up, acquire_handler handler)
      : waiter{std::move(target), std::move(requested), std::move(when_time_is_up)},
        loop{client_loop},
        done_handler{std::move(handler)} {}
  void finished() noexcept override {
    loop.add_interest(-1);
    loop.defer(std::move(ready));
  }

  reactor::loop& loop;
  acquire_handler done_handler;
  reactor::loop::calls ready;
  std::optional<stop_watch> stop;  ///< made and destroyed without the lock: it waits for a running callback
};

}  // namespace

/// The caller has given up. It gets errc::cancelled, or the error for want of memory if that one can't be
/// made.
void core::cancel(waiter& caller) noexcept {
  reactor::lock inner{loop_.mutex()};
  if (caller.done) return;
  try {
    caller.failure = std::make_shared<error const>(errc::cancelled, cancelled(*caller.queue));
  } catch (std::bad_alloc const&) {
    caller.failure = client_.no_memory;
  }
  leave(caller);
  loop_.leave(inner);
}

void core::prepare() {
  check_usable();
  try {
    loop_.start_keeper();
  } catch (std::system_error const& failure) {
    throw error{failure.code(), client_.url + ": the thread of the client can't be started (" +
                                    failure.code().message() + "), so nothing was sent; " +
                                    advice_about_threads};
  }
}

lease_state_ptr core::acquire(lock_queue_ptr const& queue, effective_options_ptr const& options,
                              wait_limit wait, std::stop_token const& stop, int amount, outages in_outage) {
  if (forked()) check_usable();
  if (stop.stop_requested()) throw error{errc::cancelled, cancelled(*queue)};
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  auto const once = wait && wait->count() <= 0;
  if (!once && !reactor::loop::may_wait()) {
    throw error{std::errc::resource_deadlock_would_occur,
                "a callback can't wait for " + queue->title() +
                    ": too many wait already, and those behind it may be what it would wait for; use "
                    "async_acquire there, or try"};
  }
  reactor::lock hold{loop_.mutex()};
  prepare();
  blocked_waiter caller{loop_, queue, options, [this, &caller] { time_up(caller); }};
  caller.once = once;
  caller.amount = amount;
  caller.steadfast = in_outage == outages::waited_out;
  if (wait) caller.last_look = last_look_before(end, *wait);
  start(caller);
  if (!caller.done && wait && !caller.once) loop_.arm(caller.time_up, end);
  if (stop.stop_possible() && !caller.done) {
    hold.unlock();
    stop_watch const watch{stop, [this, &caller] { cancel(caller); }};
    hold.lock();
    loop_.wait(hold, caller.thread);
  } else {
    loop_.wait(hold, caller.thread);
  }
  if (caller.failure) throw error{*caller.failure};
  return std::move(caller.lease);
}

void core::async_acquire(lock_queue_ptr const& queue, effective_options_ptr const& options, wait_limit wait,
                         std::stop_token stop, acquire_handler done, int amount, outages in_outage) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  auto caller =
      std::make_shared<called_waiter>(loop_, queue, options, std::function<void()>{}, std::move(done));
  caller->time_up.set([this, raw = caller.get()] { time_up(*raw); });
  std::function<void()> on_stop;
  if (stop.stop_possible()) {
    on_stop = [this, weak = std::weak_ptr{caller}] {
      if (auto const still = weak.lock()) cancel(*still);
    };
  }
  caller->ready.emplace_back([caller] { caller->done_handler(std::move(caller->lease), caller->failure); });
  caller->once = wait && wait->count() <= 0;
  caller->amount = amount;
  caller->steadfast = in_outage == outages::waited_out;
  loop_.add_interest(1);
  auto const end = wait ? boot_clock::now() + *wait : time_point::max();
  if (wait) caller->last_look = last_look_before(end, *wait);
  start(*caller);
  if (!caller->done && wait && !caller->once) loop_.arm(caller->time_up, end);
  if (stop.stop_possible() && !caller->done) {
    // The stop callback may run from here on, also inside its constructor, and may own the last reference to
    // the waiter.
    hold.unlock();
    caller->stop.emplace(std::move(stop), std::move(on_stop));
    caller.reset();
    hold.lock();
  }
  loop_.leave(hold);
}

/// The record of the holder's client is asked for without the lock. When it can't be had, a report without a
/// name is better than none.
std::optional<busy_info> core::last_busy(lock_queue& queue) {
  if (forked()) check_usable();
  std::optional<busy_info> result;
  {
    reactor::lock const hold{loop_.mutex()};
    result = busy_report_.latest(queue);
  }
  if (!result || !result->holder.host.empty()) return result;
  auto& holder = result->holder;
  auto const uuid = uuid_of(holder.owner);
  if (uuid.empty() || busy_report_.describe_if_own(holder)) return result;
  try {
    auto const key = names::client_record(uuid);
    std::string_view const command[]{"HGETALL", key};
    holder = read_record(std::string{holder.owner}, ask_server(command, key));
  } catch (error const&) {
    return result;
  }
  reactor::lock const hold{loop_.mutex()};
  busy_report_.remember(holder);
  return result;
}

time_point core::last_busy_at(lock_queue const& queue) {
  if (forked()) check_usable();
  reactor::lock const hold{loop_.mutex()};
  return queue.in_the_way() != nullptr ? queue.in_the_way()->at : time_point{};
}

void core::async_pause(std::chrono::nanoseconds time, callback<void()> done) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  reactor::loop::calls ready;
  ready.push_back(std::move(done));
  delayed_.add(boot_clock::now() + time, [this, ready = std::move(ready)]() mutable {
    loop_.add_interest(-1);
    loop_.defer(std::move(ready));
  });
  loop_.add_interest(1);
  loop_.leave(hold);
}

/// Sends `count` requests and waits for all responses. `send` gets the index and the handler of each.
template <class Send>
std::vector<net::response> core::wait_for_answers(std::size_t count, Send send) {
  if (forked()) check_usable();
  reactor::lock hold{loop_.mutex()};
  prepare();
  if (count == 0) return {};
  // Shared with the requests already sent, should a later one throw.
  struct awaited {
    std::vector<net::response> responses;
    std::size_t remaining;
    std::shared_ptr<error const> failure{};
    reactor::blocked_thread thread{};
  };
  auto const pending = std::make_shared<awaited>(std::vector<net::response>{count}, count);
  for (std::size_t i = 0; i != count; ++i) {
    send(i, [this, pending, i](net::response&& response) {
      if (response.failure) pending->failure = response.failure;
      pending->responses[i] = std::move(response);
      if (--pending->remaining == 0) loop_.wake(pending->thread);
    });
  }
  loop_.wait(hold, pending->thread);
  if (pending->failure) throw error{*pending->failure};
  return std::move(pending->responses);
}

std::vector<net::response> core::run_scripts(std::span<call const> scripts, scripting::send_options send) {
  return wait_for_answers(scripts.size(), [&](std::size_t i, callback<void(net::response&&)> done) {
    backend_->run(scripts[i], std::move(done), send);
  });
}

std::vector<resp::reply> core::ask_server(std::span<call const> scripts) {
  auto responses = run_scripts(scripts);
  std::vector<resp::reply> replies;
  replies.reserve(responses.size());
  for (auto& response : responses) replies.push_back(std::move(response.reply));
  return replies;
}

net::response core::ask_server(call const& script, scripting::send_options send) {
  return std::move(run_scripts({&script, 1}, send).front());
}

resp::reply core::ask_server(call const& script, std::string_view about) {
  auto reply = ask_server(script).reply;
  if (reply.is_error()) throw error{*explain(reply, about, client_.url)};
  return reply;
}

resp::reply core::ask_server(std::span<std::string_view const> command, std::string_view key) {
  auto responses = wait_for_answers(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request request{.done = std::move(done)};
    resp::append_command(request.bytes, command);
    if (!key.empty()) request.slot = backend_->slot_of(key);
    backend_->send(std::move(request));
  });
  return std::move(responses.front().reply);
}

std::vector<std::string> core::masters() {
  auto const known = [this] {
    if (forked()) check_usable();
    reactor::lock const hold{loop_.mutex()};
    return backend_->masters();
  };
  auto all = known();
  if (!all.empty()) return all;
  connect();  // the response has named the masters
  all = known();
  if (all.empty()) throw error{errc::unreachable, client_.url + ": no master is known; is it a cluster?"};
  return all;
}

resp::reply core::ask_master(std::string const& master, std::span<std::string_view const> command) {
  auto responses = wait_for_answers(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request request{.done = std::move(done)};
    resp::append_command(request.bytes, command);
    backend_->send_to(master, std::move(request));
  });
  return std::move(responses.front().reply);
}

std::stop_token core::stop_token(lease_state& lease) {
  if (forked()) return {};
  reactor::lock const hold{loop_.mutex()};
  return lease.stop_token();
}

void core::on_limit_near(lease_state& lease, milliseconds before, std::function<void()> f) {
  if (forked() || !f) return;
  {
    reactor::lock hold{loop_.mutex()};
    if (lease.status() != lease_state::state::held || lease.limit() == time_point::max()) return;
    auto const when = lease.limit() - to_wait(before);
    if (when > boot_clock::now()) {
      loop_.defer(lease.set_warning(when, std::move(f)));
      renewer_.add(lease);
      loop_.leave(hold);
      return;
    }
  }
  f();
}

void core::on_lost(lease_state& lease, std::function<void(loss_cause)> f) {
  if (forked()) return;
  {
    reactor::lock const hold{loop_.mutex()};
    if (lease.status() != lease_state::state::lost) {
      if (lease.status() == lease_state::state::held) lease.add_listener(std::move(f));
      return;
    }
  }
  f(lease.cause());
}

}  // namespace holdfast::engine
