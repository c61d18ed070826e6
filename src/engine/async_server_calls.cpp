#include "engine/async_server_calls.hpp"

#include <new>
#include <string>
#include <utility>

#include "engine/readiness.hpp"
#include "resp/command.hpp"

namespace holdfast::engine {

struct async_server_calls::pending {
  pending(readiness asks_again, callback<void(handler)> send_copy, handler on_done)
      : again{asks_again}, copy{std::move(send_copy)}, done{std::move(on_done)} {}

  readiness again;
  callback<void(handler)> copy;  ///< sends one, whose response goes to the handler
  handler done;
  net::response last{};
  int interest = 1;              ///< 0: nobody waits for it
  reactor::loop::calls ready{};  ///< calls `done` with `last`; made in advance, since the end must not fail
};

void async_server_calls::ask_until_ready(call script, handler done, scripting::send_options send) {
  start(std::make_shared<pending>(readiness{client_.options}, running(std::move(script), send),
                                  std::move(done)));
}

void async_server_calls::insist(call script, handler done, time_point until) {
  auto const request = std::make_shared<pending>(
      readiness{until},
      running(std::move(script), {.while_down = net::retry_policy::endless, .give_up = until}),
      std::move(done));
  request->interest = 0;
  start(request);
}

callback<void(async_server_calls::handler)> async_server_calls::running(call script,
                                                                        scripting::send_options send) {
  return [this, script = std::move(script), send](handler on_response) {
    backend_.run(script, std::move(on_response), send);
  };
}

void async_server_calls::ask_until_ready(std::span<std::string_view const> command, std::string_view key,
                                         handler done) {
  std::string bytes;
  resp::append_command(bytes, command);
  start(std::make_shared<pending>(
      readiness{client_.options},
      [this, bytes = std::move(bytes), of = std::string{key}](handler on_response) {
        backend_.send({.bytes = bytes, .done = std::move(on_response), .slot = backend_.slot_of(of)});
      },
      std::move(done)));
}

void async_server_calls::ask_viewer(std::function<void(etcd::viewer&, failure_handler)> send, handler done) {
  start(std::make_shared<pending>(
      readiness{client_.options},
      [this, send = std::move(send)](handler on_response) {
        send(*backend_.viewer(),
             [answered = std::make_shared<handler>(std::move(on_response))](
                 std::shared_ptr<error const> failure) { (*answered)({.failure = std::move(failure)}); });
      },
      std::move(done)));
}

void async_server_calls::start(std::shared_ptr<pending> const& request) {
  gate_.check_process();
  reactor::lock hold{loop_.mutex()};
  gate_.prepare();
  request->ready.emplace_back([request] { request->done(std::move(request->last)); });
  loop_.add_interest(request->interest);
  try {
    send(request);
  } catch (std::bad_alloc const&) {
    loop_.add_interest(-request->interest);
    request->ready.clear();  // it refers to the request
    throw;
  }
  loop_.leave(hold);
}

void async_server_calls::send(std::shared_ptr<pending> const& request) {
  request->copy([this, request](net::response&& response) { on_response(request, std::move(response)); });
}

void async_server_calls::on_response(std::shared_ptr<pending> const& request,
                                     net::response&& response) noexcept {
  auto const when = request->again.next_copy(response, boot_clock::now());
  request->last = std::move(response);
  if (when) {
    try {
      delayed_.add(*when, [this, request] { send_again(request); });
      return;
    } catch (std::bad_alloc const&) {
      // The refusal is the outcome.
    }
  }
  finish(*request);
}

/// The end of the client calls it early.
void async_server_calls::send_again(std::shared_ptr<pending> const& request) noexcept {
  if (gate_.closed()) {
    request->last.failure = client_.shut_down;
    finish(*request);
    return;
  }
  try {
    send(request);
  } catch (std::bad_alloc const&) {
    request->last.failure = client_.no_memory;
    finish(*request);
  }
}

void async_server_calls::finish(pending& request) noexcept {
  loop_.add_interest(-request.interest);
  loop_.deferred().add(std::move(request.ready));
}

}  // namespace holdfast::engine
