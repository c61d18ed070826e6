/// Requests that couldn't be sent for want of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/lock_queue.hpp"

namespace holdfast::engine {

/// Work that failed for want of memory is retried after this pause, and at most so much of it is remembered.
constexpr std::chrono::milliseconds memory_pause{20};
constexpr std::size_t most_owed = 256;

/// A request about an acquisition of ours in the server.
struct owed_request {
  enum class kind { release, abandon, last_ttl };
  lock_queue_ptr queue;
  std::uint64_t number;
  kind type;
  release_policy policy;
  time_point until;         ///< it is of no use afterwards
  time_point kept_until{};  ///< the end of the last ttl
};

/// Sends them a little later, again and again. Needs no memory after construction. All under the client's
/// lock; `now` is the time of the event.
class owed_requests {
 public:
  using handler = std::function<void(owed_request const&, time_point now)>;

  /// `send` tries once more; if that fails for want of memory, too, it adds the request again.
  owed_requests(reactor::loop& loop, client_constants const& client, deferred_log& log, handler send);

  void add(owed_request const& request, time_point now) noexcept;

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t count(owed_request::kind type) const noexcept;
  /// Forgets all.
  void clear() noexcept;

 private:
  void send_all() noexcept;

  reactor::loop& loop_;
  client_constants const& client_;
  deferred_log& log_;
  handler send_;
  std::vector<owed_request> all_;  ///< with room for most_owed from the beginning
  reactor::timer timer_;
};

}  // namespace holdfast::engine
