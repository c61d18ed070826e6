/// Requests to the cluster, asked again until they have an answer or their time is up.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <holdfast/client.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "engine/answers.hpp"
#include "engine/client_constants.hpp"
#include "etcd/channel.hpp"
#include "etcd/mailbox.hpp"
#include "script/runner.hpp"

namespace holdfast::etcd {

/// The outcome of a request.
template <class Answer>
struct response {
  status ended{};
  Answer value{};
  time_point sent_at{};                    ///< just before it was last sent
  bool sent = false;                       ///< at least once
  bool resent = false;                     ///< an earlier copy may be carried out, too, even later
  std::shared_ptr<error const> failure{};  ///< null: there is an answer, or a refusal

  [[nodiscard]] bool ok() const noexcept { return ended.ok() && !failure; }
};

/// For a transaction: that key has that text; empty: there is no such key.
[[nodiscard]] inline condition still_says(std::string key, std::string const& text) {
  condition same{.key = std::move(key), .equals = std::int64_t{0}};
  if (!text.empty()) same.equals = text;
  return same;
}

/// All under the client's lock. Handlers come later, each once. What is asked for in a turn of the loop is
/// sent at its end, behind the history.
class server final : reactor::flushable {
 public:
  template <class Answer>
  using handler = std::function<void(response<Answer>&&)>;

  server(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
         std::string prefix, std::shared_ptr<mailbox> mail, channel& to);
  ~server() override;
  server(server const&) = delete;
  server& operator=(server const&) = delete;

  void transact(transaction request, scripting::send_options const& send, handler<outcome> done);
  void grant(std::chrono::seconds ttl, scripting::send_options const& send, handler<lease_grant> done);

  void time_to_live(std::int64_t lease, scripting::send_options const& send, handler<lease_time> done);
  /// Once, whatever the answers are.
  void examine(milliseconds timeout, std::function<void(cluster_view)> done);

  [[nodiscard]] bool idle() const noexcept { return open_.empty(); }
  [[nodiscard]] bool up() const noexcept { return up_; }
  [[nodiscard]] std::shared_ptr<error const> const& down_because() const noexcept { return down_because_; }
  /// Nothing is sent from now on.
  void refuse(std::shared_ptr<error const> const& reason) { shut_because_ = reason; }
  /// Behind that: all requests fail, and all later ones, these at once.
  void fail_all();

  /// Until when a request is tried that begins then. `sent`: a member may have got it.
  [[nodiscard]] time_point last_attempt_at(scripting::send_options const& send, time_point begun,
                                           bool sent = false) const noexcept;

  /// For a caller.
  [[nodiscard]] std::shared_ptr<error const> explain(status const& ended) const;
  /// Null: it was carried out.
  template <class Answer>
  [[nodiscard]] std::shared_ptr<error const> failure_of(response<Answer> const& answer) const {
    if (answer.ok()) return nullptr;
    return answer.failure ? answer.failure : explain(answer.ended);
  }
  /// The same of an answer without an outcome: a refusal, or a failure.
  template <class Outcome, class Answer>
  [[nodiscard]] engine::answer<Outcome> no_outcome(response<Answer> const& answer) const {
    if (answer.failure) return {.content = engine::failed{.reason = answer.failure, .sent = answer.sent}};
    using enum status::kind;
    if (answer.ended.type == refused || answer.ended.type == full || answer.ended.type == no_such_lease)
      return {.content = engine::refused{.text = words_of(answer.ended), .resent = answer.resent}};
    return {.content = engine::failed{.reason = explain(answer.ended), .sent = answer.resent}};
  }

 private:
  [[nodiscard]] static std::string words_of(status const& refusal);

  struct question;
  using question_ptr = std::shared_ptr<question>;

  template <class Answer>
  void begin(scripting::send_options const& send,
             std::function<void(milliseconds timeout, channel::handler<Answer>)> ask, handler<Answer> done);
  void attempt(question_ptr const& asked);
  bool flush(bool driving) override;
  void on_lost_handler() noexcept override {}
  void on_answer(question_ptr const& asked, status const& ended);
  void end(question_ptr const& asked, status const& ended, std::shared_ptr<error const> const& failure);

  reactor::loop& loop_;
  engine::client_constants const& client_;
  client_stats& counts_;
  std::string const prefix_;
  std::shared_ptr<mailbox> const mail_;
  channel& channel_;
  std::set<question_ptr> open_;
  std::deque<question_ptr> to_send_;
  bool up_ = false;
  std::shared_ptr<error const> down_because_;
  std::shared_ptr<error const> shut_because_;
  bool over_ = false;  ///< fail_all() has returned
};

}  // namespace holdfast::etcd
