#include "engine/server_calls.hpp"

#include <utility>

#include "engine/failure.hpp"
#include "engine/readiness.hpp"
#include "resp/command.hpp"

namespace holdfast::engine {

void server_calls::connect() {
  auto const begun = boot_clock::now();
  auto const patience = client_.options.patience;
  auto responses = wait_for_responses(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request request{.done = std::move(done)};
    resp::append_command(request.bytes, {"PING"});
    if (patience.count() > 0) {
      request.while_down = net::retry_policy::endless;
      request.give_up = begun + patience;
    }
    backend_.send(std::move(request));
  });
  auto const& pong = responses.front().reply;
  if (pong.is_error() && !pong.is_error("NOPERM")) throw error{errc::refused, client_.url + ": " + pong.text};
}

/// Sends `count` requests and waits for all responses. `send` gets the index and the handler of each.
template <class Send>
std::vector<net::response> server_calls::wait_for_responses(std::size_t count, Send send) {
  gate_.check_process();
  auto const begun = boot_clock::now();
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
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
  if (pending->failure) throw error{*after_waiting(pending->failure, boot_clock::now() - begun)};
  return std::move(pending->responses);
}

void server_calls::wait_for(std::function<void(failure_handler)> const& send) {
  (void)wait_for_responses(1, [&](std::size_t, callback<void(net::response&&)> done) {
    send([done = std::make_shared<decltype(done)>(std::move(done))](std::shared_ptr<error const> failure) {
      (*done)({.failure = std::move(failure)});
    });
  });
}

std::vector<net::response> server_calls::run(std::span<call const> scripts, scripting::send_options send) {
  return wait_for_responses(scripts.size(), [&](std::size_t i, callback<void(net::response&&)> done) {
    backend_.run(scripts[i], std::move(done), send);
  });
}

std::vector<resp::reply> server_calls::ask(std::span<call const> scripts) {
  auto responses = run(scripts);
  std::vector<resp::reply> replies;
  replies.reserve(responses.size());
  for (auto& response : responses) replies.push_back(std::move(response.reply));
  return replies;
}

net::response server_calls::ask(call const& script, scripting::send_options send) {
  return std::move(run({&script, 1}, send).front());
}

net::response server_calls::ask_until_ready(call const& script, scripting::send_options send) {
  readiness again{client_.options};
  for (;;) {
    auto response = ask(script, send);
    auto const when = again.next_copy(response, boot_clock::now());
    if (!when) return response;
    pause_until(*when);
  }
}

/// Others use the client meanwhile. Ends early with the client.
void server_calls::pause_until(time_point end) {
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
  reactor::blocked_thread thread;
  delayed_.add(end, [this, &thread] { loop_.wake(thread); });
  loop_.wait(hold, thread);
}

resp::reply server_calls::ask(call const& script, std::string_view about) {
  auto reply = ask(script).reply;
  if (reply.is_error()) throw error{*explain(reply.text, about, client_)};
  return reply;
}

resp::reply server_calls::ask(std::span<std::string_view const> command, std::string_view key) {
  return ask_over(net::connection_role::usual, command, key).reply;
}

net::response server_calls::ask_over(net::connection_role role, std::span<std::string_view const> command,
                                     std::string_view key) {
  auto responses = wait_for_responses(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request request{.done = std::move(done), .role = role};
    resp::append_command(request.bytes, command);
    if (!key.empty()) request.slot = backend_.slot_of(key);
    backend_.send(std::move(request));
  });
  return std::move(responses.front());
}

std::vector<std::string> server_calls::masters() {
  auto const known = [this] {
    gate_.check_process();
    reactor::lock const hold{loop_.mutex()};
    return backend_.masters();
  };
  auto all = known();
  if (!all.empty()) return all;
  connect();  // the response has named the masters
  all = known();
  if (all.empty()) throw error{errc::unreachable, client_.url + ": no master is known; is it a cluster?"};
  return all;
}

resp::reply server_calls::ask_master(std::string const& master, std::span<std::string_view const> command) {
  auto responses = wait_for_responses(1, [&](std::size_t, callback<void(net::response&&)> done) {
    net::request request{.done = std::move(done)};
    resp::append_command(request.bytes, command);
    backend_.send_to(master, std::move(request));
  });
  return std::move(responses.front().reply);
}

}  // namespace holdfast::engine
