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

  /// Shows those of the names that match the pattern and are wanted, `pipeline_length` at a time. False: f
  /// has seen enough.
  bool show(std::vector<std::string> names, bool (*wanted)(lock_state const&));

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

/// On the plain wire: by the token counters that all locks of Holdfast have.
void find_plain(search& what);
/// On Redisson's: hashes, the sorted sets of permits, and channels on which somebody waits.
void find_redisson(search& what);

}  // namespace holdfast::inspection
