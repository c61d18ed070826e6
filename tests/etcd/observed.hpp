/// What an observer of an election was told.
#pragma once

#include <holdfast/election.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace holdfast::test {

/// From any thread. It outlives the observer.
class observed {
 public:
  /// The handler for election::observe().
  auto handler() {
    return [this](std::optional<leader_info> const& leader) {
      std::lock_guard const hold{guard_};
      values_.push_back(leader ? leader->value : "-");
      if (leader) terms_.push_back(leader->term);
    };
  }
  /// A "-" for nobody.
  [[nodiscard]] std::vector<std::string> values() const {
    std::lock_guard const hold{guard_};
    return values_;
  }
  [[nodiscard]] std::vector<std::int64_t> terms() const {
    std::lock_guard const hold{guard_};
    return terms_;
  }
  [[nodiscard]] std::string last() const {
    std::lock_guard const hold{guard_};
    return values_.empty() ? std::string{} : values_.back();
  }

 private:
  mutable std::mutex guard_;
  std::vector<std::string> values_;
  std::vector<std::int64_t> terms_;
};

}  // namespace holdfast::test
