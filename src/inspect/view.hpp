/// Looking at locks: the requests, and how their replies read.
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
#include "resp/reply.hpp"
#include "script/call.hpp"

namespace holdfast::inspection {

/// How many scripts go in one pipeline, at the most. The server runs what it has read of one client in a row,
/// and one of these takes it up to 0.06 ms, so this bounds how long it keeps others waiting: half a
/// millisecond.
constexpr std::size_t pipeline_length = 8;

/// What the server refused, for the caller: on behalf of `about`, with the rights that looking needs.
[[nodiscard]] error refused(resp::reply const& refusal, std::string_view about, std::string_view server);

/// All of them, `pipeline_length` at a time. Throws also what the server refuses, on behalf of `about`.
[[nodiscard]] std::vector<resp::reply> ask_all(engine::core& server, std::span<call const> scripts,
                                               std::string_view about);

[[nodiscard]] resp::reply ask_one(engine::core& server, call const& script, std::string_view about);

/// What is looked for.
enum class look_for : std::uint8_t {
  holder,  ///< who holds the name, on whichever wire, and who waits there
  both,   ///< also who waits on Redisson's wire while the plain one has it: some microseconds of the server's
  plain,  ///< the plain wire, also without the right to look at Redisson's objects, which are no locks then
};

/// `queue_entries`: how many of the queue to bring along. `publish`: how those who wait are told, and
/// counted.
[[nodiscard]] call look_at(std::string_view name, engine::publishing publish, std::int64_t queue_entries = 0,
                           look_for what = look_for::holder);

/// The reply to look_at(). Of processes it has the owner ids only.
[[nodiscard]] lock_on_wires read_states(std::string_view name, resp::reply const& reply);

/// What the clients say of themselves, each asked for once.
class directory {
 public:
  explicit directory(engine::core& server) : server_{server} {}

  /// Fills in what is known of each, found by its owner id. One round trip for each 8 that are new.
  void complete(std::span<process_info* const> all, std::string_view about);
  /// Of each lock's holders the first so many.
  void complete(std::span<lock_state* const> all, std::string_view about,
                std::size_t named_holders = pipeline_length);

 private:
  engine::core& server_;
  std::unordered_map<std::string, process_info> known_{};  ///< by client uuid
};

}  // namespace holdfast::inspection
