/// Which reply belongs to which request, also when the line drops in between. No I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <holdfast/error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "resp/reply.hpp"

namespace holdfast::net {

/// How a request ended.
struct answer {
  resp::reply reply{};  ///< what the server said, maybe an error of its own
  std::shared_ptr<error const>
      failure{};         ///< set when there is no reply: it couldn't be asked, or was left unanswered
  time_point sent_at{};  ///< just before it was written, the last time it was
  bool sent = false;     ///< at least once: whatever it does may be done
  bool resent = false;   ///< more than once: an earlier copy may have been carried out, too
  std::uint64_t line =
      0;  ///< which of the client's connections the reply came over, counted through its life
};

/// What happens to a request while there is no connection.
enum class patience {
  little,   ///< fails once the server couldn't be reached for connect_timeout, or wasn't ready for so long
  steady,   ///< the same, but waits for as long as the server answers that it isn't ready (loading its data,
            ///< busy)
  endless,  ///< stays until it can be sent, or its time is up
};

/// Which of a server's connections a request goes over.
enum class lane {
  usual,
  acknowledged,  ///< one for WAIT, which holds up whatever comes behind it
};

/// Where in a request its key stands, counted from the end, which is the same however its script is named. It
/// decides which node of a cluster serves it; size 0: any does.
struct key_place {
  std::uint32_t from_end = 0;
  std::uint32_t size = 0;
};

struct request {
  std::string bytes{};
  callback<void(answer&&)> done{};
  /// How it reads for a server that has forgotten its script (NOSCRIPT); null: it has none. Asked for at most
  /// once.
  std::string (*in_full)(std::string const& bytes, void const* what) = nullptr;
  void const* what = nullptr;
  patience while_down = patience::little;
  time_point give_up = time_point::max();  ///< with endless patience: fail then, if it isn't in flight
  bool once =
      false;  ///< it isn't sent again when the connection breaks: it was for this server as it runs now
  bool divisible = false;  ///< it may be asked for each of its keys: wants to hear TRYAGAIN at once
  key_place key{};
  lane over = lane::usual;

  // For a deployment of several servers.
  std::optional<std::uint16_t> slot{};  ///< it has no key, and belongs to one that has (WAIT)
  bool stays = false;           ///< is meant for this very server, and not sent to another in its place
  std::uint16_t redirects = 0;  ///< how often in a row servers have sent it elsewhere
  std::uint16_t pauses = 0;     ///< how often it was kept back for a while
  time_point kept_since{};      ///< when it first could not go where it should

  [[nodiscard]] std::string_view key_text() const noexcept {
    return std::string_view{bytes}.substr(bytes.size() - key.from_end, key.size);
  }
};

/// The requests of one connection, in order. All of ours may be sent again: the scripts are idempotent, so
/// after a drop everything that was in flight goes out anew, in the old order, ahead of what came later.
class pipeline {
 public:
  /// `resent`: an earlier copy of it may have been carried out.
  void add(request what, time_point now, bool resent = false);

  /// Appends all that wasn't sent to `out`; it's in flight now. How many of them had been sent before?
  std::size_t send_to(std::string& out, time_point now);

  struct finished {
    request what;
    answer how;
  };

  /// The reply for the oldest request in flight. False when there is none: the peer talks out of turn.
  [[nodiscard]] bool match(resp::reply&& reply, finished& out);

  /// One whose answer doesn't count: it comes before all others. Only after restart(): nothing may be in
  /// flight.
  void put_back(finished one, time_point now);

  /// The connection is gone: everything is to be sent again.
  void restart() noexcept;

  /// Takes out all requests that `wanted(request, when it was queued)` says, keeping the order of the rest.
  /// Only after restart(): nothing may be in flight.
  template <class Wanted>
  [[nodiscard]] std::vector<finished> remove_if(Wanted wanted) {
    std::vector<finished> result;
    std::deque<entry> rest;
    for (auto& one : entries_) {
      if (wanted(one.what, one.queued)) {
        result.push_back(one.finish());
      } else {
        rest.push_back(std::move(one));
      }
    }
    entries_ = std::move(rest);
    return result;
  }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::size_t unsent() const noexcept { return entries_.size() - in_flight_; }

  /// When the oldest request in flight was sent; only if there is one.
  [[nodiscard]] time_point oldest() const noexcept { return entries_.front().sent_at; }

 private:
  struct entry {
    request what;
    time_point queued;
    time_point sent_at{};
    bool sent = false;
    bool resent = false;

    finished finish() {
      return {std::move(what),
              {.reply = {}, .failure = {}, .sent_at = sent_at, .sent = sent, .resent = resent}};
    }
  };

  std::deque<entry> entries_;  ///< the first in_flight_ of them are sent
  std::size_t in_flight_ = 0;
};

}  // namespace holdfast::net
