/// The connection that requests go over.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/pipeline.hpp"
#include "net/session.hpp"

namespace holdfast::net {

/// Sends requests in order, many at a time, and gives each its answer, however often the line breaks in
/// between. Connects with the first request, and again as long as there are any. All under the client's lock.
class connection final : public session {
 public:
  connection(reactor::loop& on, settings const& how, client_stats& counts);
  ~connection() override = default;

  /// Sends it as soon as it can be. `done` is called once, with the lock held, unless the connection is
  /// destroyed. Throws std::bad_alloc, and then it isn't called at all.
  void send(request what);

  /// Those that another connection had, and has given up. What was true of each stays true: that it was sent
  /// before, say.
  void send(pipeline::batch&& those) noexcept;

  /// Is asked about each refusal of the server's but NOSCRIPT, before whoever sent the request hears of it.
  /// True: it sees to the answer, and has taken the request, perhaps together with the node of the list.
  using refusal_handler = std::function<bool(pipeline::batch& what)>;
  void on_refusal(refusal_handler f) { refused_ = std::move(f); }

  /// Is called when the line has broken after it was up: the server that it leads to when it is made again
  /// may have lost what it acknowledged. Requests may be sent from there.
  void on_broken(std::function<void()> f) { broken_ = std::move(f); }

  /// Others say that the server is there: requests wait for it, by their patience, also when the first try
  /// fails.
  void expect() noexcept { expected_ = true; }

  /// Ends the line, as if it had broken; another is made when there is need of one.
  void replace(std::string const& why) noexcept {
    if (up()) drop(errc::unreachable, [&why] { return why; });
  }

  /// Ends the line, too; the request, whose refusal doesn't count, goes out over the next one, ahead of those
  /// that came behind it. `how` says what is true of it all the same: whether it may have been carried out.
  void start_over(pipeline::batch&& refused, std::string const& why) noexcept;

  /// Ends the line, and takes out all requests that have no answer yet, in their order: to be sent elsewhere.
  [[nodiscard]] pipeline::batch take_all() noexcept;

  /// Nothing sent, nothing to send.
  [[nodiscard]] bool idle() const noexcept { return pipeline_.empty(); }

  /// Why there is no connection; null when there is one, or none was needed yet.
  [[nodiscard]] std::shared_ptr<error const> const& down_because() const noexcept { return down_because_; }

  /// Fails everything that waits, and whatever comes later. What is on its way still arrives.
  void shut(std::shared_ptr<error const> const& why) noexcept;

 private:
  void on_up() override;
  void on_down(std::shared_ptr<error const> const& why, end how) noexcept override;
  void on_reply(resp::reply&& reply) override;
  [[nodiscard]] bool wanted() const noexcept override { return !pipeline_.empty(); }
  void gather(std::string& out) override;
  [[nodiscard]] std::size_t outstanding() const noexcept override { return pipeline_.in_flight(); }

  void answer_with(std::shared_ptr<error const> const& why, request& what, response&& how) noexcept;
  void expect_by(time_point limit) noexcept;
  void begin() noexcept;
  void call_again(pipeline::batch&& forgotten) noexcept;
  void resume_with(pipeline::batch&& refused) noexcept;
  /// The line has been ended; all that has no answer yet.
  [[nodiscard]] pipeline::batch take_unanswered() noexcept;
  void fail(pipeline::batch&& these, std::shared_ptr<error const> const& why) noexcept;
  void fail_impatient() noexcept;
  [[nodiscard]] time_point limit_of(request const& one, time_point queued) const noexcept;
  void check_silence() noexcept;
  void update_interest() noexcept;

  pipeline pipeline_;
  refusal_handler refused_;
  std::function<void()> broken_;
  bool was_up_ = false;    ///< when it last changed
  bool counted_ = false;   ///< in the loop's interest
  bool expected_ = false;  ///< it has been there
  /// Since when no reply has come through, however often a connection was made meanwhile: a proxy may hang up
  /// on a request each time. Zero: no trouble.
  time_point trouble_since_{};
  time_point answered_at_{};  ///< when the server last said that it isn't ready
  time_point heard_{};        ///< when the last reply came
  std::shared_ptr<error const> down_because_;
  std::shared_ptr<error const> shut_because_;
  reactor::timer silence_timer_;
  reactor::timer patience_timer_;
};

}  // namespace holdfast::net
