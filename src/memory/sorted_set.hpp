/// A sorted set: members by name, and in the order of their scores.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::memory {

class sorted_set {
 public:
  /// A member behind its score. Of those with one score the names decide.
  using entry = std::pair<double, std::string_view>;

  sorted_set() = default;
  sorted_set(sorted_set&&) = default;  // the members stay where they are
  sorted_set& operator=(sorted_set&&) = default;
  sorted_set(sorted_set const&) = delete;
  sorted_set& operator=(sorted_set const&) = delete;
  ~sorted_set() = default;

  [[nodiscard]] std::optional<double> score_of(std::string_view member) const {
    auto const found = scores_.find(member);
    return found == scores_.end() ? std::nullopt : std::optional{found->second};
  }
  /// True: the member is new.
  bool put(std::string_view member, double score) {
    auto const known = scores_.find(member);
    if (known == scores_.end()) {
      auto const added = scores_.emplace(member, score).first;
      order_.emplace(score, added->first);
      return true;
    }
    order_.erase({known->second, known->first});
    known->second = score;
    order_.emplace(score, known->first);
    return false;
  }
  /// True: it was there.
  bool erase(std::string_view member) {
    auto const known = scores_.find(member);
    if (known == scores_.end()) return false;
    order_.erase({known->second, known->first});
    scores_.erase(known);
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return scores_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return scores_.size(); }
  /// Valid until their member changes.
  [[nodiscard]] std::set<entry> const& in_order() const noexcept { return order_; }

 private:
  std::map<std::string, double, std::less<>> scores_;
  std::set<entry> order_;  ///< of the names in scores_
};

}  // namespace holdfast::memory
