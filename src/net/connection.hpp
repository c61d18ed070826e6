/// The connection for requests.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/doubt.hpp"
#include "net/pipeline.hpp"
#include "net/session.hpp"

namespace holdfast::net {

/// Sends requests in order, many at a time, and gives each its response, however often the connection breaks
/// in between. Connects with the first request, and again as long as there are any. All under the client's
/// lock.
class connection final : public session, private doubt::covered {
 public:
  connection(reactor::loop& loop, settings const& config, client_stats& counts);
  ~connection() override = default;

  /// Sends the request as soon as possible. Its `done` is called once, with the lock held, unless the
  /// connection is destroyed. Throws std::bad_alloc, and then `done` isn't called.
  void send(request&& request);

  /// Re-queues requests taken from another connection; keeps their `sent` flags.
  void send(pipeline::batch&& requests) noexcept;

  /// Called with the request for each error reply but NOSCRIPT, before the request's `done`, if the request
  /// is one command. True: the handler will complete the request, and has taken it, perhaps together with its
  /// list node.
  using refusal_handler = std::function<bool(pipeline::batch& requests)>;
  void on_refusal(refusal_handler f) { refused_ = std::move(f); }

  /// Replies that the doubt is about, and all behind them, are held back until it ends or take_all() is
  /// called. A connection is silent, too, while it is being made: a frozen server's machine accepts it. With
  /// a locator from when that last asked where to, else from the last sign of the server.
  void share(doubt& of_server) {
    of_server.cover(*this);
    doubt_ = &of_server;
  }

  /// `f` is called when the connection has broken after it was up: the server that the next connection
  /// reaches may have lost writes that were acknowledged. `f` may send requests.
  void on_broken(std::function<void()> f) { broken_ = std::move(f); }
  /// `f` is called when there is a connection again after that.
  void on_restored(std::function<void()> f) { restored_ = std::move(f); }

  /// Other servers say that this one exists: requests wait for it by their retry policy, also when the first
  /// try fails.
  void expect() noexcept { expected_ = true; }

  /// Calls replace() when all that was sent has been answered, so that nothing is in doubt; until then
  /// nothing more is sent. False: not so soon after the last time.
  bool replace_when_answered(std::string reason) noexcept;

  /// Ends the connection, discards the refusal, and sends the request over the next connection, ahead of
  /// later requests. The request's response still tells whether it may have been carried out.
  void start_over(pipeline::batch&& refused, std::string const& reason) noexcept;

  /// Ends the connection, and takes out all requests without a reply, in their order, to be sent elsewhere.
  [[nodiscard]] pipeline::batch take_all() noexcept;

  /// True if no request is sent or queued.
  [[nodiscard]] bool idle() const noexcept { return pipeline_.empty() && !holds_back(); }

  /// Why there is no connection; null when there is one, or none was needed yet.
  [[nodiscard]] std::shared_ptr<error const> const& down_because() const noexcept { return down_because_; }

  /// Fails all pending and all later requests. Bytes that were written still arrive.
  void shut(std::shared_ptr<error const> const& reason) noexcept;

 private:
  [[nodiscard]] net::translator const* explorer() const noexcept override { return config().translator; }
  void on_up(std::vector<resp::reply>&& found) override;
  void on_down(std::shared_ptr<error const> const& reason, end outcome) noexcept override;
  void on_reply(resp::reply&& reply) override;
  [[nodiscard]] bool wanted() const noexcept override { return !pipeline_.empty(); }
  void gather(std::string& out) override;
  [[nodiscard]] std::size_t outstanding() const noexcept override { return pipeline_.in_flight(); }

  void believe_first() noexcept override;
  [[nodiscard]] bool holds_back() const noexcept override {
    return !believed_.empty() || !held_back_.empty() || !held_longer_.empty();
  }
  [[nodiscard]] time_point silent_since() const noexcept override;
  /// Since when the server has owed the next reply; only if a request is in flight.
  [[nodiscard]] time_point owing_since() const noexcept { return std::max(heard_, pipeline_.oldest()); }

  void take_reply(resp::reply&& reply) noexcept;
  void deliver(pipeline::batch&& answered) noexcept;
  [[nodiscard]] bool is_doubtful(pipeline::entry const& entry) noexcept;
  void hold_back(pipeline::batch&& answered) noexcept;
  /// All replies that are held back, or still to be delivered, in their order.
  [[nodiscard]] pipeline::batch take_held_back() noexcept;
  void answer_with(std::shared_ptr<error const> const& reason, request& request,
                   response&& response) noexcept;
  void expect_by(time_point limit) noexcept;
  void begin() noexcept;
  [[nodiscard]] bool understand(pipeline::batch& answered) noexcept;
  [[nodiscard]] bool reconsider(pipeline::batch& refused) noexcept;
  void call_again(pipeline::batch&& forgotten) noexcept;
  void resume_with(pipeline::batch&& refused) noexcept;
  /// Takes out all requests without a reply, after the connection was ended.
  [[nodiscard]] pipeline::batch take_unanswered() noexcept;
  void fail(pipeline::batch&& requests, std::shared_ptr<error const> const& reason) noexcept;
  void fail_overdue() noexcept;
  [[nodiscard]] time_point fails_at(request const& request, time_point queued) const noexcept;
  void check_silence() noexcept;
  [[nodiscard]] bool was_silent() const noexcept;
  void update_interest() noexcept;

  pipeline pipeline_;
  std::unique_ptr<translation>
      translation_;              ///< of the connection that is up; null: requests go as they stand
  doubt* doubt_ = nullptr;       ///< null: replies count however late they come
  pipeline::batch believed_;     ///< requests with their replies, to be delivered one after the other
  pipeline::batch held_back_;    ///< the same, behind those: see share()
  pipeline::batch held_longer_;  ///< the same, behind those: they wait for doubt::question::next
  refusal_handler refused_;
  std::function<void()> broken_;
  std::function<void()> restored_;
  std::string leaves_because_{};  ///< see replace_when_answered()
  time_point left_at_{};          ///< the same
  bool was_up_ = false;           ///< until on_down
  time_point broke_at_{};  ///< the connection that was up; the clock's epoch: none was since, or one is
  bool counted_ = false;   ///< in the loop's interest
  bool expected_ = false;  ///< the server is known to exist
  /// The time since which no reply has come, however often a connection was made meanwhile: a proxy may hang
  /// up on each request. Zero: no trouble.
  time_point trouble_since_{};
  time_point answered_at_{};   ///< when the server last replied that it isn't ready
  time_point heard_{};         ///< when the last reply came
  time_point silent_since_{};  ///< when the server was last known to run, if not since; zero: it has replied
  std::shared_ptr<error const> down_because_;
  std::shared_ptr<error const> shut_because_;
  reactor::timer silence_timer_;
  reactor::timer retry_timer_;
};

}  // namespace holdfast::net
