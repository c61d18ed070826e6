/// Requests of threads that are about no lock queue: each call sends, and waits for the replies.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/call_gate.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// From any thread, without the lock. All throw when the server can't be asked.
class server_calls {
 public:
  server_calls(reactor::loop& loop, lock_backend& backend, client_constants const& client, call_gate& gate,
               delayed_calls& delayed) noexcept
      : loop_{loop}, backend_{backend}, client_{client}, gate_{gate}, delayed_{delayed} {}

  /// Makes sure that the server can be reached and accepts the client.
  void connect();

  /// Sends scripts in one pipeline. A refusal is a reply, too.
  [[nodiscard]] std::vector<resp::reply> ask(std::span<call const> scripts);
  /// Sends one script. The response tells, too, whether an earlier copy of the request may have been carried
  /// out. A refusal is a reply.
  [[nodiscard]] net::response ask(call const& script, scripting::send_options send = {});
  /// Sends one script until the server is ready for it: again after each refusal that passes (LOADING,
  /// BUSY…), for at most reply_timeout + connect_timeout after the first one. A second copy must have no
  /// effect. The last response, which tells the same of all copies; a refusal is a reply.
  [[nodiscard]] net::response ask_until_ready(call const& script, scripting::send_options send = {});
  /// Sends one script for the object `about`. Throws also when the server refuses.
  [[nodiscard]] resp::reply ask(call const& script, std::string_view about);
  /// Sends a plain command to the slot of `key`, if there is one. A refusal is a reply, too.
  [[nodiscard]] resp::reply ask(std::span<std::string_view const> command, std::string_view key = {});
  /// The same over another connection; the response tells which.
  [[nodiscard]] net::response ask_over(net::connection_role role, std::span<std::string_view const> command,
                                       std::string_view key);

  /// The backend looks at locks without scripts.
  [[nodiscard]] bool has_viewer() const noexcept { return backend_.viewer() != nullptr; }
  /// `send` gets its viewer, and a handler for the failure (null: none) and the answer, which are waited for.
  template <class Answer, class Send>
  [[nodiscard]] Answer ask_viewer(Send send) {
    auto const found = std::make_shared<Answer>();
    wait_for([&](failure_handler done) {
      send(*backend_.viewer(),
           [found, done = std::move(done)](std::shared_ptr<error const> failure, Answer answer) {
             *found = std::move(answer);
             done(std::move(failure));
           });
    });
    return std::move(*found);
  }

  /// The servers that each hold a part of the keys; at least one.
  [[nodiscard]] std::vector<std::string> masters();
  /// Sends a plain command to one of the masters.
  [[nodiscard]] resp::reply ask_master(std::string const& master, std::span<std::string_view const> command);

 private:
  using failure_handler = std::function<void(std::shared_ptr<error const>)>;

  void wait_for(std::function<void(failure_handler)> const& send);
  [[nodiscard]] std::vector<net::response> run(std::span<call const> scripts,
                                               scripting::send_options send = {});
  void pause_until(time_point end);
  template <class Send>
  [[nodiscard]] std::vector<net::response> wait_for_responses(std::size_t count, Send send);

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  call_gate& gate_;
  delayed_calls& delayed_;
};

}  // namespace holdfast::engine
