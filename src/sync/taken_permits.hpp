/// Which owners without a lease the callers of one object have, in the order in which they took them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <vector>

namespace holdfast::sync {

/// What is given back by count is taken from owners that have it for certain. Others of the client may be
/// given up with as many as they took, as their answers were lost. For any thread.
class taken_permits {
 public:
  /// Without memory it isn't remembered, as beyond `most`: then the server looks for an owner that has it.
  void add(std::uint64_t number, std::int64_t amount) noexcept {
    std::lock_guard const hold{guard_};
    if (all_.size() == most) all_.pop_front();
    try {
      all_.push_back({.number = number, .amount = amount});
    } catch (std::bad_alloc const&) {
      return;
    }
  }

  /// Those that have so many together, the first of them first; of many only `most_named`. What is given back
  /// is forgotten.
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
