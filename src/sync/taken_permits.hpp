/// Which owners without a lease the callers of one object have, in the order in which they took them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace holdfast::sync {

/// What is given back by count is taken from owners that have it for certain. Others of the client may be
/// given up with as many as they took, as their answers were lost. For any thread.
class taken_permits {
 public:
  void add(std::uint64_t number, std::int64_t amount) {
    std::lock_guard const hold{guard_};
    if (all_.size() == most) all_.pop_front();  // others give them back
    all_.push_back({.number = number, .amount = amount});
  }

  /// Those that have so many together, and not all if they are many.
  [[nodiscard]] std::vector<std::uint64_t> take_off(std::int64_t amount) {
    std::vector<std::uint64_t> owners;
    std::lock_guard const hold{guard_};
    while (amount > 0 && !all_.empty() && owners.size() < most_named) {
      auto& first = all_.front();
      owners.push_back(first.number);
      if (first.amount > amount) {
        first.amount -= amount;
        return owners;
      }
      amount -= first.amount;
      all_.pop_front();
    }
    return owners;
  }

 private:
  struct taken {
    std::uint64_t number;
    std::int64_t amount;
  };
  static constexpr std::size_t most = 1024;
  static constexpr std::size_t most_named = 64;

  std::mutex guard_;
  std::deque<taken> all_;
};

}  // namespace holdfast::sync
