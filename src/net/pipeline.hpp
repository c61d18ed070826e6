/// Which reply belongs to which request, also when the line drops in between. No I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <holdfast/error.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "resp/reply.hpp"

namespace holdfast::topology {
class cluster_node;
enum class refusal_kind : std::uint8_t;
}  // namespace holdfast::topology

namespace holdfast::net {

/// How a request ended.
struct response {
  resp::reply reply{};  ///< what the server said, maybe an error of its own
  std::shared_ptr<error const>
      failure{};         ///< set when there is no reply: it couldn't be asked, or was left unanswered
  time_point sent_at{};  ///< just before it was written, the last time it was
  bool sent = false;     ///< at least once: whatever it does may be done
  bool resent = false;   ///< more than once: an earlier copy may have been carried out, too
  std::uint64_t connection_id =
      0;  ///< which of the client's connections the reply came over, counted through its life
};

/// What happens to a request while there is no connection.
enum class retry_policy {
  little,   ///< fails once the server couldn't be reached for connect_timeout, or wasn't ready for so long
  steady,   ///< the same, but waits for as long as the server answers that it isn't ready (loading its data,
            ///< busy)
  endless,  ///< stays until it can be sent, or its time is up
};

/// Which of a server's connections a request goes over.
enum class connection_role {
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
  callback<void(response&&)> done{};
  /// How it reads for a server that has forgotten its script (NOSCRIPT); null: it has none. Asked for at most
  /// once.
  std::string (*in_full)(std::string const& bytes, void const* what) = nullptr;
  void const* script = nullptr;
  retry_policy while_down = retry_policy::little;
  time_point give_up = time_point::max();  ///< with endless patience: fail then, if it isn't in flight
  bool once =
      false;  ///< it isn't sent again when the connection breaks: it was for this server as it runs now
  bool divisible = false;  ///< it may be asked for each of its keys: wants to hear TRYAGAIN at once
  key_place key{};
  connection_role role = connection_role::usual;

  // For a deployment of several servers.
  std::optional<std::uint16_t> slot{};  ///< it has no key, and belongs to one that has (WAIT)
  bool stays = false;                 ///< is meant for this very server, and not sent to another in its place
  std::uint16_t redirects = 0;        ///< how often in a row servers have sent it elsewhere
  std::uint16_t pauses = 0;           ///< how often it was kept back for a while
  time_point kept_since{};            ///< when it first could not go where it should
  topology::refusal_kind kept_for{};  ///< and why it can't now
  topology::cluster_node* ask_at = nullptr;  ///< (ASKING); null: whoever serves the slot

  [[nodiscard]] std::string_view key_text() const noexcept {
    return std::string_view{bytes}.substr(bytes.size() - key.from_end, key.size);
  }
};

/// The requests of one connection, in order. All of ours may be sent again: the scripts are idempotent, so
/// after a drop everything that was in flight goes out anew, in the old order, ahead of what came later.
///
/// Only add() of a new request may fail for want of memory, and then nothing has happened: a request keeps
/// the node of a list that it was given there, wherever it goes.
class pipeline {
 public:
  /// A request, and what is known of how it ended, or until now.
  struct entry {
    net::request request;
    net::response response;
    time_point queued{};
  };
  using batch = std::list<entry>;

  pipeline() = default;
  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;
  ~pipeline() = default;

  /// `resent`: an earlier copy of it may have been carried out. Throws std::bad_alloc, and then `what` is as
  /// it was.
  void add(request&& what, time_point now, bool resent = false);
  /// Those that were in a pipeline before; what is known of each stays true: that it was sent, say.
  void add(batch&& those, time_point now) noexcept;

  /// Appends all that wasn't sent to `out`; it's in flight now. How many of them had been sent before? Throws
  /// std::bad_alloc, and then none was appended, and none is in flight.
  std::size_t send_to(std::string& out, time_point now);

  /// Moves the oldest request in flight, whose reply this is, to `out`. False when there is none: the peer
  /// talks out of turn.
  [[nodiscard]] bool match(resp::reply&& reply, batch& out) noexcept;

  /// Those whose answer doesn't count: they come before all others. Only after restart(): nothing may be in
  /// flight.
  void put_back(batch&& those, time_point now) noexcept;

  /// The connection is gone: everything is to be sent again.
  void restart() noexcept;

  /// Takes out all requests that `wanted(request, when it was queued)` says, keeping the order of the rest.
  /// Only after restart(): nothing may be in flight.
  template <class Wanted>
  [[nodiscard]] batch remove_if(Wanted wanted) noexcept {
    batch result;
    for (auto next = all_.begin(); next != all_.end();) {
      auto const here = next++;
      if (wanted(std::as_const(here->request), here->queued)) result.splice(result.end(), all_, here);
    }
    unsent_ = all_.begin();
    return result;
  }

  /// Of those that are over: their memory serves the next ones.
  void recycle(batch&& used) noexcept;

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::size_t unsent() const noexcept { return all_.size() - in_flight_; }

  /// When the oldest request in flight was sent; only if there is one.
  [[nodiscard]] time_point oldest() const noexcept { return all_.front().response.sent_at; }

 private:
  void append(batch& one) noexcept;

  batch all_;  ///< the first in_flight_ of them are sent
  std::size_t in_flight_ = 0;
  batch::iterator unsent_ = all_.end();  ///< the first that isn't sent
  batch spare_;
};

}  // namespace holdfast::net
