/// Going through the keys of all servers to find locks: what the searches on both wires have in common.
#pragma once

#include <holdfast/inspect.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/view.hpp"

namespace holdfast::inspection {

/// What a search is for, for whom, and what it has learnt of the clients.
class search {
 public:
  using visitor = std::function<bool(lock_state const&)>;
  using keys = std::vector<std::string>;

  search(engine::core& server, std::string_view pattern, visitor const& f)
      : server_{server}, pattern_{pattern}, f_{f}, clients_{server} {}

  [[nodiscard]] engine::core& server() const noexcept { return server_; }
  [[nodiscard]] std::string_view pattern() const noexcept { return pattern_; }

  /// Shows those of the names that match the pattern and are wanted as one of the wires has them,
  /// `pipeline_length` at a time. False: f has seen enough.
  bool show(std::vector<std::string> names, bool (*wanted)(lock_state const&),
            look_for what = look_for::both);

  /// Calls `each` with the keys that match `filter`, a page of one server's at a time, until it says that
  /// this is enough: then false. `type`: as Redis calls it; empty for keys of all types.
  bool scan(std::string_view filter, std::string_view type, std::function<bool(keys const&)> const& each);

  /// The channels that match `filter` and that somebody listens to.
  [[nodiscard]] keys channels(std::string_view filter);

 private:
  /// Throws what the server refuses.
  [[nodiscard]] resp::reply ask(std::string const& master, std::span<std::string_view const> command);

  engine::core& server_;
  std::string_view pattern_;
  visitor const& f_;
  directory clients_;
};

/// A filter for the keys beside the names that are looked for, by how their suffixes begin, as a pattern.
/// The server sorts out by that and by what the name begins with, and this end by the rest: a name stands in
/// braces or before a colon, and no pattern of Redis's says "perhaps a brace".
[[nodiscard]] std::string beside(std::string_view pattern, std::string_view suffix);

// On the plain wire: by the token counters that all locks of Holdfast have, and the queues of those that are
// waited for and never were held. False, here and below: f has seen enough.
constexpr std::string_view plain_suffixes{":holdfast_[tq]*"};
[[nodiscard]] bool wanted_of_plain(lock_state const& state);
bool show_plain(search& what, search::keys const& beside);

// On Redisson's: the sorted sets of permits, all hashes, and channels on which somebody waits.
constexpr std::string_view permit_suffixes{":timeout"};
/// A name that was asked for: a counter, too, for which nobody waits.
[[nodiscard]] bool wanted_of_redisson(lock_state const& state);
bool show_permits(search& what, search::keys const& beside);
bool find_hashes(search& what);
bool find_waited_for(search& what);

/// The suffixes of both and hardly any others, so that it takes one pass to find them.
constexpr std::string_view suffixes_of_both{":[ht][oi][lm][de]*"};

}  // namespace holdfast::inspection
