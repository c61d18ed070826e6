/// Which looks at the leader of an election are news. No I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::sync {

/// A leader, as the server has it.
struct seen_leader {
  std::string owner{};
  std::int64_t term = 0;
  std::string value{};

  friend bool operator==(seen_leader const&, seen_leader const&) = default;
};

/// What an observer has been told.
class leader_reports {
 public:
  /// Whether this is news; nullopt: nobody leads. A leader of an older term than that of one told before is
  /// one that a server with older data has brought back: it counts as nobody.
  [[nodiscard]] bool look(std::optional<seen_leader> now) {
    if (now && now->term < newest_) now.reset();
    if (told_ && now == last_) return false;
    if (now) newest_ = now->term;
    last_ = std::move(now);
    told_ = true;
    return true;
  }

  [[nodiscard]] std::optional<seen_leader> const& last() const noexcept { return last_; }

 private:
  std::optional<seen_leader> last_{};
  std::int64_t newest_ = 0;
  bool told_ = false;
};

}  // namespace holdfast::sync
