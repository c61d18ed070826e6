/// Looking at locks: the requests. How to read their replies: inspect/states.hpp.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core.hpp"
#include "engine/record.hpp"
#include "resp/reply.hpp"
#include "script/call.hpp"

namespace holdfast::inspection {

/// The most scripts in one pipeline. The server runs all commands that it has read of one client in a row,
/// and such a script takes up to 0.06 ms, so other clients wait for half a millisecond at the most.
constexpr std::size_t pipeline_length = 8;

/// The error for a refusal, on behalf of `about`; names the rights that looking needs.
[[nodiscard]] error refused(resp::reply const& refusal, std::string_view about, engine::core const& server);

/// Runs all scripts, `pipeline_length` at a time. Throws also when the server refuses, on behalf of `about`.
[[nodiscard]] std::vector<resp::reply> ask_all(engine::core& server, std::span<call const> scripts,
                                               std::string_view about);

[[nodiscard]] resp::reply ask_one(engine::core& server, call const& script, std::string_view about);

/// The scope of a look.
enum class look_for : std::uint8_t {
  holder,  ///< the holder, on either wire, and the waiters on that wire
  both,    ///< also Redisson's waiters while the plain wire has the lock: costs the server some microseconds
  plain,   ///< the plain wire only: needs no right to Redisson's objects, which are shown as no locks
};

/// `queue_entries`: how many entries of the queue to fetch. `publish`: how waiters are woken, and counted.
[[nodiscard]] call look_at(std::string_view name, engine::publishing publish, std::int64_t queue_entries = 0,
                           look_for scope = look_for::holder);

/// The same for several names, which share a slot; the reply has an element for each. So many take under a
/// millisecond of the server's time.
constexpr std::size_t looks_in_one = 12;
[[nodiscard]] call look_at_several(std::span<std::string const> names, engine::publishing publish,
                                   look_for scope, std::int64_t queue_entries = 0);

/// The records of clients. Each is read once; for a holder without a trace again if it may say one by now.
class directory {
 public:
  explicit directory(engine::core& server) : server_{server} {}

  /// Fills in the record of each process, found by its owner id. One request for every 32 new clients, in a
  /// cluster for each; eight of them in a round trip.
  void complete(std::span<process_info* const> processes, std::string_view about);
  /// The same for the holders and the queues of locks; of each lock's holders only the first so many.
  void complete(std::span<lock_state* const> states, std::string_view about,
                std::size_t named_holders = pipeline_length);

  /// Those without a record are asked for again: it may have been written since.
  void forget_unknown();
  /// Whether the client of that holder says which work holds its leases, but not of this one.
  [[nodiscard]] bool may_say_trace_of(process_info const& holder) const;
  /// How many requests this object has sent.
  [[nodiscard]] std::size_t requests() const noexcept { return requests_; }

 private:
  struct entry {
    engine::client_record record{};
    time_point read_at{};
  };
  void read(std::span<std::string const> uuids, std::string_view about);
  [[nodiscard]] bool wants(std::string const& uuid, process_info const& process, time_point now) const;

  engine::core& server_;
  std::unordered_map<std::string, entry> known_{};  ///< by client uuid
  std::size_t requests_ = 0;
};

}  // namespace holdfast::inspection
