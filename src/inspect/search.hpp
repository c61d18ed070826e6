/// Goes through the keys of all servers to find locks: the common part of the searches on both wires.
#pragma once

#include <holdfast/inspect.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/view.hpp"
#include "script/call.hpp"

namespace holdfast::inspection {

/// One search: its pattern, its visitor, and the client records that it has read.
class search {
 public:
  using visitor = std::function<bool(lock_state const&)>;
  using keys = std::vector<std::string>;

  search(engine::core& server, std::string_view pattern, visitor const& f)
      : server_{server}, pattern_{pattern}, f_{f}, clients_{server} {}

  [[nodiscard]] engine::core& server() const noexcept { return server_; }
  [[nodiscard]] std::string_view pattern() const noexcept { return pattern_; }

  /// Calls f for each name that matches the pattern and whose state on one of the wires is wanted;
  /// `pipeline_length` names at a time. False: f has returned false.
  bool show(std::vector<std::string> names, bool (*wanted)(lock_state const&),
            look_for scope = look_for::both);

  /// Calls `each` with the keys that match `filter`, a page of one server at a time, until it returns false:
  /// then false. `type`: as Redis calls it; empty for keys of all types. Before Redis 6 the server doesn't
  /// know types, and `each` gets keys of all types.
  bool scan(std::string_view filter, std::string_view type, std::function<bool(keys const&)> const& each);

  /// Those that the script of `question`, which gets keys of one slot, replies the places of.
  [[nodiscard]] keys sifted(keys const& all, std::function<call(std::vector<key> const&)> const& question);

  /// The channels that match `filter` and have subscribers.
  [[nodiscard]] keys channels(std::string_view filter);

  /// How many it has sent.
  [[nodiscard]] std::size_t requests() const noexcept { return requests_ + clients_.requests(); }

 private:
  /// A step of a scan. `type` is empty afterwards if the server doesn't know types.
  [[nodiscard]] resp::reply step(std::string const& master, std::string_view cursor, std::string_view filter,
                                 std::string_view& type);

  /// Throws when the server refuses.
  void check(resp::reply const& reply) const;
  [[nodiscard]] resp::reply ask(std::string const& master, std::span<std::string_view const> command);

  engine::core& server_;
  std::string_view pattern_;
  visitor const& f_;
  directory clients_;
  std::size_t requests_ = 0;
};

/// A filter for the keys beside the wanted names; `suffix` is a pattern. The server filters by the suffix and
/// by the literal start of the name, the client by the rest: a name stands in braces or before a colon, and
/// no pattern of Redis's says "perhaps a brace".
[[nodiscard]] std::string beside(std::string_view pattern, std::string_view suffix);

/// The name of the lock whose side key with that suffix this is; empty: none.
[[nodiscard]] std::string lock_of(std::string_view key, std::string_view suffix);

// The plain wire. Locks are found by their token counters, or by their queues if they were never held;
// latches and barriers by those that have counted or arrived; permits by their sets, too, since those without
// leases may be out for longer than a counter lives.
// False, here and below: f has returned false.
constexpr std::string_view plain_suffixes{":holdfast_[tqca]*"};
[[nodiscard]] bool wanted_of_plain(lock_state const& state);
bool show_plain(search& query, search::keys const& beside);
/// Of these sorted sets, the names of semaphores on the plain wire whose permits are out.
[[nodiscard]] search::keys names_of_sets(search& query, search::keys const& sets);
bool show_sets(search& query);

// Redisson's wire. Locks are found by sorted sets of permits, by hashes, and by channels with subscribers.
constexpr std::string_view permit_suffixes{":timeout"};
/// Of a name given in full: also a counter without waiters.
[[nodiscard]] bool wanted_of_redisson(lock_state const& state);
bool show_permits(search& query, search::keys const& beside);
bool find_hashes(search& query);
bool find_waited_for(search& query);

/// Matches the suffixes of both wires and hardly any others, so that one pass finds both.
constexpr std::string_view suffixes_of_both{":[ht][oi][lm][de]*"};

}  // namespace holdfast::inspection
