/// Acquisitions that replicas, or disks, have to acknowledge.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <holdfast/error.hpp>
#include <holdfast/options.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// Who else has a grant, as the reply to WAIT or WAITAOF says.
struct acknowledgement {
  std::int64_t replicas = 0;  ///< on their disks, if the lock is to be on disks
  bool on_disk = false;       ///< on the server's own
  bool of_disks = false;      ///< it was asked about disks; otherwise nothing is known of them
  /// WAIT counts the writes of its own connection: over another connection than the acquisition's, perhaps to
  /// a new master, it waits for nothing.
  bool elsewhere = false;
  milliseconds timeout{};                   ///< how long the server waited at the most
  std::string refusal{};                    ///< the server's words, if it refused to wait
  std::shared_ptr<error const> no_reply{};  ///< set when there is none

  /// As many have it as a caller with these options wants.
  [[nodiscard]] bool enough(lock_options const& wanted) const noexcept;
};

/// The failure of a caller that wants more. `title`: the lock in messages; `url`: the server.
[[nodiscard]] std::shared_ptr<error const> explain_lack(acknowledgement const& reached,
                                                        lock_options const& wanted, std::string const& title,
                                                        std::string const& url);

/// A part between the contender and the backend: sends the acquire request, and behind it, over the same
/// connection, a WAIT or WAITAOF. That is a connection of its own, since the server handles nothing that
/// comes behind a WAIT. All under the client's lock.
class acknowledgements {
 public:
  /// Gets the answer to the acquire request. If that is a grant, the acknowledgement has been awaited;
  /// otherwise it is null.
  using handler = callback<void(answer<verdict>&&, acknowledgement const*)>;

  acknowledgements(lock_backend& backend, client_constants const& client) noexcept
      : backend_{backend}, client_{client} {}

  /// `wanted`: the options of the caller that the request is for; `send`: how long it waits for the server.
  /// Throws std::bad_alloc, and then has no effect that a repeat could double.
  void acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
               lock_options const& wanted, scripting::send_options send, handler done);

  /// A WAIT has been sent at some time: the connection exists.
  [[nodiscard]] bool used() const noexcept { return longest_ > milliseconds{0}; }
  /// How long the replies on that connection may take by now. The server carries out nothing behind a WAIT
  /// until that is over, and behind the last one there may be an acquisition with a WAIT of its own. Of very
  /// many not all are waited for: the end of a client has a bound.
  [[nodiscard]] milliseconds delay() const noexcept {
    constexpr int most_in_a_row = 8;
    return open_ > 0 ? std::min(open_ + 1, most_in_a_row) * longest_ : milliseconds{0};
  }

 private:
  struct acquisition;
  void on_acquired(std::shared_ptr<acquisition> const& pending, answer<verdict>&& result) noexcept;
  void send_wait(std::shared_ptr<acquisition> const& pending);
  static void on_counted(acquisition& pending, net::response&& count) noexcept;

  lock_backend& backend_;
  client_constants const& client_;
  int open_ = 0;             ///< WAITs without a reply
  milliseconds longest_{0};  ///< the longest timeout so far
};

}  // namespace holdfast::engine
