/// Matches replies to requests, also across broken connections. No I/O, no clock.
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
#include <vector>

#include "base/callback.hpp"
#include "base/clock.hpp"
#include "net/translation.hpp"
#include "resp/reply.hpp"

namespace holdfast::topology {
class cluster_node;
enum class refusal_kind : std::uint8_t;
}  // namespace holdfast::topology

namespace holdfast::net {

/// The outcome of a request.
struct response {
  resp::reply reply{};  ///< the server's reply, which may be an error
  std::shared_ptr<error const>
      failure{};         ///< set when there is no reply: it couldn't be sent, or was left unanswered
  time_point sent_at{};  ///< just before it was last written
  bool sent = false;     ///< at least once: it may have been carried out
  bool resent = false;   ///< more than once: an earlier copy may have been carried out, too
  std::uint64_t connection_id =
      0;  ///< the connection that the reply came over, numbered through the client's life
};

/// How long a request waits while there is no connection.
enum class retry_policy {
  little,   ///< fails once the server couldn't be reached for connect_timeout, or wasn't ready for so long
  steady,   ///< the same, but the time starts again with each reply that the server isn't ready (loading its
            ///< data, busy)
  moving,   ///< as `little`; but as long as the slot of a cluster is on its way to another node, it waits
  endless,  ///< waits until it can be sent, or until `give_up`
};

/// The connection to a server that a request goes over.
enum class connection_role {
  usual,
  acknowledged,  ///< an extra connection for WAIT, which blocks all requests behind it
};

/// The position of the key in a request, counted from the end, since that is the same for EVALSHA and EVAL.
/// The key decides which node of a cluster serves the request; size 0: any node.
struct key_position {
  std::uint32_t from_end = 0;
  std::uint32_t size = 0;
};

/// The arguments of a script, behind its keys, in the same way.
struct argument_position {
  std::uint32_t from_end = 0;
  std::uint32_t count = 0;
};

struct request {
  std::string bytes{};
  callback<void(response&&)> done{};
  /// Returns the request with the text of `script`, for a server that has forgotten it (NOSCRIPT); null: the
  /// request has no script. Called at most once.
  std::string (*in_full)(std::string const& bytes, void const* script_source) = nullptr;
  void const* script = nullptr;
  bool in_steps = true;  ///< a translation may carry it out in steps, with requests of others in between
  retry_policy while_down = retry_policy::little;
  time_point give_up = time_point::max();  ///< with retry_policy::endless: fail then, if not in flight
  bool never_resend =
      false;               ///< not sent again when the connection breaks: it was for this run of the server
  bool beside = false;     ///< its reply is about other servers: a doubt about this one doesn't hold it back
  bool divisible = false;  ///< may be split into a request for each key: gets TRYAGAIN at once
  /// The number of commands in `bytes`, each of which is answered. Of several, the response has the first
  /// error or else the last reply, and no error sends the request elsewhere.
  std::uint8_t replies = 1;
  key_position key{};
  argument_position arguments{};  ///< of a script
  connection_role role = connection_role::usual;

  // For a deployment of several servers.
  std::optional<std::uint16_t> slot{};  ///< of a request without a key that belongs to one with a key (WAIT)
  bool stays = false;                   ///< for this very server: never sent to another in its place
  std::uint16_t redirects = 0;          ///< number of redirects in a row
  std::uint16_t pauses = 0;             ///< number of times it was kept back
  time_point kept_since{};              ///< when it was first kept back
  topology::refusal_kind kept_for{};    ///< why it is kept back now
  topology::cluster_node* ask_at = nullptr;  ///< the node to send it to, behind ASKING; null: the slot's node
  bool asked = false;  ///< it goes to a node that must be asked: of a translation each command, behind ASKING

