/// Hears which master the sentinels announce, independently of the library.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

struct redisContext;

namespace holdfast::bench {

class switch_listener {
 public:
  /// Subscribed to all of them when it returns.
  explicit switch_listener(std::vector<int> const& sentinel_ports);

  /// Waits that long for the first of them to announce another master.
  [[nodiscard]] bool hears(std::chrono::milliseconds within);

 private:
  struct close {
    void operator()(redisContext*) const noexcept;
  };
  std::vector<std::unique_ptr<redisContext, close>> lines_;
};

}  // namespace holdfast::bench
