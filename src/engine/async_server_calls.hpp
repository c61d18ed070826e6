/// Requests that are about no lock queue, of callers that don't wait for the response.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "engine/call_gate.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// From any thread, without the lock. `done` is called once, without the lock, with the last response: its
/// `failure` is set when the server couldn't be asked. Each function throws when nothing was begun, and then
/// calls nothing.
class async_server_calls {
 public:
  using handler = callback<void(net::response&&)>;

  async_server_calls(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                     call_gate& gate, delayed_calls& delayed) noexcept
      : loop_{loop}, backend_{backend}, client_{client}, gate_{gate}, delayed_{delayed} {}

  /// Sends one script until the server is ready for it: see server_calls::ask_until_ready.
  void ask_until_ready(call script, handler done, scripting::send_options send = {});
  /// The same with a plain command, for the slot of `key`.
  void ask_until_ready(std::span<std::string_view const> command, std::string_view key, handler done);
  /// Sends a script until it is carried out, or until `until`: through outages, and after refusals, but for
  /// one about what the key holds. Ends with the client, or when there is no memory for another copy; an
  /// event loop doesn't wait for it.
  void insist(call script, handler done, time_point until);
  /// As server_calls::ask_viewer. `answer` is set before `done` is called, unless there is a failure.
  template <class Answer, class Send>
  void ask_viewer(std::shared_ptr<Answer> const& answer, Send send, handler done) {
    ask_viewer(
        [answer, send = std::move(send)](etcd::viewer& view, failure_handler answered) {
          send(view,
               [answer, answered = std::move(answered)](std::shared_ptr<error const> failure, Answer found) {
                 *answer = std::move(found);
                 answered(std::move(failure));
               });
        },
        std::move(done));
  }

 private:
  using failure_handler = std::function<void(std::shared_ptr<error const>)>;
  void ask_viewer(std::function<void(etcd::viewer&, failure_handler)> send, handler done);

  struct pending;

  [[nodiscard]] callback<void(handler)> running(call script, scripting::send_options send);
  void start(std::shared_ptr<pending> const& request);
  void send(std::shared_ptr<pending> const& request);
  void send_again(std::shared_ptr<pending> const& request) noexcept;
  void on_response(std::shared_ptr<pending> const& request, net::response&& response) noexcept;
  void finish(pending& request) noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  call_gate& gate_;
  delayed_calls& delayed_;
};

}  // namespace holdfast::engine