  [[nodiscard]] std::string_view key_text() const noexcept {
    return std::string_view{bytes}.substr(bytes.size() - key.from_end, key.size);
  }
};

/// The requests of one connection, in order. All requests may be sent again, since the scripts are
/// idempotent: after a drop everything that was in flight is sent again, in the old order, ahead of later
/// requests.
///
/// Only add() of a new request allocates. If that fails, add() has no effect. The request keeps the list node
/// from there on, also when it moves to another pipeline.
class pipeline {
 public:
  /// What was written of a request, and what has come of the replies.
  struct transmission {
    exchange now{};
    bool translated = false;             ///< not as it stands
    bool goes_on = false;                ///< earlier exchanges of it are complete
    std::uint8_t answered = 0;           ///< as it stands: number of replies so far
    std::vector<resp::reply> replies{};  ///< translated: those so far
  };
  /// A request, and its outcome so far.
  struct entry {
    net::request request;
    net::response response;
    time_point queued{};
    transmission last{};  ///< how it was last written
  };
  using batch = std::list<entry>;

  pipeline() = default;
  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;
  ~pipeline() = default;

  /// `resent`: an earlier copy of it may have been carried out. Throws std::bad_alloc, and then `request` is
  /// unchanged.
  void add(request&& request, time_point now, bool resent = false);
  /// Adds requests from another pipeline; keeps their `sent` flags.
  void add(batch&& requests, time_point now) noexcept;

  /// Takes a request back that the server has answered, but not carried out. It is sent again before all
  /// unsent requests, once nothing is in flight any more: what is in flight behind it may have to be sent
  /// again, too, and then follows it in order.
  void repeat(batch&& request, time_point now) noexcept;

  /// Goes on with a request whose last exchange is complete: ahead of all that haven't begun.
  void go_on(batch&& request, exchange&& next) noexcept;

  /// Appends all unsent requests to `out`, unless some wait for their repetition, as `translator` says them;
  /// they are in flight from now on. Returns how many of them had been sent before. Throws std::bad_alloc,
  /// and then some may be in flight that are in `out`, but none that isn't.
  std::size_t send_to(std::string& out, time_point now, translation* translator = nullptr);

  /// Moves the oldest request in flight to `out` when this is its last reply; with its reply, or all replies
  /// in `last` if it was translated, else the first error or the last reply. False when there is none: the
  /// peer sent a reply without a request. Throws std::bad_alloc, and then the reply is lost.
  [[nodiscard]] bool match(resp::reply&& reply, batch& out);

  /// Puts requests whose reply was discarded before all others. Only after restart(): nothing may be in
  /// flight.
  void put_back(batch&& requests, time_point now) noexcept;

  /// After the connection is lost: marks every request as unsent.
  void restart() noexcept;

  /// Takes out all requests for which `wanted(request, queued)` is true; both parts keep their order. Only
  /// after restart(): nothing may be in flight.
  template <class Wanted>
  [[nodiscard]] batch remove_if(Wanted wanted) noexcept {
    batch result;
    for (auto next = all_.begin(); next != all_.end();) {
      auto const current = next++;
      if (wanted(std::as_const(current->request), current->queued))
        result.splice(result.end(), all_, current);
    }
    unsent_ = all_.begin();
    return result;
  }

  /// Keeps the memory of completed requests for later ones.
  void recycle(batch&& used) noexcept;

  [[nodiscard]] bool empty() const noexcept {
    return all_.empty() && to_repeat_.empty() && going_on_.empty();
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::size_t unsent() const noexcept {
    return all_.size() - in_flight_ + to_repeat_.size() + going_on_.size();
  }
  /// There are unsent requests, and send_to() would send them.
  [[nodiscard]] bool can_send() const noexcept {
    return unsent() != 0 && !alone_ && (to_repeat_.empty() || in_flight_ == 0);
  }

  /// When the oldest request in flight was sent; only if there is one.
  [[nodiscard]] time_point oldest() const noexcept { return all_.front().response.sent_at; }
  /// The request that is answered next; only if one is in flight.
  [[nodiscard]] entry const& first() const noexcept { return all_.front(); }

 private:
  void append(batch& requests) noexcept;
  void put_first_unsent(batch& requests) noexcept;
  void put_repeated_first() noexcept;

  batch all_;  ///< the first in_flight_ requests are in flight
  std::size_t in_flight_ = 0;
  batch::iterator unsent_ = all_.end();  ///< the first unsent request
  batch to_repeat_;                      ///< see repeat()
  batch going_on_;                       ///< see go_on()
  bool alone_ = false;                   ///< the last request in flight must have none behind it
  batch spare_;
};

}  // namespace holdfast::net
