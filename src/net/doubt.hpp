/// Whether the replies of a server count.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace holdfast::net {

/// A server that was silent for long may have been suspended, and replaced meanwhile: its replies are held
/// back until others have been asked about it. All connections to the server share the doubt, and it outlives
/// each of them. An answer is good for what was heard before the question alone: what comes late after the
/// question waits for the next one. All under the client's lock.
class doubt {
 public:
  /// A connection that holds replies back.
  class covered {
   public:
    /// Delivers the replies that waited for the question that was answered; the others wait for the next.
    virtual void believe_first() noexcept = 0;
    [[nodiscard]] virtual bool holds_back() const noexcept = 0;
    /// Since when the server has owed it something; time_point::max(): it owes nothing.
    [[nodiscard]] virtual time_point silent_since() const noexcept = 0;

   protected:
    covered() = default;
    covered(covered const&) = default;
    covered& operator=(covered const&) = default;
    ~covered() = default;
  };
  enum class question { under_way, next };

  /// `limit`: the longest silence that isn't doubted. `ask` leads to believe(), at once or later, by what
  /// others say after that call.
  doubt(std::chrono::milliseconds limit, std::function<void()> ask);

  /// `also` must outlive it, or never be heard again.
  void cover(covered& also) { all_.push_back(&also); }

  [[nodiscard]] bool is_long(boot_clock::duration silence) const noexcept { return silence > limit_; }
  /// Is a reply late that `over` has read at `now`, and that answers what was sent at `sent_at`? So it is
  /// when another connection has waited for long.
  [[nodiscard]] bool is_late(covered const& over, time_point sent_at, time_point now) const noexcept;
  /// A reply that is in time doesn't count either.
  [[nodiscard]] bool open() const noexcept { return raised_ || announced_ || asked_; }

  /// The server was found to be silent at `seen`, and may have been replaced: no reply counts before others
  /// have been asked after that.
  void raise(time_point seen) noexcept;
  /// Somebody announces another server, and believe() follows when that has been looked into: a doubt that
  /// was raised for another reason outlasts it, unless the others were asked, too.
  void announce() noexcept;
  /// For which question the next reply that is held back waits.
  [[nodiscard]] question awaited() const noexcept { return again_ ? question::next : question::under_way; }
  /// A reply is held back: asks, unless that is under way.
  void pursue() noexcept;
  /// The server hasn't been replaced.
  void believe() noexcept;
  /// Nobody will answer the question.
  void abandon() noexcept;
  /// A connection is up. To another server than before: the doubt was about that one.
  void reach(std::string const& host, unsigned port);

 private:
  [[nodiscard]] bool any_held_back() const noexcept;
  void forget() noexcept;

  std::chrono::milliseconds const limit_;
  std::function<void()> const ask_;
  std::vector<covered*> all_;
  bool raised_ = false;     ///< the next reply leads to a question
  bool announced_ = false;  ///< another server, and that is being looked into
  bool asked_ = false;      ///< a question is under way
  bool again_ = false;      ///< it was asked before the server was last found to be silent
  bool believing_ = false;  ///< replies are being delivered
  time_point asked_at_{};
  time_point believed_{};  ///< when the last question that was answered was asked
  std::string host_;       ///< of the server that was reached last
  unsigned port_ = 0;
};

}  // namespace holdfast::net
