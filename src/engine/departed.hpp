/// What a client still knows of its acquisitions that are over. No I/O, no clock.
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

/// A server that restarts or is replaced may have older data, and in them keys and queue entries of
/// acquisitions that are over: ghosts. Clearing them away takes to know which keys are there on purpose, and
/// which releases may be among what was lost. All under the client's lock.
class departed {
 public:
  /// So many releases are remembered, and none of a longer name: they are worth a megabyte or two, no more.
  static constexpr std::size_t most_releases = 1024;
  static constexpr std::size_t longest_name = 2048;

  /// Nobody here holds it any more, but its key is to stay in the server, until then at the latest.
  void leave_key(std::uint64_t number, time_point until, time_point now) noexcept try {
    if (keys_.size() >= worth_a_look_) {
      std::erase_if(keys_, [now](auto const& one) { return one.second <= now; });
      worth_a_look_ = std::max<std::size_t>(2 * keys_.size(), 64);
    }
    auto& known = keys_[number];
    known = std::max(known, until);
  } catch (std::bad_alloc const&) {
    any_key_ = std::max(any_key_, until);  // no room for its number: it may be any
  }
  [[nodiscard]] bool has_left_key(std::uint64_t number, time_point now) const {
    auto const known = keys_.find(number);
    return now < any_key_ || (known != keys_.end() && now < known->second);
  }

  /// A release that the server has carried out.
  struct given_back {
    recipe const* protocol = nullptr;
    std::string name{};
    std::uint64_t number = 0;
    release_policy policy{};
    time_point deadline{};  ///< of the lease: afterwards no key of it can be there
  };

  /// The oldest one makes room for it. In the path of each release, so it allocates nothing in the long run.
  void note_release(recipe const& how, std::string_view name, std::uint64_t number,
                    release_policy const& terms, time_point deadline) noexcept try {
    if (name.size() > longest_name) return;
    if (releases_.size() < most_releases) {
      releases_.emplace_back();
      next_ = releases_.size() - 1;
    }
    auto& one = releases_[next_];
    one.protocol = &how;
    one.name.assign(name);
    one.number = number;
    one.policy = terms;
    one.deadline = deadline;
    next_ = (next_ + 1) % most_releases;
  } catch (std::bad_alloc const&) {
    releases_.clear();  // they are remembered for a server that loses data, as far as can be
    next_ = 0;
  }

  void note_release(given_back const& what) noexcept {
    note_release(*what.protocol, what.name, what.number, what.policy, what.deadline);
  }

  /// Those whose keys could still be there, the oldest first. They are forgotten here.
  [[nodiscard]] std::vector<given_back> take_releases(time_point now) noexcept {
    if (releases_.size() == most_releases) {
      std::ranges::rotate(releases_, releases_.begin() + static_cast<std::ptrdiff_t>(next_));
    }
    next_ = 0;
    auto all = std::exchange(releases_, {});
    std::erase_if(all, [now](given_back const& one) { return one.deadline <= now; });
    return all;
  }

  /// A ghost that is cleared away; perhaps none, but a release that is under way, and finds nothing then.
  void note_cleared(std::uint64_t number) {
    if (cleared_.size() >= most_releases) cleared_.clear();
    cleared_.insert(number);
  }
  [[nodiscard]] bool take_cleared(std::uint64_t number) { return cleared_.erase(number) != 0; }

 private:
  std::unordered_map<std::uint64_t, time_point> keys_;
  time_point any_key_{};  ///< until then one that isn't in there may be left
  std::size_t worth_a_look_ = 64;
  std::vector<given_back> releases_;  ///< a ring, once it is full
  std::size_t next_ = 0;
  std::unordered_set<std::uint64_t> cleared_;
};

}  // namespace holdfast::engine
