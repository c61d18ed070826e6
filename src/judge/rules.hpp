/// The promises as rules, for all that judge: histories of real clients, and simulated ones. No I/O, no
/// clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>

namespace holdfast::judging {

/// Of counts, which are added up without end, and of which a history may claim any: stays within the type.
constexpr std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return std::max(result, -most);
  return b < 0 ? -most : most;
}

/// When which token was the newest one that anybody had been told of.
class token_times {
 public:
  void told(std::int64_t at, std::int64_t token) {
    if (!newest_.empty() && token <= newest_.back().token) return;
    newest_.push_back({at, token});
    if (newest_.size() > most_remembered) newest_.pop_front();
  }
  /// Whether a token that is as great or greater was told before then. It is "yes" where that isn't
  /// remembered.
  [[nodiscard]] bool told_before(std::int64_t then, std::int64_t token) const noexcept {
    auto const greater = std::ranges::lower_bound(newest_, token, {}, &entry::token);
    return greater != newest_.end() &&
           (greater->at < then || (greater == newest_.begin() && newest_.size() == most_remembered));
  }

 private:
  struct entry {
    std::int64_t at = 0;
    std::int64_t token = 0;
  };
  static constexpr std::size_t most_remembered = 256;
  std::deque<entry> newest_{};
};

/// The kinds of hold that may be together.
enum class company : std::uint8_t {
  none,     ///< nobody else
  readers,  ///< readers
  upgrade,  ///< readers, but not another one of these
  permits,  ///< as many as there are permits
};

constexpr bool reads(company as) noexcept { return as == company::readers || as == company::upgrade; }

constexpr bool may_be_beside(company one, company other) noexcept {
  using enum company;
  if (one == none || other == none || (one == upgrade && other == upgrade)) return false;
  return (one == permits) == (other == permits);
}

/// The tokens of one name, in the order in which its leases began.
class token_rule {
 public:
  /// False: the token isn't in order. Kinds without tokens have 0. Readers may have that of the last writer.
  /// Permits, which are out at the same time, are told in any order, and have different ones.
  bool take(company as, std::int64_t token) {
    if (token == 0) return true;
    if (as == company::permits) return take_permit(token);
    auto const fine = reads(as) ? token >= newest_write_ : token > newest_;
    newest_ = std::max(newest_, token);
    if (!reads(as)) newest_write_ = token;
    return fine;
  }
  [[nodiscard]] std::int64_t newest() const noexcept { return newest_; }
  /// Of permits: it isn't known whether there was that one.
  [[nodiscard]] bool has_forgotten(std::int64_t token) const noexcept { return token <= forgotten_; }

 private:
  /// So many are remembered.
  static constexpr std::size_t most_permits = 4096;

  bool take_permit(std::int64_t token) {
    auto const fine = token > forgotten_ && permits_.insert(token).second;
    newest_ = std::max(newest_, token);
    if (permits_.size() > most_permits) {
      forgotten_ = *permits_.begin();
      permits_.erase(permits_.begin());
    }
    return fine;
  }

  std::int64_t newest_ = 0;
  std::int64_t newest_write_ = 0;  ///< those of readers left out
  std::int64_t forgotten_ = 0;
  std::set<std::int64_t> permits_;
};

}  // namespace holdfast::judging
