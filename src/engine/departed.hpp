/// What a client remembers of its past acquisitions. No I/O, no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/recipe.hpp"

namespace holdfast::engine {

/// A server that restarts or is replaced may have older data, with keys and queue entries of past
/// acquisitions: ghosts. To clear them, a client must know which keys are there on purpose, and which
/// releases may have been lost. All under the client's lock.
class departed {
 public:
  /// Limits of the remembered releases, which may take a megabyte or two, no more.
  static constexpr std::size_t most_releases = 1024;
  static constexpr std::size_t longest_name = 2048;

  /// This process no longer holds the lock, but its key is to stay in the server, at the latest until
  /// `until`; `kept`: whatever happens, and not only until its holder gives it back.
  void leave_key(std::uint64_t number, time_point until, time_point now, bool kept) noexcept try {
    if (keys_.size() >= worth_a_look_) {
      std::erase_if(keys_, [now](auto const& entry) { return entry.second.until <= now; });
      worth_a_look_ = std::max<std::size_t>(2 * keys_.size(), 64);
    }
    auto& known = keys_[number];
    known = {.until = std::max(known.until, until), .kept = known.kept || kept};
  } catch (std::bad_alloc const&) {
    any_key_ = std::max(any_key_, until);  // no room for the number, so any number may have a key
  }
  [[nodiscard]] bool has_left_key(std::uint64_t number, time_point now) const {
    auto const known = keys_.find(number);
    return now < any_key_ || (known != keys_.end() && now < known->second.until);
  }
  /// Whether nobody may take that key back.
  [[nodiscard]] bool has_kept_key(std::uint64_t number, time_point now) const {
    auto const known = keys_.find(number);
    return known == keys_.end() ? now < any_key_ : known->second.kept && now < known->second.until;
  }

  /// A release that the server has carried out.
  struct given_back {
    recipe const* lock_recipe = nullptr;
    std::string name{};
    std::uint64_t number = 0;
    release_policy policy{};
    time_point deadline{};  ///< of the lease: afterwards its key can't exist
  };

  /// Overwrites the oldest entry when full. On the path of each release, so it allocates nothing in the long
  /// run.
  void note_release(recipe const& lock_recipe, std::string_view name, std::uint64_t number,
                    release_policy const& policy, time_point deadline) noexcept try {
    if (name.size() > longest_name) return;
    if (releases_.size() < most_releases) {
      releases_.emplace_back();
      next_ = releases_.size() - 1;
    }
    auto& entry = releases_[next_];
    entry.lock_recipe = &lock_recipe;
    entry.name.assign(name);
    entry.number = number;
    entry.policy = policy;
    entry.deadline = deadline;
    next_ = (next_ + 1) % most_releases;
  } catch (std::bad_alloc const&) {
    releases_.clear();  // best effort: they are for a server that loses data
    next_ = 0;
  }

  void note_release(given_back const& release) noexcept {
    note_release(*release.lock_recipe, release.name, release.number, release.policy, release.deadline);
  }

  /// There is a release whose key could still exist.
  [[nodiscard]] bool remembers_release(time_point now) const noexcept {
    return std::ranges::any_of(releases_, [now](given_back const& entry) { return entry.deadline > now; });
  }

  /// Returns the releases whose keys could still exist, oldest first, and forgets all.
  [[nodiscard]] std::vector<given_back> take_releases(time_point now) noexcept {
    if (releases_.size() == most_releases) {
      std::ranges::rotate(releases_, releases_.begin() + static_cast<std::ptrdiff_t>(next_));
    }
    next_ = 0;
    auto all = std::exchange(releases_, {});
    std::erase_if(all, [now](given_back const& release) { return release.deadline <= now; });
    return all;
  }

  /// Records what is given back, or was, by another request than its release. That one may be under way, and
  /// then finds nothing. Best effort: it decides what the release reports.
  void note_cleared(std::uint64_t number) noexcept try {
    if (cleared_.size() >= most_releases) cleared_.clear();
    cleared_.insert(number);
  } catch (std::bad_alloc const&) {
    return;
  }
  [[nodiscard]] bool take_cleared(std::uint64_t number) { return cleared_.erase(number) != 0; }

 private:
  struct left_key {
    time_point until{};
    bool kept = false;
  };
  std::unordered_map<std::uint64_t, left_key> keys_;
  time_point any_key_{};  ///< until then a key that isn't in `keys_` may be left
  std::size_t worth_a_look_ = 64;
  std::vector<given_back> releases_;  ///< a ring, once it is full
  std::size_t next_ = 0;
  std::unordered_set<std::uint64_t> cleared_;
};

}  // namespace holdfast::engine
